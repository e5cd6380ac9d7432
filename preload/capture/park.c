#include "park.h"
#include "capture.h"
#include "safe_read.h"
#include <linux/futex.h>

#define SYSCALL_CODE 0x050f /* the instruction's two bytes */
#define PAGE_SIZE    4096

/* A thread that it made, or one that came to it by itself and was sampled there. async-signal-safe. */
bool pp_may_run_python(const struct pp_slot *slot)
{
    return atomic_load_explicit(&slot->ran_python, memory_order_relaxed) ||
           pp_python_of_code((uintptr_t)slot->start_routine) != NULL;
}

/* Whether the code at pc - 2 or pc, which are being executed, is a system call: one that has been interrupted, has just
 * returned, or is about to be called again. async-signal-safe. */
static bool at_system_call(uintptr_t pc)
{
    uint16_t code;
    if (pc % PAGE_SIZE < sizeof code || pc % PAGE_SIZE > PAGE_SIZE - sizeof code)
        return false;
    memcpy(&code, (const void *)(pc - sizeof code), sizeof code);
    if (code == SYSCALL_CODE)
        return true;
    memcpy(&code, (const void *)pc, sizeof code);
    return code == SYSCALL_CODE;
}

/* A thread that leaves is not to be stopped: pthread_exit loads libgcc, and whoever ends the process needs the loader's
 * lock. The others sleep in a system call sooner or later. async-signal-safe. */
static bool may_sleep(uintptr_t pc)
{
    bool in_loader = pc >= atomic_load_explicit(&pp_capture.loader_start, memory_order_relaxed) &&
                     pc < atomic_load_explicit(&pp_capture.loader_end, memory_order_relaxed);
    return !in_loader && at_system_call(pc);
}

bool pp_park_here(const struct pp_slot *slot, const ucontext_t *context)
{
    uint32_t why = atomic_load_explicit(&pp_capture.parking, memory_order_acquire);
    if (why == PP_PARK_NOT || !pp_may_run_python(slot) || !may_sleep((uintptr_t)context->uc_mcontext.gregs[REG_RIP]))
        return false;
    uint64_t now, end;
    bool slept = false;
    while (why != PP_PARK_NOT &&
           (now = pp_sys_clock_ns(CLOCK_MONOTONIC)) < (end = atomic_load(&pp_capture.parking_end_ns))) {
        struct timespec left = {0, (long)(end - now)};
        pp_syscall4(SYS_futex, (long)&pp_capture.parking, FUTEX_WAIT_PRIVATE, why, (long)&left);
        slept = true;
        why = atomic_load_explicit(&pp_capture.parking, memory_order_acquire);
    }
    return slept;
}
