/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"
#include "../capture/code_cache.h"
#include "asyncio.h"
#include "coroutine.h"
#include "greenlet.h"
#include "recall.h"
#include "suspended.h"
#include "tasks.h"
#include "variables.h"

/* Notes in which interpreter the thread is. Threads share these words: they are written when they change.
 * async-signal-safe. */
static void note_interpreter(bool is_known, const struct pp_python *python, uintptr_t interpreter_state)
{
    if (is_known && !atomic_load_explicit(&pp_capture.contexts_met, memory_order_relaxed))
        atomic_store_explicit(&pp_capture.contexts_met, 1, memory_order_relaxed);
    if (is_known ||
        atomic_load_explicit(&pp_capture.contexts_unread.interpreter_state, memory_order_relaxed) == interpreter_state)
        return;
    atomic_store_explicit(&pp_capture.contexts_unread.python, python, memory_order_relaxed);
    atomic_store_explicit(&pp_capture.contexts_unread.interpreter_state, interpreter_state, memory_order_relaxed);
}

struct pp_context_reader pp_context_reader_of(const struct pp_thread_state *state, struct pp_slot *slot)
{
    const struct pp_context_facts *facts = atomic_load_explicit(&pp_capture.contexts, memory_order_acquire);
    uintptr_t interpreter_state = pp_word(state->memory, state->python->layout.thread_state.interp);
    slot->scratch->context_reasons = 0;
    atomic_store_explicit(&slot->thread.interpreter_state, interpreter_state, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.thread_state, state->address, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.python, state->python, memory_order_release);
    if (facts) {
        bool is_known = facts->interpreter_state == interpreter_state && facts->python == state->python;
        note_interpreter(is_known, state->python, interpreter_state);
        if (!is_known)
            slot->scratch->context_reasons = 1u << (PP_REASON_CONTEXT_INTERPRETER - PP_REASON_FIRST_CONTEXT);
        facts = is_known ? facts : NULL;
    }
    bool direct = state->attached && !state->python->layout.free_threaded;
    slot->scratch->copies.count = 0;
    slot->scratch->copies.fetch_after = direct ? PP_FETCH_AFTER_MANY : PP_FETCH_AFTER;
    slot->scratch->copies.in_place = (uintptr_t)slot->scratch; /* texts are put together in there */
    slot->scratch->copies.in_place_bytes = sizeof *slot->scratch;
    return (struct pp_context_reader){
        .objects = {.python = state->python,
                    .pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed),
                    .direct = direct,
                    .copies = &slot->scratch->copies},
        .facts = facts,
        .state = state,
        .slot = slot,
    };
}

/* Reads the name of a running task and what awaits it. async-signal-safe. */
static bool read_running(const struct pp_context_reader *reader, uintptr_t task, uint32_t *known, uintptr_t *task_frame)
{
    struct pp_context context = {.identity = task};
    if (!pp_object_is(&reader->objects, task, reader->facts->asyncio.task_type) ||
        !pp_task_name_read(reader, task, &context.text)) {
        pp_context_lacks(reader, PP_REASON_CONTEXT_TASK);
        return true;
    }
    reader->slot->scratch->task = task;
    *task_frame = pp_task_frame(reader, task);
    pp_code_begin(reader->objects.python, reader->facts->interpreter_state, reader->slot);
    return pp_task_put(reader, &context, known);
}

/* Reads the task that the interpreter says it runs. async-signal-safe. */
static bool read_task(const struct pp_context_reader *reader, uint32_t *known, uintptr_t *task_frame)
{
    struct pp_scratch *scratch = reader->slot->scratch;
    struct pp_recording recording;
    uintptr_t task;
    uint32_t found = 0;
    if (!reader->facts->asyncio.task_type)
        return true;
    if (!pp_asyncio_task(reader, &task)) {
        pp_context_lacks(reader, PP_REASON_CONTEXT_TASK);
        return true;
    }
    if (!task)
        return true;
    const uintptr_t key[] = {(uintptr_t)reader->facts, task, pp_suspended_epoch(reader->slot)};
    const struct pp_recall *recall = pp_recall(reader, PP_RECALL_TASK, key, sizeof key / sizeof *key, &recording);
    if (recall) {
        *known |= recall->known;
        *task_frame = recall->task_frame;
        scratch->task = recall->task;
        scratch->awaiter_count = recall->awaiter_count;
        memcpy(scratch->awaiters, recall->awaiters, recall->awaiter_count * sizeof *recall->awaiters);
        return true;
    }
    bool read = read_running(&recording.reader, task, &found, task_frame);
    if (recording.recall) {
        recording.recall->task_frame = *task_frame;
        recording.recall->task = scratch->task;
        recording.recall->awaiter_count = scratch->awaiter_count;
        memcpy(recording.recall->awaiters, scratch->awaiters, scratch->awaiter_count * sizeof *scratch->awaiters);
    }
    pp_recall_end(&recording, read, found);
    *known |= found;
    return read;
}

/* async-signal-safe. */
static bool read_greenlet(const struct pp_context_reader *reader, uint32_t *known)
{
    struct pp_context greenlet = {.identity = 0}, site = greenlet;
    if (!reader->facts->greenlet.type)
        return true;
    if (pp_greenlet_read(reader, &greenlet, &site) && !pp_context_put(reader, PP_CONTEXT_GREENLET, &greenlet, known))
        return false;
    return !site.identity || pp_context_put(reader, PP_CONTEXT_SPAWN, &site, known);
}

bool pp_contexts_read(const struct pp_context_reader *reader, uint32_t *known, uintptr_t *task_frame)
{
    *task_frame = 0;
    reader->slot->scratch->awaiter_count = 0;
    reader->slot->scratch->task = 0;
    if (!reader->facts)
        return pp_variables_read_thread(reader, known);
    return read_task(reader, known, task_frame) && pp_variables_read(reader, known) && read_greenlet(reader, known);
}
