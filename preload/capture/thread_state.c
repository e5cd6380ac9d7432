/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded plainly cannot be stale: the runtime is a part of the interpreter's module, which is never unloaded;
 * and CPython takes the thread state from the thread that it is attached to before it frees the state
 * (PyThreadState_DeleteCurrent, since 3.12) or the interpreter that this belongs to (PyInterpreterState_Delete). All
 * else is copied. */
#include "thread_state.h"
#include "python_walk.h"
#include "safe_read.h"

/* async-signal-safe. */
PP_RARE uintptr_t pp_foreign_thread_pointer(const struct pp_slot *slot)
{
    uintptr_t pointer = 0, head[PP_TCB_WORDS];
    uint32_t tid = 0;
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    uint32_t tid_offset = atomic_load_explicit(&pp_capture.descriptor_tid_offset, memory_order_relaxed);
    if (!pp_thread_pointer(&pointer) || !pp_plausible(pointer) || !pp_safe_read(pid, head, pointer, sizeof head) ||
        !pp_is_tcb(head, pointer))
        return 0;
    if (!tid_offset || !pp_safe_read(pid, &tid, pp_pthread_of(pointer) + tid_offset, sizeof tid) ||
        (int)tid != atomic_load_explicit(&slot->tid, memory_order_relaxed))
        return 0;
    return pointer;
}

/* Returns an address on the C stack of a thread state's eval loop; 0: none runs or none is recorded. async-signal-safe.
 */
static uintptr_t eval_loop(const struct pp_python_layout *layout, uintptr_t state)
{
    uintptr_t cframe = 0;
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    if (!layout->thread_state.cframe || !pp_safe_read(pid, &cframe, state + layout->thread_state.cframe, sizeof cframe))
        return 0;
    return cframe - state < layout->thread_state.copy_size ? 0 : cframe;
}

/* async-signal-safe. */
static bool on_thread_stack(const struct pp_slot *slot, uintptr_t address)
{
    return address && address >= atomic_load_explicit(&slot->thread.stack_low, memory_order_relaxed) &&
           address < atomic_load_explicit(&slot->thread.stack_top, memory_order_relaxed);
}

/* 3.8–3.11: whether the thread state that holds the one GIL is this thread's although another is bound to it, as
 * happens only with several interpreters. The stack of its eval loop decides that. Its creator does not: uWSGI's first
 * thread creates the states of all its threads. async-signal-safe. */
PP_RARE static bool current_is_mine(const struct pp_python *python, const struct pp_slot *slot, uintptr_t current)
{
    const struct pp_python_layout *layout = &python->layout;
    const void *runtime = (const void *)python->runtime;
    uintptr_t thread = 0;
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    if (pp_word(runtime, layout->runtime.head_interpreter) == pp_word(runtime, layout->runtime.main_interpreter) ||
        !pp_plausible(current))
        return false;
    uintptr_t loop = eval_loop(layout, current);
    if (loop)
        return on_thread_stack(slot, loop);
    return pp_safe_read(pid, &thread, current + layout->thread_state.thread_id, sizeof thread) &&
           thread == pp_pthread_of(slot->thread.thread_pointer);
}

/* Returns the memory to read a thread state's fields from, NULL if there is none at the address. Another thread may
 * delete a detached state (in embedding programs), and 3.8 frees a thread's own before detaching and unbinding it. So
 * the fields are copied, unless the state is a part of the interpreter, or attached by a TLS word (3.12 and later).
 * async-signal-safe. */
static const void *thread_state_memory(const struct pp_python *python, struct pp_slot *slot, uintptr_t address,
                                       bool attached)
{
    bool inside = address >= python->module_start && address < python->module_end;
    void *memory = (void *)address;
    if (!pp_plausible(address))
        return NULL;
    if (!inside && !(attached && python->attached.kind != PP_TLS_NONE)) {
        int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
        memory = slot->scratch->thread_state;
        if (!pp_safe_read(pid, memory, address, python->layout.thread_state.copy_size))
            return NULL;
    }
    atomic_store_explicit(&slot->thread.ran_python, 1, memory_order_relaxed);
    return memory;
}

/* Finds the thread state that this thread runs with, and whether it is attached, so that the thread may touch Python
 * objects (in GIL builds: it holds the GIL). *mine: the state is this thread's, whichever thread created it.
 * async-signal-safe. */
static uintptr_t running_state(const struct pp_python *python, struct pp_slot *slot, struct pp_thread_state *state,
                               bool *mine)
{
    const struct pp_python_layout *layout = &python->layout;
    state->attached = state->uncertain = *mine = false;
    if (layout->runtime.current) {
        uintptr_t bound = pp_tls_read(&python->bound, slot->thread.thread_pointer);
        uintptr_t current = pp_word((const void *)python->runtime, python->layout.runtime.current);
        *mine = current != 0 && current != bound && current_is_mine(python, slot, current);
        state->attached = *mine || (current != 0 && current == bound);
        if (state->attached)
            return current;
        /* the GIL is released for a while, as by zlib */
        *mine =
            slot->thread.lent_thread_state && on_thread_stack(slot, eval_loop(layout, slot->thread.lent_thread_state));
        return *mine ? slot->thread.lent_thread_state : bound;
    }
    bool certain;
    uintptr_t current = pp_tls_read_in_block(&python->attached, slot->thread.thread_pointer, pp_outside_loader(slot),
                                             &slot->thread.interpreter_block, &certain);
    state->attached = *mine = current && certain;
    state->uncertain = current && !certain;
    if (current)
        return current;
    /* a TLS word still points to the thread state after Py_Finalize has freed it */
    if (layout->runtime.initialized && !pp_u32((const void *)python->runtime, layout->runtime.initialized))
        return 0;
    return pp_tls_read(&python->bound, slot->thread.thread_pointer);
}

