/* Takes a sample: the native stack, the Python stack, and which native frame runs which run of Python frames. */
#include "code_cache.h"
#include "native_walk.h"
#include "python_walk.h"
#include "safe_read.h"
#include <string.h>
#include <sys/resource.h>

#define EVAL_FRAME_MAX     4096 /* bytes of a native eval frame */
#define FRAME_POINTER_HOPS 8
#define OUTER_RUNS         4 /* at the outer end of a deep stack, whose native frames are still found */

/* Resolves the frames of the walk to cache entries. async-signal-safe. */
static enum pp_reason resolve_frames(const struct pp_python *python, struct pp_slot *slot,
                                     const struct pp_python_stack *stack)
{
    /* Only the innermost run can be torn, and only while its eval function itself executes (there is no call inside the
     * windows). A torn link is near its top, and all frames after it would have to fit by chance: it is enough to
     * verify a batch of frames, or two in builds without known windows. */
    uint32_t doubtful = 0;
    if (stack->runs && stack->doubtful) {
        uint32_t most = python->layout.torn_windows ? PP_CODE_BATCH : 2;
        doubtful = slot->scratch->runs[0].frames < most ? slot->scratch->runs[0].frames : most;
        /* outside the windows a wrong frame can only be one that has returned: its code was a code object at least */
        if (!stack->changing && pp_code_known(slot, doubtful))
            doubtful = 0;
    }
    return pp_code_resolve(python, slot, stack->frames, doubtful);
}

/* Whether native frame i, [its sp, its cfa), holds the address. */
static bool holds(const struct pp_scratch *scratch, uintptr_t sp, unsigned i, uintptr_t address)
{
    return address < scratch->native[i].cfa && address >= (i ? scratch->native[i - 1].cfa : sp);
}

/* Finds each run's native frame by its marker. Runs in a truncated stack's middle go to its gap. async-signal-safe. */
static void pair_runs(const struct pp_scratch *scratch, const struct pp_python_stack *stack, unsigned native,
                      uintptr_t sp, struct pp_record_run *out)
{
    unsigned frame = 0;
    for (uint32_t i = 0; i < stack->runs; i++) {
        uintptr_t marker = scratch->runs[i].marker;
        while (frame < native && marker >= scratch->native[frame].cfa)
            frame++;
        bool inside = marker && frame < native && holds(scratch, sp, frame, marker);
        out[i].native = inside ? (uint16_t)frame : PP_RUN_UNPAIRED;
        out[i].frames = (uint16_t)scratch->runs[i].frames;
        if (!marker) /* an eval call that is being entered has no frame yet: a run of its own would have a marker */
            out[i].native = stack->counted ? PP_RUN_COUNTED : !i && stack->entering ? PP_RUN_CALLER : PP_RUN_NEXT;
        if (inside && i && frame && out[i - 1].native == frame && scratch->native[frame - 1].ip & PP_NATIVE_DEEP)
            out[i - 1].native = (uint16_t)(frame - 1);
    }
}

/* Learns the constant distance from a marker to its eval frame's CFA, from a frame at a call. async-signal-safe. */
static void learn_eval_frame(const struct pp_python *python, const struct pp_native_stack *native, uintptr_t marker)
{
    if (native->reason != PP_REASON_NONE ||
        atomic_load_explicit(&pp_capture.eval[python->index].marker_to_end, memory_order_relaxed))
        return;
    for (unsigned i = 1; i < native->count; i++) {
        const struct pp_native_frame *frame = &native->frames[i];
        if (marker < frame->cfa && marker >= native->frames[i - 1].cfa && pp_python_of_code(frame->ip) == python) {
            atomic_store_explicit(&pp_capture.eval[python->index].body, frame->ip, memory_order_relaxed);
            atomic_store_explicit(&pp_capture.eval[python->index].marker_to_end, (uint32_t)(frame->cfa - marker),
                                  memory_order_release);
            return;
        }
    }
}

/* Whether frame pointers lead to the eval frame that holds the marker: the rbp where the walk ended, or an rbp saved a
 * few frames further out (a JIT's), is above the marker by an eval frame's size at most, and the return address there
 * is in the interpreter. Stores it in native->frame_pointer. async-signal-safe. */
static bool find_frame_pointer(const struct pp_python *python, struct pp_native_stack *native, uintptr_t marker,
                               uintptr_t stack_top)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    uintptr_t at = native->frame_pointer, from = native->frames[native->count - 1].cfa;
    for (unsigned hops = 0; hops < FRAME_POINTER_HOPS; hops++) {
        uintptr_t words[2]; /* the caller's rbp, the return address; a copy, since rbp may be anything */
        if (at % sizeof at || at < from || at >= stack_top - sizeof words ||
            !pp_safe_read(pid, words, at, sizeof words))
            return false;
        if (at > marker) {
            native->frame_pointer = at;
            return at - marker <= EVAL_FRAME_MAX && pp_python_of_code(words[1]) == python;
        }
        from = at + 1;
        at = words[0];
    }
    return false;
}

