/* Memory is copied from the process that asks, never from the one that it is a copy of. */
#include "preload/base/process.h"
#include "preload/base/safe_copy.h"
#include "preload/base/syscalls.h"
#include "unit.h"
#include <signal.h>
#include <sys/wait.h>

static volatile uint64_t word;

static uint64_t copied(void)
{
    uint64_t to = 0;
    return pp_safe_copy(&to, (uintptr_t)&word, sizeof to) ? to : 0;
}

/* Runs a copy of this process without its atfork handlers; returns whether it reads its own word. */
static bool child_reads_own(bool begins)
{
    int status;
    word = 1;
    long child = pp_syscall4(SYS_clone, SIGCHLD, 0, 0, 0);
    if (child == 0) {
        word = 2;
        if (begins)
            pp_process_after_fork();
        pp_syscall4(SYS_exit_group, copied() != 2, 0, 0, 0);
    }
    return waitpid((pid_t)child, &status, 0) == child && status == 0 && copied() == 1;
}

TEST(before_profiling_begins)
{
    assert_true(child_reads_own(false));
}

TEST(of_a_profiled_process)
{
    pp_process_begins();
    assert_int_equal(pp_process_own_pid(), pp_sys_getpid());
    assert_true(child_reads_own(false));
    assert_true(child_reads_own(true));
}

TEST(what_is_not_mapped_is_refused)
{
    char byte;
    assert_false(pp_safe_copy(&byte, 16, 1));
}