PP_RARE bool pp_thread_state_has_frames(const struct pp_python_layout *layout, const void *memory, uintptr_t address)
{
    uintptr_t top = pp_word(memory, layout->thread_state.top);
    if (layout->thread_state.root_cframe)
        return top != address + layout->thread_state.root_cframe;
    return top && (!layout->thread_state.base_frame || top != pp_word(memory, layout->thread_state.base_frame));
}

/* Whether the thread runs Python code of that interpreter. async-signal-safe. */
PP_RARE static bool has_frames(const struct pp_python *python, struct pp_slot *slot, uintptr_t address, bool attached)
{
    const void *memory = thread_state_memory(python, slot, address, attached);
    return memory && pp_thread_state_has_frames(&python->layout, memory, address);
}

/* Checks whether this thread collects garbage: a collection is run by the holder of the GIL. async-signal-safe. */
static void check_collector(const struct pp_python *python, struct pp_thread_state *found)
{
    const struct pp_python_layout *layout = &python->layout;
    uintptr_t interpreter = pp_word(found->memory, layout->thread_state.interp);
    uint32_t collecting = 0;
    if (layout->interpreter.collecting)
        collecting = pp_u32((const void *)interpreter, layout->interpreter.collecting);
    else if (layout->runtime.collecting)
        collecting = pp_u32((const void *)python->runtime, layout->runtime.collecting);
    if (collecting != 1)
        return;
    if (layout->interpreter.collecting_frame)
        found->collecting_frame = pp_word((const void *)interpreter, layout->interpreter.collecting_frame);
    if (!found->collecting_frame)
        found->state |= PP_STATE_GC;
}

/* Checks that the state can be used and sets found->memory. *mine: whether it is known to be this thread's; updated,
 * since it may have been freed and be another thread's now. async-signal-safe. */
static enum pp_reason check_state(struct pp_slot *slot, struct pp_thread_state *found, bool *mine)
{
    const struct pp_python *python = found->python;
    const struct pp_python_layout *layout = &python->layout;
    /* daemon threads keep their binding after their thread state was freed */
    uintptr_t finalizing = pp_word((const void *)python->runtime, layout->runtime.finalizing);
    if (finalizing && finalizing != found->address)
        return PP_REASON_PYTHON_FINALIZING;
    found->memory = thread_state_memory(python, slot, found->address, found->attached);
    if (!found->memory) { /* a detached state was deleted */
        *mine = false;
        return found->attached || found->uncertain ? PP_REASON_PYTHON_TORN : PP_REASON_NONE;
    }
    uintptr_t creator = pp_word(found->memory, layout->thread_state.thread_id);
    if (*mine && creator != pp_pthread_of(slot->thread.thread_pointer)) {
        slot->thread.lent_thread_state = found->address;
        slot->thread.lent_by = creator;
    }
    *mine = *mine || creator == pp_pthread_of(slot->thread.thread_pointer) ||
            (found->address == slot->thread.lent_thread_state && creator == slot->thread.lent_by);
    /* not this thread's: it was deleted, and its memory reused */
    return !*mine || pp_plausible(pp_word(found->memory, layout->thread_state.interp)) ? PP_REASON_NONE
                                                                                       : PP_REASON_PYTHON_TORN;
}

/* Returns what can be known of an interpreter's threads at all. async-signal-safe. */
static uint32_t knowable_bits(const struct pp_python *python)
{
    const struct pp_python_layout *layout = &python->layout;
    if (layout->free_threaded || (!layout->runtime.current && python->attached.kind == PP_TLS_NONE))
        return 0;
    bool collector = layout->interpreter.collecting || layout->runtime.collecting;
    return PP_STATE_GIL_KNOWN | (collector ? PP_STATE_GC_KNOWN : 0);
}

/* Ranks several interpreters on one thread: frames count most, then being attached. async-signal-safe. */
static unsigned preference(const struct pp_python *python, struct pp_slot *slot, uintptr_t address, bool attached)
{
    if (!pp_python_at(1))
        return 1;
    return 1 + 2 * has_frames(python, slot, address, attached) + attached;
}

enum pp_reason pp_thread_state_find(struct pp_slot *slot, struct pp_thread_state *found)
{
    const struct pp_python *python;
    uint32_t known = PP_STATE_GIL_KNOWN | PP_STATE_GC_KNOWN;
    unsigned best = 0;
    bool found_mine = false;
    *found = (struct pp_thread_state){.python = NULL};
    for (unsigned i = 0; (python = pp_python_at(i)) != NULL; i++) {
        struct pp_thread_state state = {.python = python};
        bool mine;
        state.address = running_state(python, slot, &state, &mine);
        known &= knowable_bits(python);
        unsigned rank = state.address ? preference(python, slot, state.address, state.attached) : 0;
        if (rank == 0 || rank < best)
            continue;
        best = rank;
        *found = state;
        found_mine = mine;
    }
    if (!pp_python_at(0))
        return PP_REASON_NONE;
    if (!found->python) {
        found->state = known; /* a thread without a thread state neither holds the GIL nor collects */
        return PP_REASON_NONE;
    }
    enum pp_reason reason = check_state(slot, found, &found_mine);
    if (reason != PP_REASON_NONE || !found_mine) {
        found->python = NULL;
        return reason;
    }
    found->state = knowable_bits(found->python);
    if ((found->attached || found->uncertain) && found->state & PP_STATE_GIL_KNOWN)
        found->state |= PP_STATE_HOLDS_GIL;
    if (found->uncertain)
        found->state &= ~PP_STATE_GC_KNOWN;
    if (found->attached && found->state & PP_STATE_GC_KNOWN)
        check_collector(found->python, found);
    return PP_REASON_NONE;
}
