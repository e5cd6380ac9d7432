/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that calls a subinterpreter swaps its thread state for one of that interpreter. The caller's state, with its
 * frames, stays in the caller's list until the call returns. Lists, states and frames are copied, and so are code
 * objects: other threads change these lists meanwhile, and a state with this thread's number may be run by another
 * thread, or be gone. What makes frames this thread's are their markers on its own stack. Up to 3.10 there are none,
 * and the number of native eval frames must fit. */
#include "calling_interpreters.h"
#include "code_cache.h"
#include "python_frames.h"
#include "safe_read.h"
#include <string.h>

#define MAX_CALLERS 4   /* thread states of this thread, beside the one that it runs with */
#define MAX_LISTED  256 /* interpreters and thread states that are gone through, per sample */

struct callers {
    const struct pp_python *python;
    struct pp_slot *slot;
    int pid;
    unsigned count;
    uintptr_t states[MAX_CALLERS];
};

/* Copies a thread state to the scratch memory. async-signal-safe. */
static bool copy_state(const struct callers *callers, uintptr_t address)
{
    return pp_plausible(address) && pp_safe_read(callers->pid, callers->slot->scratch->thread_state, address,
                                                 callers->python->layout.thread_state.copy_size);
}

/* Lists this thread's states that have frames, but the one that it runs with. async-signal-safe. */
static void find_states(struct callers *callers, uintptr_t running)
{
    const struct pp_python_layout *layout = &callers->python->layout;
    const void *copy = callers->slot->scratch->thread_state;
    uintptr_t interpreter, state, at = callers->python->runtime + layout->runtime.head_interpreter;
    unsigned listed = 0;
    while (pp_safe_read(callers->pid, &interpreter, at, sizeof interpreter) && pp_plausible(interpreter) &&
           pp_safe_read(callers->pid, &state, interpreter + layout->interpreter.threads, sizeof state)) {
        for (; copy_state(callers, state); state = pp_word(copy, layout->thread_state.next)) {
            if (++listed > MAX_LISTED)
                return;
            if (state == running ||
                pp_word(copy, layout->thread_state.thread_id) != pp_pthread_of(callers->slot->thread.thread_pointer) ||
                !pp_thread_state_has_frames(layout, copy, state))
                continue;
            if (callers->count == MAX_CALLERS)
                return;
            callers->states[callers->count++] = state;
        }
        if (++listed > MAX_LISTED)
            return;
        at = interpreter + layout->interpreter.next;
    }
}

/* Returns an address on the C stack that the frames of callers are beyond. async-signal-safe. */
static uintptr_t outermost_marker(const struct pp_stacks *stacks, const struct pp_run *runs)
{
    return stacks->python.runs && !stacks->python.counted ? runs[stacks->python.runs - 1].marker : stacks->sp;
}

/* Returns the number of native eval frames beyond the address, the interrupted frame not counted; a subinterpreter's
 * own ones included if its frames have no markers. async-signal-safe. */
static uint32_t evals_beyond(const struct pp_native_stack *native, uintptr_t address)
{
    uint32_t evals = 0;
    for (unsigned i = native->count; i-- > 1 && native->frames[i - 1].cfa > address;)
        evals += pp_in_eval(native->frames[i].ip);
    return evals;
}

/* Whether there are eval frames of callers, as far as the native walk has come. async-signal-safe. */
static bool has_callers(const struct pp_stacks *stacks, const struct pp_run *runs)
{
    const struct pp_native_stack *native = &stacks->native;
    if (native->reason != PP_REASON_NONE)
        return true;
    uint32_t evals = evals_beyond(native, outermost_marker(stacks, runs));
    return evals > (stacks->python.counted ? stacks->python.frames : 0);
}

/* Whether so many frame objects more have eval frames: all of these, but an interrupted one that has begun or ends a
 * call. async-signal-safe. */
static bool objects_fit(const struct pp_stacks *stacks, uint32_t more)
{
    const struct pp_native_stack *native = &stacks->native;
    uint32_t frames = stacks->python.frames + more, outer = evals_beyond(native, stacks->sp);
    uint32_t evals = outer + (native->count && pp_in_eval(native->frames[0].ip));
    return native->reason != PP_REASON_NONE || frames == evals || frames + 1 == evals;
}

/* Copies frame objects (3.8–3.10). async-signal-safe. */
static bool walk_objects(const struct callers *callers, uint32_t room, struct pp_python_stack *found)
{
    const struct pp_python_layout *layout = &callers->python->layout;
    struct pp_scratch *scratch = callers->slot->scratch;
    const struct pp_frame_reader reader = {.python = callers->python, .layout = layout, .pid = callers->pid};
    struct pp_frame frame;
    *found = (struct pp_python_stack){.counted = true};
    for (uintptr_t address = pp_word(scratch->thread_state, layout->thread_state.top); address;
         address = frame.previous) {
        if (found->frames == room || !pp_frame_copy(&reader, address, &frame))
            return false;
        scratch->python[found->frames++] = (struct pp_python_frame){frame.code, frame.instr, address};
    }
    return found->frames;
}