/* Whether the walk ended in code without unwind rows (a JIT's, assembly's, a new module's) or at its depth limit. */
static bool ended_in_gap(const struct pp_native_stack *native)
{
    return native->reason == PP_REASON_NATIVE_TOO_DEEP || native->reason == PP_REASON_NATIVE_NO_MODULE ||
           native->reason == PP_REASON_NATIVE_NO_RULE || native->reason == PP_REASON_NATIVE_NO_ROWS;
}

/* Resumes the native walk after a gap, at the next outer eval frame, known by its marker. async-signal-safe. */
static void resume_native(const struct pp_python *python, struct pp_slot *slot, const struct pp_python_stack *stack,
                          struct pp_native_stack *native)
{
    uint32_t distance = atomic_load_explicit(&pp_capture.eval[python->index].marker_to_end, memory_order_acquire);
    uintptr_t body = atomic_load_explicit(&pp_capture.eval[python->index].body, memory_order_relaxed);
    uintptr_t stack_top = atomic_load_explicit(&slot->thread.stack_top, memory_order_relaxed);
    native->max = PP_MAX_NATIVE_FRAMES;
    for (uint32_t run = 0; run < stack->runs && ended_in_gap(native); run++) {
        uintptr_t marker = slot->scratch->runs[run].marker;
        bool deep = native->reason == PP_REASON_NATIVE_TOO_DEEP;
        if (marker < native->frames[native->count - 1].cfa || (deep && run + OUTER_RUNS < stack->runs))
            continue;
        if (!distance && !find_frame_pointer(python, native, marker, stack_top))
            return;
        uintptr_t *end = &native->frames[native->count - 1].ip, known_end = *end;
        unsigned before = native->count;
        enum pp_reason reason = native->reason;
        *end |= PP_NATIVE_BROKEN | (deep ? PP_NATIVE_DEEP : reason == PP_REASON_NATIVE_NO_RULE ? PP_NATIVE_NO_RULE : 0);
        if (distance)
            pp_native_resume(body, marker + distance, stack_top, native);
        else
            pp_native_resume_at_frame_pointer(python->eval_function, stack_top, native);
        if (native->count == before) { /* nothing was found beyond it */
            *end = known_end;
            native->reason = reason;
        }
    }
}

/* Writes the sample into the ring; false if there is no room. async-signal-safe. */
static bool write_sample(struct pp_slot *slot, const struct pp_record_sample *head, uintptr_t sp,
                         const struct pp_python_stack *stack)
{
    uint32_t run_bytes = (uint32_t)(stack->runs * sizeof(struct pp_record_run) + 7) & ~7u;
    uint32_t size = (uint32_t)(sizeof *head + head->native_frames * sizeof(uint64_t) + run_bytes +
                               stack->frames * sizeof(struct pp_record_frame));
    struct pp_record_sample *sample = pp_ring_reserve(&slot->ring, size, PP_RECORD_SAMPLE);
    if (!sample)
        return false;
    struct pp_record header = sample->header;
    *sample = *head;
    sample->header = header;
    uint64_t *native = (uint64_t *)(sample + 1);
    for (unsigned i = 0; i < head->native_frames; i++)
        native[i] = slot->scratch->native[i].ip;
    uint8_t *runs = (uint8_t *)(native + head->native_frames);
    pair_runs(slot->scratch, stack, head->native_frames, sp, (struct pp_record_run *)runs);
    memcpy(runs + run_bytes, slot->scratch->resolved, stack->frames * sizeof(struct pp_record_frame));
    pp_ring_commit(&slot->ring, sample);
    return true;
}

/* Records why a sample is late, as far as the kernel knows: a preempted thread meets fewer ticks than its CPU time is
 * worth. async-signal-safe. */
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

/* Whether sp is on a stack other than the thread's own: a coroutine's, Go's, a signal stack. async-signal-safe. */
static bool on_other_stack(const struct pp_slot *slot, uintptr_t sp)
{
    uintptr_t top = atomic_load_explicit(&slot->thread.stack_top, memory_order_acquire);
    uintptr_t low = atomic_load_explicit(&slot->thread.stack_low, memory_order_relaxed);
    return top && low && (sp < low || sp >= top);
}

/* Walks the native stack. async-signal-safe, except by libunwind (libunwind_walk.h). */
static void walk_native(struct pp_slot *slot, const ucontext_t *context, struct pp_native_stack *native)
{
    uintptr_t stack_top = atomic_load_explicit(&slot->thread.stack_top, memory_order_acquire);
    uintptr_t sp = pp_context_sp(context);
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
            pp_libunwind_walk(library, context, stack_top, slot->scratch->libunwind_cursor, native);
        else
            pp_native_walk(context, stack_top, native);
        return;
    }
    /* requested once: bounds that cannot be found now will not be found later */
    if (!atomic_exchange_explicit(&slot->thread.unknown_stack_sp, sp, memory_order_release))
        pp_wake_flush(PP_WAKE_STACK);
    native->reason = PP_REASON_NATIVE_STACK_UNKNOWN;
    native->frames[0] = (struct pp_native_frame){pp_context_pc(context), sp};
    native->count = 1;
}

