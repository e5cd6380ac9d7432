/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../doctor/checks.h"

#define NS_PER_US 1000

/* These signals are not passed on: those that stop and continue, which the terminal sends to both programs, and those
 * that a program causes in itself. */
static const int kept[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGPIPE, SIGSEGV,
                           SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS};

static sigset_t waited_for(void)
{
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        sigdelset(&set, kept[i]);
    return set;
}

/* Closes our stdin and stdout: readers must see the end of the output when the command closes it. */
static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

/* Becomes the command, as execvp does, but hands no program to a shell that the kernel refuses, as that of another
 * processor. Returns errno. */
static int become(char **arguments)
{
    PT_AUTO_FREE char *path = pt_command_path(arguments[0]);
    struct pt_elf_facts facts;
    if (path)
        execv(path, arguments);
    if (path && errno == ENOEXEC && pt_elf_facts_read(path, &facts))
        return ENOEXEC;
    execvp(arguments[0], arguments);
    return errno;
}

pid_t pt_command_start(char **arguments, bool last)
{
    static bool started;
    static sigset_t before; /* the first start */
    static struct sigaction reaped_before;
    const struct sigaction reaped = {.sa_handler = SIG_DFL};
    sigset_t ours = waited_for();
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    /* If SIGCHLD is ignored, there is no exit status. */
    sigaction(SIGCHLD, &reaped, started ? NULL : &reaped_before);
    sigprocmask(SIG_BLOCK, &ours, started ? NULL : &before);
    started = true;
    pid_t command = fork();
    if (command == 0) {
        /* If this program is killed, the command must be, too. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigaction(SIGCHLD, &reaped_before, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        error = become(arguments);
        _exit(write(report[1], &error, sizeof error) == sizeof error ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    if (command < 0)
        error = errno;
    close(report[1]);
    if (command > 0 && read(report[0], &error, sizeof error) == sizeof error)
        waitpid(command, NULL, 0);
    close(report[0]);
    errno = error;
    if (error)
        return -1;
    if (last)
        leave_streams();
    return command;
}

/* Passes a signal on. Not those of the kernel: they come from the terminal, and the command gets them too. Not those of
 * the command itself: it sent them to its group. */
static void pass_on(pid_t command, const siginfo_t *info)
{
    if (info->si_signo == SIGCHLD || info->si_code == SI_KERNEL || (info->si_code <= 0 && info->si_pid == command))
        return;
    if (info->si_code == SI_QUEUE)
        sigqueue(command, info->si_signo, info->si_value);
    else
        kill(command, info->si_signo);
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * PT_SECOND + (uint64_t)time.tv_usec * NS_PER_US;
}

struct pt_ended pt_command_wait(pid_t command, uint64_t since_ns)
{
    sigset_t ours = waited_for();
    for (;;) {
        siginfo_t info;
        struct rusage used;
        int status;
        /* As the first process of a container, this program gets children of others as well. */
        for (pid_t ended; (ended = wait4(-1, &status, WNOHANG, &used)) > 0;)
            if (ended == command)
                return (struct pt_ended){status, ns_of(used.ru_utime) + ns_of(used.ru_stime),
                                         pt_clock_ns(CLOCK_MONOTONIC) - since_ns};
        if (sigwaitinfo(&ours, &info) > 0)
            pass_on(command, &info);
    }
}

int pt_command_status(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    const struct rlimit no_core = {0, 0};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
    return 128 + number;
}
