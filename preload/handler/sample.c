/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a sample: the native stack, the Python stack, and which native frame runs which run of Python frames. */
#include "../capture/calling_interpreters.h"
#include "../capture/code_cache.h"
#include "../capture/pairing.h"
#include "../capture/safe_read.h"
#include "../capture/unfinished.h"
#include "../context/context.h"
#include "due.h"
#include "handler.h"
#include <string.h>
#include <sys/resource.h>

/* Resolves the frames of the walk to cache entries. async-signal-safe. */
static enum pp_reason resolve_frames(const struct pp_thread_state *state, struct pp_slot *slot,
                                     const struct pp_python_stack *stack)
{
    const struct pp_python_layout *layout = &state->python->layout;
    /* Only the innermost run can be torn, and only while its eval function itself executes (there is no call inside the
     * windows). A torn link is near its top, and all frames after it would have to fit by chance: it is enough to
     * verify a batch of frames, or two in builds without known windows. */
    uint32_t doubtful = 0;
    if (stack->runs && stack->doubtful) {
        uint32_t most = layout->torn_windows ? PP_CODE_BATCH : 2;
        doubtful = slot->scratch->runs[0].frames < most ? slot->scratch->runs[0].frames : most;
        /* outside the windows a wrong frame can only be one that has returned: its code was a code object at least */
        if (!stack->changing && pp_code_known(slot, doubtful))
            doubtful = 0;
    }
    return pp_code_resolve(state->python, pp_word(state->memory, layout->thread_state.interp), slot, stack->frames,
                           doubtful, state->attached && !layout->free_threaded);
}

/* Writes the sample into the ring; false if there is no room. async-signal-safe. */
static bool write_sample(struct pp_slot *slot, const struct pp_record_sample *head, const struct pp_stacks *stacks)
{
    struct pp_record_sample *sample = pp_ring_reserve(&slot->ring, pp_stacks_size(stacks), PP_RECORD_SAMPLE);
    if (!sample)
        return false;
    struct pp_record header = sample->header;
    *sample = *head;
    sample->header = header;
    pp_stacks_write(stacks, sample);
    pp_ring_commit(&slot->ring, sample);
    return true;
}

/* Records how often the thread has waited and was preempted, as far as the kernel knows: a preempted thread meets fewer
 * ticks than its CPU time is worth, and a thread that waits may work in step with them. async-signal-safe. */