/* Walks the frames of a state, which must lie further out than the runs that there are, and fit in. async-signal-safe.
 */
static bool walk_state(const struct callers *callers, uintptr_t address, const struct pp_stacks *stacks,
                       struct pp_python_stack *found)
{
    struct pp_scratch *scratch = callers->slot->scratch;
    uint32_t room = PP_MAX_PYTHON_FRAMES - stacks->python.frames;
    if (!copy_state(callers, address))
        return false;
    if (stacks->python.counted)
        return walk_objects(callers, room, found) && objects_fit(stacks, found->frames);
    const struct pp_thread_state state = {
        .python = callers->python, .address = address, .memory = scratch->thread_state};
    const struct pp_interrupted interrupted = {.sp = outermost_marker(stacks, scratch->inner_runs) + sizeof(uintptr_t)};
    return pp_python_walk(&state, callers->slot, &interrupted, found) == PP_REASON_NONE && found->runs &&
           scratch->runs[0].marker && found->frames <= room && found->runs <= PP_MAX_INNER_RUNS - stacks->python.runs;
}

/* Appends what walk_state has found. async-signal-safe. */
static bool append(const struct callers *callers, const struct pp_python_stack *found, struct pp_stacks *stacks)
{
    const struct pp_python *python = callers->python;
    struct pp_scratch *scratch = callers->slot->scratch;
    struct pp_python_stack *stack = &stacks->python;
    const struct pp_object_reader reader = {.python = python, .pid = callers->pid};
    uintptr_t interpreter = pp_word(scratch->thread_state, python->layout.thread_state.interp);
    pp_code_enter(python, interpreter, callers->slot);
    if (!pp_code_resolve_more(&reader, callers->slot, scratch->python, found->frames,
                              scratch->resolved + stack->frames))
        return false;
    stack->frames += found->frames;
    stack->total += found->frames;
    if (!stack->counted) {
        memcpy(scratch->inner_runs + stack->runs, scratch->runs, found->runs * sizeof *scratch->runs);
        stack->runs += found->runs;
        stack->compiled = found->compiled;
        return true;
    }
    scratch->inner_runs[0] = (struct pp_run){0, stack->frames};
    stack->runs = 1;
    stack->subinterpreter =
        interpreter != pp_word((const void *)python->runtime, python->layout.runtime.main_interpreter);
    return true;
}

/* Removes the state whose frames come next from the list, and walks its frames; false if there is none. Frame objects
 * do not say which of several states comes next. async-signal-safe. */
static bool walk_next(struct callers *callers, const struct pp_stacks *stacks, struct pp_python_stack *found)
{
    const struct pp_run *runs = callers->slot->scratch->runs;
    unsigned next = MAX_CALLERS;
    uintptr_t marker = 0;
    if (stacks->python.counted && callers->count != 1)
        return false;
    for (unsigned i = 0; i < callers->count; i++) {
        if (!walk_state(callers, callers->states[i], stacks, found))
            continue;
        if (next == MAX_CALLERS || runs[0].marker < marker) {
            next = i;
            marker = runs[0].marker;
        }
    }
    if (next == MAX_CALLERS)
        return false;
    uintptr_t state = callers->states[next];
    callers->states[next] = callers->states[--callers->count];
    return walk_state(callers, state, stacks, found);
}

PP_RARE bool pp_calling_interpreters_add(const struct pp_thread_state *state, struct pp_slot *slot,
                                         struct pp_stacks *stacks)
{
    struct pp_scratch *scratch = slot->scratch;
    struct pp_python_stack *stack = &stacks->python, found;
    struct callers callers = {
        .python = state->python, .slot = slot, .pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed)};
    if (!state->python->layout.interpreter.threads || stack->runs > PP_MAX_INNER_RUNS ||
        !outermost_marker(stacks, scratch->runs) || !has_callers(stacks, scratch->runs))
        return true;
    find_states(&callers, state->address);
    memcpy(scratch->inner_runs, scratch->runs, stack->runs * sizeof *scratch->runs);
    bool room = true;
    while (room && has_callers(stacks, scratch->inner_runs) && walk_next(&callers, stacks, &found))
        room = append(&callers, &found, stacks);
    memcpy(scratch->runs, scratch->inner_runs, stack->runs * sizeof *scratch->runs);
    return room;
}
