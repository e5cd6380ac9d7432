#include "park.h"
#include "capture/capture.h"
#include "capture/safe_read.h"
#include "config.h"
#include "threads.h"
#include <linux/futex.h>

#define FINALIZED_NS 50000000  /* a process that has not ended by then goes on without its interpreter */
#define EXIT_NS      200000000 /* or a destructor waits for one of the threads */

/* Finalizing, and not of a version whose threads hang by themselves then (3.14; the later 3.13). */
static bool has_dangerous_threads(const struct pp_python *python)
{
    uintptr_t finalizing = 0;
    return python->layout.minor <= 13 &&
           pp_safe_read(pp_sys_getpid(), &finalizing, python->runtime + python->layout.runtime.finalizing,
                        sizeof finalizing) &&
           finalizing != 0;
}

/* The signal looks like one of the thread's own timer: a process may send itself any si_code. */
static void signal_thread(int tid, uint32_t slot)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = pp_config.signal;
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = (void *)pp_slot_sigval(slot);
    pp_syscall4(SYS_rt_tgsigqueueinfo, pp_sys_getpid(), tid, pp_config.signal, (long)&info);
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
        if (tid != self)
            signal_thread(tid, index);
    }
}

void pp_park_end(void)
{
    if (atomic_exchange(&pp_capture.parking, PP_PARK_NOT) != PP_PARK_NOT)
        pp_syscall4(SYS_futex, (long)&pp_capture.parking, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}
