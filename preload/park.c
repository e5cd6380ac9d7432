#include "park.h"
#include "capture/capture.h"
#include "capture/safe_read.h"
#include "read_file.h"
#include "syscalls.h"
#include "threads.h"
#include <linux/futex.h>
#include <string.h>
#include <time.h>

#define FINALIZED_NS 10000000  /* two of the looks that they take every 5 ms; who initializes again meets them */
#define EXIT_NS      900000000 /* or a destructor, or our flush, waits for one of the threads */

/* Finalizing, and not of a version whose threads hang by themselves then (3.14; the later 3.13). */
static bool has_dangerous_threads(const struct pp_python *python)
{
    uintptr_t finalizing = 0;
    return python->layout.minor <= 13 &&
           pp_safe_read(pp_sys_getpid(), &finalizing, python->runtime + python->layout.runtime.finalizing,
                        sizeof finalizing) &&
           finalizing != 0;
}

/* Sleeps where threads wait for the GIL: a futex in an interpreter's own memory. Others are left alone, since a handler
 * ends many a system call with EINTR; one that runs may be just on its way there. */
static bool may_wait_for_gil(int tid)
{
    char line[64];
    size_t length = pp_read_task_file(tid, "syscall", line, sizeof line);
    static const char futex[] = "202 0x"; /* NUMBER 0xARGUMENT ..., or running */
    if (length < sizeof futex)
        return false;
    if (line[0] == 'r')
        return true;
    if (memcmp(line, futex, sizeof futex - 1) != 0)
        return false;
    uintptr_t address = 0;
    for (size_t i = sizeof futex - 1; i < length && line[i] != ' '; i++)
        address = address << 4 | (uintptr_t)(line[i] <= '9' ? line[i] - '0' : line[i] - 'a' + 10);
    return pp_python_of_code(address) != NULL;
}

/* By its own timer, which is told to have expired long ago: its signal is there already. One that were sent now would
 * lose its siginfo where RLIMIT_SIGPENDING is used up, and then be somebody else's, with a deadly default action. */
static void signal_thread(const struct pp_slot *slot)
{
    struct itimerspec times;
    int timer = atomic_load(&slot->timer);
    if (timer < 0 || pp_syscall4(SYS_timer_gettime, timer, (long)&times, 0, 0) != 0)
        return;
    times.it_value = (struct timespec){0, 1}; /* of the thread's CPU time */
    pp_syscall4(SYS_timer_settime, timer, TIMER_ABSTIME, (long)&times, 0);
}

void pp_park_python_threads(enum pp_parking why)
{
    const struct pp_python *python;
    unsigned i = 0;
    while ((python = pp_python_at(i)) != NULL && !has_dangerous_threads(python))
        i++;
    if (!python)
        return;
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t before = atomic_exchange(&pp_capture.parking_end_ns, now + (why == PP_PARK_EXIT ? EXIT_NS : FINALIZED_NS));
    if (atomic_exchange(&pp_capture.parking, why) != PP_PARK_NOT && now < before)
        return; /* they sleep already */
    int self = pp_sys_gettid();
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t index = 0; index < count; index++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[index]);
        if (!slot || atomic_load(&slot->state) != PP_SLOT_LIVE || !pp_may_run_python(slot))
            continue;
        int tid = atomic_load(&slot->tid);
        if (tid && tid != self && may_wait_for_gil(tid))
            signal_thread(slot);
    }
}
