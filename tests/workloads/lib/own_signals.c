/* What a program may do with SIGURG besides a handler: wait for it, read it from a descriptor, let it through for the
 * time of one call, leave its handler by a jump. Each prints what it saw: the same with the profiler as without. */
#include "cpu.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 40

static sigset_t only_prof, nothing;
static _Atomic int handled, seen_code, blocked_usr1, blocked_usr2, blocked_prof, nested;
static sigjmp_buf back;
static ucontext_t before;

int own_signals(const char *what);
int taken(const char *how);

static int is_blocked(int signal)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

static void on_prof(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    seen_code = info->si_code;
    handled++;
}

static void handle(void (*function)(int, siginfo_t *, void *), int flags, int also_blocked)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = function;
    action.sa_flags = SA_SIGINFO | flags;
    sigemptyset(&action.sa_mask);
    if (also_blocked)
        sigaddset(&action.sa_mask, also_blocked);
    sigaction(SIGURG, &action, NULL);
}

static void *burner(void *ms)
{
    use_us(1000 * (uint64_t)(long)ms);
    return NULL;
}

/* One that blocks it as well, and works: the signal must not come there. */
static pthread_t another(int ms)
{
    pthread_t thread;
    pthread_create(&thread, NULL, burner, (void *)(long)ms);
    return thread;
}

static void *sends(void *main_thread)
{
    for (int i = 0; i < ROUNDS; i++) {
        usleep(2000);
        if (main_thread)
            pthread_kill(*(pthread_t *)main_thread, SIGURG);
        else
            kill(getpid(), SIGURG);
    }
    return NULL;
}

/* sigwait, sigwaitinfo and sigtimedwait, for signals to the process and to the thread. */
static void waits(void)
{
    pthread_t other, self = pthread_self();
    int got = 0, codes = 0, signal = 0;
    siginfo_t info;
    struct timespec zero = {0, 0}, second = {10, 0};
    pthread_sigmask(SIG_BLOCK, &only_prof, NULL);
    other = another(100);
    for (int i = 0; i < ROUNDS; i++) {
        use_us(2000);
        kill(getpid(), SIGURG);
        use_us(2000);
        got += sigwait(&only_prof, &signal) == 0 && signal == SIGURG;
        pthread_kill(self, SIGURG);
        use_us(2000);
        got += sigwaitinfo(&only_prof, &info) == SIGURG;
        codes += info.si_code == SI_TKILL && info.si_pid == getpid();
        sigqueue(getpid(), SIGURG, (union sigval){.sival_int = i});
        got += sigtimedwait(&only_prof, &info, &second) == SIGURG;
        codes += info.si_code == SI_QUEUE && info.si_value.sival_int == i && info.si_pid == getpid();
    }
    pthread_join(other, NULL);
    for (int i = 0; i < 3000; i++)
        got += sigtimedwait(&only_prof, &info, &zero) == SIGURG;
    printf("waits: got %d, told by whom %d\n", got, codes);
    pthread_t sender;
    got = 0;
    pthread_create(&sender, NULL, sends, NULL);
    /* several of a kind become one: so many at most */
    while (sigtimedwait(&only_prof, &info, &(struct timespec){0, 300000000}) == SIGURG)
        got++;
    pthread_join(sender, NULL);
    printf("waits: while they came %s\n", got > 0 && got <= ROUNDS ? "some" : "none or too many");
}

static void descriptor(void)
{
    struct signalfd_siginfo info;
    sigset_t all;
    int got = 0, others = 0;
    sigfillset(&all);
    for (int every = 0; every < 2; every++) {
        sigset_t *set = every ? &all : &only_prof;
        pthread_sigmask(SIG_BLOCK, set, NULL);
        int fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
        pthread_t other = another(60);
        for (int i = 0; i < ROUNDS; i++) {
            use_us(2000);
            kill(getpid(), SIGURG);
            use_us(2000);
            struct pollfd look = {fd, POLLIN, 0};
            poll(&look, 1, 2000);
            while (read(fd, &info, sizeof info) == sizeof info)
                info.ssi_signo == SIGURG &&info.ssi_code == SI_USER ? got++ : others++;
        }
        pthread_join(other, NULL);
        close(fd);
    }
    printf("descriptor: got %d, others %d\n", got, others);
}