static void count_switches(struct pp_slot *slot, struct pp_record_sample *sample)
{
    struct rusage usage;
    if (pp_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
        return;
    sample->voluntary = (uint32_t)((uint64_t)usage.ru_nvcsw - slot->thread.voluntary_switches);
    sample->involuntary = (uint32_t)((uint64_t)usage.ru_nivcsw - slot->thread.involuntary_switches);
    sample->counted_ns = sample->cpu_ns - slot->thread.counted_cpu_ns;
    slot->thread.voluntary_switches = (uint64_t)usage.ru_nvcsw;
    slot->thread.involuntary_switches = (uint64_t)usage.ru_nivcsw;
    slot->thread.counted_cpu_ns = sample->cpu_ns;
}

#define EVENT_WAIT_NS 2700u /* that the kernel takes longer to switch from a thread with an event, and to it again */
#define PPM           1000000u

static uint64_t event_cost_ns(const struct pp_record_sample *sample)
{
    return (uint64_t)(sample->voluntary + sample->involuntary) * EVENT_WAIT_NS;
}

/* Asks for a perf event for a thread that waits often, so that ticks may meet its work unevenly, and not so often that
 * the event would cost too much. async-signal-safe. */
static void consider_event(struct pp_slot *slot, const struct pp_record_sample *sample)
{
    uint64_t limit_ppm = pp_capture.overhead_ppm;
    if (atomic_load_explicit(&pp_capture.events_offered, memory_order_relaxed) &&
        pp_waits_often(sample, pp_capture.tick_ns) && event_cost_ns(sample) * PPM < sample->counted_ns * limit_ppm)
        pp_ask_for_event(slot);
}

/* Counts what the event has cost in switches since the last sample, which is ours: half of all at most, as what a
 * switch costs is not the same at each. async-signal-safe. */
static void count_event_cost(struct pp_slot *slot, struct pp_record_sample *sample)
{
    uint64_t cost_ns = event_cost_ns(sample), most_ns = sample->counted_ns / 2;
    slot->thread.event_switches_ns += cost_ns < most_ns ? cost_ns : most_ns;
    sample->switches_ns = slot->thread.event_switches_ns;
}

/* Whether sp is on a stack other than the thread's own: a coroutine's, Go's, a signal stack. async-signal-safe. */
static bool on_other_stack(const struct pp_slot *slot, uintptr_t sp)
{
    uintptr_t top = atomic_load_explicit(&slot->thread.stack_top, memory_order_acquire);
    uintptr_t low = atomic_load_explicit(&slot->thread.stack_low, memory_order_relaxed);
    return top && low && (sp < low || sp >= top);
}

/* Walks the native stack. async-signal-safe, except by libunwind (capture/libunwind_walk.h). */
static void walk_native(struct pp_slot *slot, const ucontext_t *registers, struct pp_native_stack *native)
{
    uintptr_t stack_top = atomic_load_explicit(&slot->thread.stack_top, memory_order_acquire);
    uintptr_t sp = pp_context_sp(registers);
    native->stack_low = atomic_load_explicit(&slot->thread.stack_low, memory_order_relaxed);
    if (stack_top) {
        /* sequentially consistent, after in_handler: a fork sees this handler, or this handler sees the pause */
        const struct pp_libunwind *library = atomic_load(&pp_capture.libunwind);
        if (library && !pp_libunwind_has_pipe(library)) {
            atomic_store(&pp_capture.libunwind, NULL);
            library = NULL;
        }
        if (library && !on_other_stack(slot, sp) && !atomic_load(&pp_capture.libunwind_pauses) &&
            !atomic_load_explicit(library->loader_lock, memory_order_relaxed))
            pp_libunwind_walk(library, registers, stack_top, slot->scratch->libunwind_cursor, native);
        else
            pp_native_walk(registers, stack_top, native);
        return;
    }
    /* requested once: bounds that cannot be found now will not be found later */
    if (!atomic_exchange_explicit(&slot->thread.unknown_stack_sp, sp, memory_order_release))
        pp_wake_flush(PP_WAKE_STACK);
    native->reason = PP_REASON_NATIVE_STACK_UNKNOWN;
    native->frames[0] = (struct pp_native_frame){pp_context_pc(registers), sp};
    native->count = 1;
}

/* Walks the Python stack, resumes the native walk by it and reads what the sample belongs to. async-signal-safe. */
static enum pp_reason walk_python(const struct pp_thread_state *state, struct pp_slot *slot,
                                  const ucontext_t *registers, struct pp_stacks *stacks, uint32_t *contexts)
{
    const struct pp_native_stack *native = &stacks->native;
    const struct pp_context_reader reader = pp_context_reader_of(state, slot);
    struct pp_interrupted interrupted = {
        .pc = pp_context_pc(registers),
        .sp = pp_context_sp(registers),
        .native_frames = native->count,
        .native_complete = native->reason == PP_REASON_NONE,
        .other_stack = on_other_stack(slot, pp_context_sp(registers)),
        .registers = registers,
    };
    if (!pp_contexts_read(&reader, contexts, &interrupted.task_frame))
        return PP_REASON_LOST_RING_FULL;
    enum pp_reason reason = pp_python_walk(state, slot, &interrupted, &stacks->python);
    if (reason != PP_REASON_NONE && reason != PP_REASON_PYTHON_TOO_DEEP)
        return reason;
    enum pp_reason resolved = resolve_frames(state, slot, &stacks->python);
    if (resolved != PP_REASON_NONE)
        return resolved;
    if (!pp_contexts_read_frames(&reader, &stacks->python, native, contexts))
        return PP_REASON_LOST_RING_FULL;
    if (reason == PP_REASON_NONE && pp_runs_subinterpreter(state, &stacks->python) && !interrupted.other_stack &&
        !pp_calling_interpreters_add(state, slot, stacks))
        return PP_REASON_LOST_RING_FULL;
    if (stacks->python.runs && !stacks->python.counted && !interrupted.other_stack)
        stacks->interpreter = state->python;
    pp_stacks_resume_native(stacks);
    return reason;
}

/* Whether the walk has met code that may be a new module's: the flush thread is to be woken for it, once the sample is
 * in the ring. async-signal-safe. */
static bool wants_modules(const struct pp_native_stack *native)
{
    uint32_t known = PP_MODULES_KNOWN;
    if (native->reason != PP_REASON_NATIVE_NO_MODULE && atomic_load_explicit(&pp_module_table, memory_order_relaxed))
        return false;
    return atomic_compare_exchange_strong(&pp_capture.modules, &known, PP_MODULES_WANTED);
}

/* Whether memory that may be unmapped can be read now; where it never can be, no interpreter is listed.
 * async-signal-safe. */
static bool can_copy(void)
{
    if (__builtin_expect(!pp_memory_file.used, true) || pp_memory_file_is_open())
        return true;
    atomic_store_explicit(&pp_memory_file.missed, true, memory_order_relaxed);
    return false;
}

/* Has the flush thread observe what the main thread waits in: this may be a pool's thread that works for it.
 * async-signal-safe. */
static void ask_what_waits(void)
{
    if (atomic_load_explicit(&pp_capture.native_threads, memory_order_relaxed) != PP_NATIVE_THREADS_WORK &&
        atomic_exchange(&pp_capture.native_threads, PP_NATIVE_THREADS_WORK) == PP_NATIVE_THREADS_IDLE)
        pp_wake_flush(PP_WAKE_WAITING);
}

void pp_lose_sample(struct pp_slot *slot, uint64_t cpu_ns)
{
    uint64_t previous_ns = atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed);
    uint64_t lost_ns = atomic_load_explicit(&slot->thread.lost_ns, memory_order_relaxed);
    uint32_t samples = atomic_load_explicit(&slot->thread.lost_samples, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.lost_ns, lost_ns + cpu_ns - previous_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.lost_samples, samples + 1, memory_order_relaxed);
}

