/* Sets the action of signals as programs do that know nothing of each other: by libc's functions, past them, and by
 * those of a library that was bound to libc itself (RTLD_DEEPBIND). */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sets_every_signal(const char *how);
int sets_a_handler(void);
int handled(void);

static volatile int count;

static void on_signal(int number)
{
    (void)number;
    count++;
}

static void by_system_call(int number)
{
    unsigned long nothing[4] = {0};
    syscall(SYS_rt_sigaction, number, nothing, NULL, 8);
}

static void reset(const char *how, int number)
{
    static const struct {
        const char *name;
        __sighandler_t (*set)(int, __sighandler_t);
    } setters[] = {{"signal", signal}, {"__sysv_signal", __sysv_signal}, {"ssignal", ssignal}, {"sigset", sigset}};
    for (unsigned i = 0; i < sizeof setters / sizeof *setters; i++)
        if (strcmp(how, setters[i].name) == 0)
            setters[i].set(number, SIG_DFL);
    if (strcmp(how, "sigaction") == 0)
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    else if (strcmp(how, "sigignore") == 0)
        sigignore(number);
    else if (strcmp(how, "sighold") == 0)
        sighold(number);
    else if (strcmp(how, "siginterrupt") == 0)
        siginterrupt(number, 1);
    else if (strcmp(how, "system call") == 0)
        by_system_call(number);
}

int sets_every_signal(const char *how)
{
    for (int number = 1; number <= 64; number++)
        if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD && number != 32 && number != 33)
            reset(how, number);
    return 0;
}

int sets_a_handler(void)
{
    return signal(SIGURG, on_signal) == SIG_ERR;
}

int handled(void)
{
    return count;
}