static void pending(void)
{
    sigset_t now;
    int waiting = 0, too_early = 0, none = 0;
    handle(on_prof, SA_RESTART, 0);
    for (int i = 0; i < ROUNDS; i++) {
        int so_far = handled;
        pthread_sigmask(SIG_BLOCK, &only_prof, NULL);
        sigpending(&now);
        none += !sigismember(&now, SIGURG);
        raise(SIGURG);
        use_us(3000);
        sigpending(&now);
        waiting += sigismember(&now, SIGURG);
        too_early += handled != so_far;
        pthread_sigmask(SIG_UNBLOCK, &only_prof, NULL);
        use_us(1000);
    }
    printf("pending: before %d, waiting %d, too early %d, handled %d\n", ROUNDS - none, waiting, too_early, handled);
}

static void *sends_soon(void *thread)
{
    usleep(3000);
    pthread_kill(*(pthread_t *)thread, SIGURG);
    return NULL;
}

static _Atomic int enough;

/* Again and again: the first may come before the thread waits, which then goes on waiting. */
static void *sends_until_enough(void *thread)
{
    for (; !enough; usleep(20000)) {
        usleep(3000);
        pthread_kill(*(pthread_t *)thread, SIGURG);
    }
    return NULL;
}

/* Calls that let a blocked signal through while they wait, and such as block it meanwhile. */
static void masks_of_calls(void)
{
    pthread_t self = pthread_self(), sender;
    struct timespec second = {5, 0}, moment = {0, 10000000};
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC), interrupted = 0;
    handle(on_prof, 0, 0);
    pthread_sigmask(SIG_BLOCK, &only_prof, NULL);
    for (int way = 0; way < 8; way++) {
        use_us(2000);
        if (way % 2)
            raise(SIGURG);
        else
            pthread_create(&sender, NULL, sends_soon, &self);
        int result = way < 2   ? sigsuspend(&nothing)
                     : way < 4 ? ppoll(NULL, 0, &second, &nothing)
                     : way < 6 ? pselect(0, NULL, NULL, NULL, &second, &nothing)
                               : epoll_pwait(epoll, &event, 1, 5000, &nothing);
        interrupted += result == -1 && errno == EINTR;
        if (way % 2 == 0)
            pthread_join(sender, NULL);
    }
    printf("masks of calls: interrupted %d, handled %d, blocked %d\n", interrupted, handled, is_blocked(SIGURG));
    pthread_sigmask(SIG_UNBLOCK, &only_prof, NULL);
    handled = interrupted = 0;
    for (int way = 0; way < 3; way++) {
        pthread_create(&sender, NULL, sends_soon, &self);
        int result = way == 0   ? ppoll(NULL, 0, &moment, &only_prof)
                     : way == 1 ? pselect(0, NULL, NULL, NULL, &moment, &only_prof)
                                : epoll_pwait(epoll, &event, 1, 10, &only_prof);
        interrupted += result != 0;
        pthread_join(sender, NULL);
    }
    printf("masks of calls: interrupted %d, handled %d, blocked %d\n", interrupted, handled, is_blocked(SIGURG));
    close(epoll);
}

static void on_prof_look(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    blocked_prof = is_blocked(SIGURG);
    blocked_usr1 = is_blocked(SIGUSR1);
    blocked_usr2 = is_blocked(SIGUSR2);
    use_us(3000);
    handled++;
}

static void on_prof_again(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (++nested < 5)
        raise(signal);
    handled++;
}

static void flags(void)
{
    char byte;
    int pipes[2];
    pthread_t self = pthread_self(), sender;
    struct sigaction now;
    handle(on_prof_look, SA_RESTART, SIGUSR1);
    raise(SIGURG);
    printf("flags: in the handler SIGUSR1 %d, SIGUSR2 %d\n", blocked_usr1, blocked_usr2);
    nested = handled = 0;
    handle(on_prof_again, SA_NODEFER, 0);
    raise(SIGURG);
    printf("flags: SA_NODEFER, nested %d, handled %d\n", nested, handled);
    nested = handled = 0;
    handle(on_prof, SA_RESETHAND, 0);
    raise(SIGURG);
    sigaction(SIGURG, NULL, &now);
    printf("flags: SA_RESETHAND, handled %d, default again %d\n", handled, now.sa_handler == SIG_DFL);
    for (int restart = 0; restart < 2; restart++) {
        handle(on_prof, restart ? SA_RESTART : 0, 0);
        if (pipe(pipes) != 0)
            return;
        enough = 0;
        pthread_create(&sender, NULL, sends_until_enough, &self);
        if (restart && write(pipes[1], "", 1) != 1)
            return;
        errno = 0;
        ssize_t got = read(pipes[0], &byte, 1);
        int interrupted = errno == EINTR;
        enough = 1;
        pthread_join(sender, NULL);
        printf("flags: read with SA_RESTART %d: %zd, interrupted %d\n", restart, got, interrupted);
        close(pipes[0]);
        close(pipes[1]);
    }
    sigaction(SIGURG, NULL, &now);
    printf("flags: reads back %#x\n", (unsigned)now.sa_flags & ~0x04000000u); /* without SA_RESTORER */
}

