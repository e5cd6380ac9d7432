/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the kernel permits here; a child tries it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

#define TOPIC  "machine"
#define KILLED (-1)

/* Returns 0, an errno, or KILLED if a signal killed the child, as a seccomp filter does. */
static int try_in_child(int (*attempt)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(attempt());
    if (child < 0 || waitpid(child, &status, 0) != child)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static const char *reason_of(int result)
{
    return result == KILLED ? "a seccomp filter kills processes that try" : strerror(result);
}

static int try_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    struct itimerspec later = {.it_value = {.tv_sec = 3600}};
    int id;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id) != 0 ||
        syscall(SYS_timer_settime, id, 0, &later, NULL) != 0)
        return errno;
    return 0;
}

static int try_copy(void)
{
    char from = 'x', to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

void pt_check_machine(const struct pt_process_info *subject, struct pt_findings *findings)
{
    int timer = try_in_child(try_timer), copy = try_in_child(try_copy);
    if (timer) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "a timer cannot be made here: %s", reason_of(timer));
        pt_remedy(findings, timer == EAGAIN ? "raise 'ulimit -i'"
                                            : "have the seccomp profile permit timer_create, timer_settime and "
                                              "timer_delete, as Docker's does");
    }
    if (copy) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "process_vm_readv is not permitted here (%s): native frames only",
                reason_of(copy));
        pt_remedy(findings, "have the seccomp profile permit it: it is used on the own process only");
    }
    if (!timer && !copy)
        pt_find(findings, PT_LEVEL_OK, TOPIC, "timer_create and process_vm_readv work");
    pt_check_limit(subject, PT_LEVEL_WARN, findings);
}