/* Does what pp_take_sample does; returns whether the flush thread is to be woken for new code. async-signal-safe. */
static bool build_sample(struct pp_slot *slot, const ucontext_t *registers, uint64_t cpu_ns, uint64_t due_ns)
{
    struct pp_record_sample head = {
        .cpu_previous_ns = atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed),
        .cpu_ns = cpu_ns,
        .due_ns = due_ns,
        .by_ticks = !due_ns && !atomic_load_explicit(&slot->thread.event_period_ns, memory_order_relaxed),
        .switches_ns = slot->thread.event_switches_ns,
        .task_frame = PP_NO_FRAME,
        .time = pp_module_time_now(),
        .profiler_ns = atomic_load_explicit(&slot->thread.profiler_ns, memory_order_relaxed),
        .lost_ns = atomic_load_explicit(&slot->thread.lost_ns, memory_order_relaxed),
        .lost_samples = atomic_load_explicit(&slot->thread.lost_samples, memory_order_relaxed),
    };
    uint64_t overdue_ns = atomic_load_explicit(&pp_capture.overdue_ns, memory_order_relaxed);
    if (due_ns || head.by_ticks || (overdue_ns && cpu_ns - head.cpu_previous_ns > overdue_ns))
        count_switches(slot, &head);
    if (due_ns)
        count_event_cost(slot, &head);
    else if (head.by_ticks)
        consider_event(slot, &head);
    struct pp_stacks stacks = {
        .sp = pp_context_sp(registers),
        .stack_top = atomic_load_explicit(&slot->thread.stack_top, memory_order_relaxed),
        .native = {.frames = slot->scratch->native,
                   .cache = &slot->scratch->rules,
                   .stopped = &slot->scratch->stopped,
                   .modules_checked =
                       atomic_load_explicit(&pp_capture.modules, memory_order_relaxed) == PP_MODULES_CHECKED &&
                       !pp_modules_may_be_gone(),
                   .max = PP_MAX_NATIVE_FRAMES - PP_OUTER_NATIVE},
        .runs = slot->scratch->runs,
        .frames = slot->scratch->resolved,
    };
    if (atomic_load_explicit(&pp_capture.pauses, memory_order_relaxed)) {
        stacks.native.reason = PP_REASON_PAUSED;
        if (!write_sample(slot, &head, &stacks))
            pp_lose_sample(slot, cpu_ns);
        return false;
    }
    if (slot->thread.scanned && !slot->thread.thread_pointer)
        slot->thread.thread_pointer = pp_foreign_thread_pointer(slot);
    walk_native(slot, registers, &stacks.native);
    bool new_code = wants_modules(&stacks.native);
    if (slot->thread.thread_pointer && can_copy() &&
        (stacks.sp < stacks.stack_top || on_other_stack(slot, stacks.sp))) {
        struct pp_thread_state state;
        enum pp_reason reason = pp_thread_state_find(slot, &state);
        if (state.python)
            reason = walk_python(&state, slot, registers, &stacks, &head.contexts);
        else if (!pp_contexts_read_native(slot, &head.contexts))
            reason = PP_REASON_LOST_RING_FULL;
        head.context_reasons = slot->scratch->context_reasons;
        head.state = (uint16_t)(state.state | (stacks.python.collecting ? PP_STATE_GC : 0));
        if (reason != PP_REASON_NONE && reason != PP_REASON_PYTHON_TOO_DEEP)
            stacks.python.frames = stacks.python.runs = 0;
        if (stacks.python.frames)
            head.task_frame = (uint16_t)stacks.python.task_frame;
        head.python_reason = (uint8_t)reason;
    }
    if (head.contexts & PP_SELECTED)
        head.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    if (!stacks.python.frames && !slot->thread.is_main)
        ask_what_waits();
    head.epoch = slot->code_epoch;
    if (head.python_reason == PP_REASON_LOST_RING_FULL) {
        pp_lose_sample(slot, cpu_ns);
        return new_code;
    }
    if (stacks.native.continuable) {
        new_code |= wants_modules(&stacks.native);
        if (pp_sample_write_unfinished(slot, &head, &stacks))
            return new_code;
        stacks.native.continuable = false;
        stacks.native.stopped = NULL;
        pp_stacks_resume_native(&stacks);
    }
    if (!write_sample(slot, &head, &stacks))
        pp_lose_sample(slot, cpu_ns);
    return new_code;
}

void pp_take_sample(struct pp_slot *slot, const ucontext_t *registers, uint64_t cpu_ns, uint64_t due_ns)
{
    if (build_sample(slot, registers, cpu_ns, due_ns))
        pp_wake_flush(PP_WAKE_MODULES);
}
