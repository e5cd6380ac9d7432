/* SPDX-License-Identifier: Apache-2.0 */
#include "variables.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "recall.h"
#include "tasks.h"
#include "thread_context.h"
#include "thread_labels.h"
#include "walk_source.h"

/* Returns whether the variable of a row was found. async-signal-safe. */
static bool has_row(const struct pp_context_reader *reader, unsigned number)
{
    return reader->facts->found >> number & 1;
}

/* Reads what the first of these rows says that says something. Returns false if a row could not be read before it.
 * async-signal-safe. */
static bool read_rows(const struct pp_context_reader *reader, uintptr_t vars, uint32_t rows, enum pp_reason unread,
                      struct pp_context *context)
{
    for (; rows && !context->identity; rows &= rows - 1)
        if (!pp_source_read_variable(reader, (unsigned)__builtin_ctz(rows), vars, context)) {
            pp_context_lacks(reader, unread);
            return false;
        }
    return true;
}

/* Reads the innermost span. async-signal-safe. */
static bool read_span(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *span)
{
    bool read = read_rows(reader, vars, reader->facts->spans, PP_REASON_CONTEXT_SPAN, span);
    if (read && !span->identity && reader->facts->thread_context.word.kind)
        pp_thread_context_read(reader, span);
    return read;
}

/* async-signal-safe. */
static bool is_selected(const struct pp_context *span)
{
    if (!(span->trace_id[0] | span->trace_id[1]))
        return false;
    return span->choice == PP_TRACE_BY_ID ? span->trace_id[0] <= pp_capture.traces_highest
                                          : span->choice == PP_TRACE_KEPT;
}

/* Returns whether something may be read by context variables. async-signal-safe. */
static bool may_have_variables(const struct pp_context_facts *facts)
{
    const uint32_t own = 1u << PP_SOURCE_SERVED | 1u << PP_SOURCE_LABELS;
    return facts && (facts->spans | facts->endpoints | (facts->found & own) || facts->thread_context.word.kind);
}

/* Opens the context of the thread. async-signal-safe. */
static bool open_vars(const struct pp_context_reader *reader, uintptr_t *vars)
{
    return pp_context_vars_open(&reader->objects, reader->state->memory, &reader->slot->thread.context_checked, vars);
}

/* Returns the address of the thread's context. async-signal-safe. */
static uintptr_t context_of(const struct pp_context_reader *reader)
{
    return pp_word(reader->state->memory, reader->objects.python->layout.thread_state.context);
}

/* async-signal-safe. */
static bool read_selected(const struct pp_context_reader *reader)
{
    struct pp_context span = {.identity = 0};
    uintptr_t vars;
    return open_vars(reader, &vars) && read_span(reader, vars, &span) && is_selected(&span);
}

bool pp_contexts_selected(const struct pp_context_reader *reader)
{
    if (!reader->facts || !(reader->facts->spans || reader->facts->thread_context.word.kind))
        return false;
    struct pp_recording recording;
    const uintptr_t key[] = {(uintptr_t)reader->facts, context_of(reader)};
    const struct pp_recall *recall = pp_recall(reader, PP_RECALL_TRACE, key, sizeof key / sizeof *key, &recording);
    if (recall)
        return recall->known != 0;
    recording.reader.trace_only = true;
    bool selected = read_selected(&recording.reader);
    pp_recall_end(&recording, true, selected ? PP_SELECTED : 0);
    return selected;
}

/* async-signal-safe. */
static bool put_span(const struct pp_context_reader *reader, const struct pp_context *span, uint32_t *known)
{
    if (!pp_context_put(reader, PP_CONTEXT_SPAN, span, known))
        return false;
    if (pp_traces_kept() && *known & 1u << PP_CONTEXT_SPAN && is_selected(span))
        *known |= PP_SELECTED;
    return true;
}