/* Walks the Python stack and resumes the native walk by it. async-signal-safe. */
static enum pp_reason walk_python(const struct pp_thread_state *state, struct pp_slot *slot, const ucontext_t *context,
                                  struct pp_native_stack *native, struct pp_python_stack *stack)
{
    struct pp_interrupted interrupted = {
        .pc = pp_context_pc(context),
        .sp = pp_context_sp(context),
        .native_frames = native->count,
        .native_complete = native->reason == PP_REASON_NONE,
        .other_stack = on_other_stack(slot, pp_context_sp(context)),
        .registers = context->uc_mcontext.gregs,
    };
    enum pp_reason reason = pp_python_walk(state, slot, &interrupted, stack);
    if (reason != PP_REASON_NONE && reason != PP_REASON_PYTHON_TOO_DEEP)
        return reason;
    enum pp_reason resolved = resolve_frames(state->python, slot, stack);
    if (resolved != PP_REASON_NONE)
        return resolved;
    if (stack->runs && !stack->counted && !interrupted.other_stack) {
        learn_eval_frame(state->python, native, slot->scratch->runs[0].marker);
        resume_native(state->python, slot, stack, native);
    }
    return reason;
}

void pp_lose_sample(struct pp_slot *slot, uint64_t cpu_ns)
{
    uint64_t previous_ns = atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed);
    uint64_t lost_ns = atomic_load_explicit(&slot->thread.lost_ns, memory_order_relaxed);
    uint32_t samples = atomic_load_explicit(&slot->thread.lost_samples, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.lost_ns, lost_ns + cpu_ns - previous_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.lost_samples, samples + 1, memory_order_relaxed);
}

void pp_take_sample(struct pp_slot *slot, const ucontext_t *context, uint64_t cpu_ns)
{
    struct pp_record_sample head = {
        .cpu_previous_ns = atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed),
        .cpu_ns = cpu_ns,
        .own_ns = atomic_load_explicit(&slot->thread.own_ns, memory_order_relaxed),
        .lost_ns = atomic_load_explicit(&slot->thread.lost_ns, memory_order_relaxed),
        .lost_samples = atomic_load_explicit(&slot->thread.lost_samples, memory_order_relaxed),
    };
    uint64_t overdue_ns = atomic_load_explicit(&pp_capture.overdue_ns, memory_order_relaxed);
    if (overdue_ns && cpu_ns - head.cpu_previous_ns > overdue_ns)
        count_switches(slot, &head);
    uintptr_t sp = pp_context_sp(context);
    struct pp_native_stack native = {
        .frames = slot->scratch->native, .cache = &slot->scratch->rules, .max = PP_MAX_NATIVE_FRAMES - PP_OUTER_NATIVE};
    struct pp_python_stack stack = {0};
    if (slot->thread.scanned && !slot->thread.thread_pointer)
        slot->thread.thread_pointer = pp_foreign_thread_pointer(slot);
    walk_native(slot, context, &native);
    if ((native.reason == PP_REASON_NATIVE_NO_MODULE || native.reason == PP_REASON_NATIVE_NO_ROWS ||
         !atomic_load_explicit(&pp_module_table, memory_order_relaxed)) &&
        !atomic_exchange_explicit(&pp_capture.unknown_module, 1, memory_order_relaxed))
        pp_wake_flush(PP_WAKE_MODULES);
    if (slot->thread.thread_pointer &&
        (sp < atomic_load_explicit(&slot->thread.stack_top, memory_order_relaxed) || on_other_stack(slot, sp))) {
        struct pp_thread_state state;
        enum pp_reason reason = pp_thread_state_find(slot, &state);
        if (state.python)
            reason = walk_python(&state, slot, context, &native, &stack);
        head.state = state.state | (stack.collecting ? PP_STATE_GC : 0);
        if (reason != PP_REASON_NONE && reason != PP_REASON_PYTHON_TOO_DEEP)
            stack.frames = stack.runs = 0;
        head.python_reason = (uint8_t)reason;
    }
    head.native_reason = (uint8_t)native.reason;
    head.epoch = slot->code_epoch;
    head.native_frames = (uint16_t)native.count;
    head.runs = (uint16_t)stack.runs;
    head.python_frames = (uint16_t)stack.frames;
    if (head.python_reason == PP_REASON_LOST_RING_FULL || !write_sample(slot, &head, sp, &stack))
        pp_lose_sample(slot, cpu_ns);
}