static void on_prof_jump(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    handled++;
    use_us(1000);
    siglongjmp(back, 1);
}

static void on_prof_switch(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    handled++;
    setcontext(&before);
}

static void jumps(void)
{
    static volatile int rounds; /* outlives the jumps */
    handle(on_prof_jump, 0, SIGUSR1);
    for (rounds = 0; rounds < 100; rounds++) {
        if (sigsetjmp(back, 1) == 0)
            raise(SIGURG);
        use_us(1000);
    }
    printf("jumps: handled %d, SIGURG %d, SIGUSR1 %d, SIGUSR2 %d\n", handled, is_blocked(SIGURG), is_blocked(SIGUSR1),
           is_blocked(SIGUSR2));
    handled = 0;
    handle(on_prof_switch, 0, SIGUSR1);
    for (rounds = 0; rounds < 100; rounds++) {
        static volatile int came;
        came = 0;
        getcontext(&before);
        if (!came++)
            raise(SIGURG);
        use_us(1000);
    }
    printf("jumps: handled %d by setcontext, SIGURG %d, SIGUSR1 %d, SIGUSR2 %d\n", handled, is_blocked(SIGURG),
           is_blocked(SIGUSR1), is_blocked(SIGUSR2));
    /* without the mask: what the handler had blocked stays so */
    handled = 0;
    handle(on_prof_jump, 0, SIGUSR1);
    if (sigsetjmp(back, 0) == 0)
        raise(SIGURG);
    use_us(1000);
    printf("jumps: without the mask, SIGUSR1 %d, SIGUSR2 %d\n", is_blocked(SIGUSR1), is_blocked(SIGUSR2));
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGURG);
    printf("jumps: handled %d\n", handled);
}

int own_signals(const char *what)
{
    sigemptyset(&nothing);
    sigemptyset(&only_prof);
    sigaddset(&only_prof, SIGURG);
    if (strcmp(what, "waits") == 0)
        waits();
    else if (strcmp(what, "descriptor") == 0)
        descriptor();
    else if (strcmp(what, "pending") == 0)
        pending();
    else if (strcmp(what, "masks_of_calls") == 0)
        masks_of_calls();
    else if (strcmp(what, "flags") == 0)
        flags();
    else
        jumps();
    fflush(stdout);
    return 0;
}

/* One that waited in a thread that blocks it is taken; then the thread works on. */
int taken(const char *how)
{
    struct timespec second = {5, 0};
    struct epoll_event event;
    struct signalfd_siginfo info;
    sigset_t now;
    int epoll = epoll_create1(EPOLL_CLOEXEC), got = -1;
    sigemptyset(&nothing);
    sigemptyset(&only_prof);
    sigaddset(&only_prof, SIGURG);
    handle(on_prof, 0, 0);
    pthread_sigmask(SIG_BLOCK, &only_prof, NULL);
    use_us(20000);
    raise(SIGURG);
    if (strcmp(how, "sigsuspend") == 0) {
        got = sigsuspend(&nothing);
    } else if (strcmp(how, "ppoll") == 0) {
        got = ppoll(NULL, 0, &second, &nothing);
    } else if (strcmp(how, "pselect") == 0) {
        got = pselect(0, NULL, NULL, NULL, &second, &nothing);
    } else if (strcmp(how, "epoll_pwait") == 0) {
        got = epoll_pwait(epoll, &event, 1, 5000, &nothing);
    } else if (strcmp(how, "sigwait") == 0) {
        handled = sigwait(&only_prof, &got) == 0;
    } else { /* by ways that only the kernel sees */
        int fd = signalfd(-1, &only_prof, SFD_CLOEXEC);
        handled = read(fd, &info, sizeof info) == sizeof info;
        pthread_sigmask(strcmp(how, "SIG_SETMASK") == 0 ? SIG_SETMASK : SIG_BLOCK, &only_prof, NULL);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    use_us(600000);
    return handled == 1 && sigismember(&now, SIGURG);
}