/* Reads the application's labels: those of the context, if it is open, else the thread's. async-signal-safe. */
static bool read_labels(const struct pp_context_reader *reader, bool open, uintptr_t vars, uint32_t *known)
{
    struct pp_context labels = {.identity = 0};
    bool read =
        open && has_row(reader, PP_SOURCE_LABELS) && pp_source_read_variable(reader, PP_SOURCE_LABELS, vars, &labels);
    if (!labels.identity)
        read |= pp_thread_labels_read(reader, &labels);
    return !read || pp_context_put(reader, PP_CONTEXT_LABELS, &labels, known);
}

/* Reads what is in the context. async-signal-safe. */
static bool read_context(const struct pp_context_reader *reader, uint32_t *known)
{
    struct pp_context span = {.identity = 0}, endpoint = span;
    uintptr_t vars = 0;
    if (!open_vars(reader, &vars)) {
        pp_context_lacks(reader, PP_REASON_CONTEXT_VARIABLES);
        return read_labels(reader, false, 0, known);
    }
    if (read_span(reader, vars, &span) && !put_span(reader, &span, known))
        return false;
    if (read_rows(reader, vars, reader->facts->endpoints, PP_REASON_CONTEXT_ENDPOINT, &endpoint) && endpoint.identity &&
        !pp_context_put(reader, PP_CONTEXT_ENDPOINT, &endpoint, known))
        return false;
    return read_labels(reader, true, vars, known);
}

void pp_variables_endpoint(const struct pp_context_reader *reader, struct pp_context *context)
{
    const struct pp_scratch *scratch = reader->slot->scratch;
    uintptr_t vars, of_task;
    if (!reader->facts || !has_row(reader, PP_SOURCE_SERVED))
        return;
    if (open_vars(reader, &vars))
        pp_source_read_variable(reader, PP_SOURCE_SERVED, vars, context);
    /* threads of an executor have no copy of the context of the request that they work for: the awaiting task has it */
    for (uint32_t i = 0; i < scratch->awaiter_count && !context->identity; i++)
        if (pp_task_context_read(reader, scratch->awaiters[i], &of_task) &&
            pp_context_vars_of(&reader->objects, of_task, &vars))
            pp_source_read_variable(reader, PP_SOURCE_SERVED, vars, context);
}

bool pp_variables_read_thread(const struct pp_context_reader *reader, uint32_t *known)
{
    return read_labels(reader, false, 0, known);
}

bool pp_variables_read(const struct pp_context_reader *reader, uint32_t *known)
{
    if (!may_have_variables(reader->facts))
        return pp_variables_read_thread(reader, known);
    struct pp_recording recording;
    uint32_t found = 0;
    const uintptr_t key[] = {(uintptr_t)reader->facts, context_of(reader)};
    const struct pp_recall *recall = pp_recall(reader, PP_RECALL_VARIABLES, key, sizeof key / sizeof *key, &recording);
    if (recall) {
        *known |= recall->known;
        return true;
    }
    bool read = read_context(&recording.reader, &found);
    pp_recall_end(&recording, read, found);
    *known |= found;
    return read;
}

/* async-signal-safe. */
static struct pp_context_reader read_native(struct pp_slot *slot, struct pp_context *span)
{
    const struct pp_context_reader reader = {
        .objects = {.pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed), .direct = true},
        .facts = atomic_load_explicit(&pp_capture.contexts, memory_order_acquire),
        .slot = slot,
    };
    *span = (struct pp_context){.identity = 0};
    if (reader.facts && reader.facts->thread_context.word.kind)
        pp_thread_context_read(&reader, span);
    return reader;
}

bool pp_contexts_read_native(struct pp_slot *slot, uint32_t *known)
{
    struct pp_context span;
    slot->scratch->context_reasons = 0;
    const struct pp_context_reader reader = read_native(slot, &span);
    return (!reader.facts || put_span(&reader, &span, known)) && read_labels(&reader, false, 0, known);
}

bool pp_contexts_selected_native(struct pp_slot *slot)
{
    struct pp_context span;
    read_native(slot, &span);
    return is_selected(&span);
}
