/* SPDX-License-Identifier: Apache-2.0 */
#include "libunwind_walk.h"
#include "../arch/arch.h"
#include "../base/syscalls.h"
#include <stdatomic.h>
#include <sys/stat.h>

#define NO_INFORMATION (-10) /* -UNW_ENOINFO */

struct step {
    uintptr_t pc, sp;
    bool exact; /* pc is the interrupted instruction; else a return address */
};

/* Whether a module holds the address. Other code is a JIT's: the Python walk knows a way past it, and libunwind would
 * only guess. async-signal-safe. */
static bool is_in_module(uintptr_t address)
{
    const struct pp_module_table *table = atomic_load_explicit(&pp_module_table, memory_order_acquire);
    size_t low = 0, high = table ? table->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (address < table->ranges[middle].start)
            high = middle;
        else if (address >= table->ranges[middle].end)
            low = middle + 1;
        else
            return true;
    }
    return !table;
}

bool pp_libunwind_has_pipe(const struct pp_libunwind *library)
{
    for (unsigned i = 0; i < 2; i++) {
        struct stat status;
        int fd = ((const volatile int *)library->pipe)[i];
        if (pp_syscall4(SYS_fstat, fd, (long)&status, 0, 0) != 0 || !S_ISFIFO(status.st_mode) ||
            status.st_dev != library->pipe_device || status.st_ino != library->pipe_inode)
            return false;
    }
    return true;
}

/* Steps to the caller; *outermost: there is none. As safe as libunwind. */
static enum pp_reason step_out(const struct pp_libunwind *library, uint64_t *cursor, uintptr_t stack_top,
                               struct step *step, bool *outermost)
{
    uintptr_t pc, sp;
    bool signal = library->is_signal_frame(cursor) > 0;
    int result = library->step(cursor);
    *outermost = result == 0;
    if (result < 0)
        return result == NO_INFORMATION ? PP_REASON_NATIVE_NO_RULE : PP_REASON_NATIVE_BAD_STACK;
    if (*outermost)
        return PP_REASON_NONE;
    if (library->get_register(cursor, PP_LIBUNWIND_PC, &pc) != 0 ||
        library->get_register(cursor, PP_REG_SP, &sp) != 0 || sp % sizeof sp || sp < step->sp ||
        (sp == step->sp && !step->exact) || sp > stack_top || sp - step->sp > PP_MAX_FRAME_SIZE)
        return PP_REASON_NATIVE_BAD_STACK;
    *step = (struct step){pc, sp, signal};
    return PP_REASON_NONE;
}

void pp_libunwind_walk(const struct pp_libunwind *library, const ucontext_t *registers, uintptr_t stack_top,
                       uint64_t *cursor, struct pp_native_stack *stack)
{
    bool outermost = false;
    uintptr_t frame_pointer = 0;
    struct step step = {pp_context_pc(registers), pp_context_sp(registers), true};
    int *error = library->error_location(), error_before = *error;
    stack->count = 0;
    bool begun = library->init(cursor, (void *)(uintptr_t)registers, PP_LIBUNWIND_SIGNAL_FRAME) == 0;
    do {
        stack->reason = PP_REASON_NATIVE_TOO_DEEP;
        if (stack->count == stack->max)
            break;
        struct pp_native_frame *frame = &stack->frames[stack->count++];
        bool is_restorer = begun && library->is_signal_frame(cursor) > 0;
        frame->ip = step.exact || is_restorer ? step.pc : step.pc - 1;
        frame->cfa = step.sp;
        if (!is_in_module(frame->ip))
            stack->reason = PP_REASON_NATIVE_NO_MODULE;
        else if (!begun || step.sp >= stack_top)
            stack->reason = PP_REASON_NATIVE_BAD_STACK;
        else
            stack->reason = step_out(library, cursor, stack_top, &step, &outermost);
        if (stack->reason == PP_REASON_NONE)
            frame->cfa = step.sp;
    } while (stack->reason == PP_REASON_NONE && !outermost && step.pc);
    if (stack->reason == PP_REASON_NONE && !outermost && stack_top - step.sp > PP_STACK_TOP_MAX)
        stack->reason = PP_REASON_NATIVE_BAD_STACK;
    stack->frame_pointer = begun && library->get_register(cursor, PP_REG_FP, &frame_pointer) == 0 ? frame_pointer : 0;
    *error = error_before;
}
