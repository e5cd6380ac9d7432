#include "park.h"
#include "capture.h"
#include "safe_read.h"
#include <linux/futex.h>

#define SYSCALL_CODE 0x050f /* the instruction's two bytes */

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
    uint16_t code[2];
    int pid = atomic_load_explicit(&pp_capture.pid, memory_order_relaxed);
    return pp_safe_read(pid, code, pc - sizeof *code, sizeof code) &&
           (code[0] == SYSCALL_CODE || code[1] == SYSCALL_CODE);
}

/* In the wait for the GIL of an interpreter that is finalizing, whose futexes are in its own memory. Whoever sleeps
 * there holds no lock of libc's or the loader's. async-signal-safe. */
static bool may_sleep(const greg_t *registers)
{
    const struct pp_python *python = pp_python_of_code((uintptr_t)registers[REG_RDI]);
    return python && pp_word((const void *)python->runtime, python->layout.runtime.finalizing) &&
           at_system_call((uintptr_t)registers[REG_RIP]);
}

bool pp_park_here(const struct pp_slot *slot, const ucontext_t *context)
{
    uint32_t why = atomic_load_explicit(&pp_capture.parking, memory_order_acquire);
    if (why == PP_PARK_NOT || !pp_may_run_python(slot) || !may_sleep(context->uc_mcontext.gregs))
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
