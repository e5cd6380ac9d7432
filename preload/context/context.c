/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"
#include "../base/hash.h"
#include "../capture/safe_read.h"
#include "asyncio.h"
#include "awaiters.h"
#include "endpoint.h"
#include "greenlet.h"
#include "sources.h"
#include "tasks.h"
#include "thread_context.h"
#include "thread_name.h"

#define SERVING (1u << PP_FRAME_DJANGO | 1u << PP_FRAME_ROUTE | 1u << PP_FRAME_FASTAPI)

#define POOL_FRAMES 8 /* of a pool's thread, with which it comes to its work */

/* Puts a context into the ring unless it is the thread's last of its kind. The characters are compared too: what has
 * taken a freed object's address may have another name. async-signal-safe. */
static bool put(const struct pp_context_reader *reader, enum pp_context_kind kind, const struct pp_context *context,
                uint32_t *known)
{
    struct pp_slot *slot = reader->slot;
    uint8_t *characters = slot->scratch->context_text;
    const struct pp_record_text *text = &context->text.record;
    if (text->bytes && !pp_object_copy(&reader->objects, characters, context->text.data, text->bytes))
        return true;
    uint64_t digest = context->identity
                          ? pp_hash(characters, text->bytes) + context->identity + context->trace_id[0] + text->width
                          : 0;
    *known |= 1u << kind;
    if (digest == slot->thread.contexts[kind])
        return true;
    uint32_t size = ((uint32_t)sizeof(struct pp_record_context) + text->bytes + 7) & ~7u;
    struct pp_record_context *record = pp_ring_reserve(&slot->ring, size, PP_RECORD_CONTEXT);
    if (!record)
        return false;
    record->identity = context->identity;
    memcpy(record->trace_id, context->trace_id, sizeof record->trace_id);
    record->kind = kind;
    record->made_up = context->made_up;
    record->text = *text;
    memcpy(record + 1, characters, text->bytes);
    pp_ring_commit(&slot->ring, record);
    slot->thread.contexts[kind] = digest;
    return true;
}

static bool runs_greenlets(void)
{
    return atomic_load_explicit(&pp_capture.greenlet_start, memory_order_relaxed) != 0;
}

struct pp_context_reader pp_context_reader_of(const struct pp_thread_state *state, struct pp_slot *slot)
{
    const struct pp_context_facts *facts = atomic_load_explicit(&pp_capture.contexts, memory_order_acquire);
    uintptr_t interpreter_state = pp_word(state->memory, state->python->layout.thread_state.interp);
    atomic_store_explicit(&slot->thread.interpreter_state, interpreter_state, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.thread_state, state->address, memory_order_relaxed);
    atomic_store_explicit(&slot->thread.python, state->python, memory_order_release);
    if (facts && (facts->interpreter_state != interpreter_state || facts->python != state->python))
        facts = NULL;
    slot->scratch->copies.count = 0;
    return (struct pp_context_reader){
        .objects = {.python = state->python,
                    .pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed),
                    .plain = state->attached && !state->python->layout.free_threaded,
                    .copies = &slot->scratch->copies},
        .facts = facts,
        .state = state,
        .slot = slot,
    };
}

/* Puts a chain of tasks, each of which awaits the one before it, each of a kind of its own. async-signal-safe. */
static bool put_awaiters(const struct pp_context_reader *reader, uintptr_t task, uintptr_t awaiter, uint32_t *known)
{
    struct pp_scratch *scratch = reader->slot->scratch;
    for (unsigned count = 0; count < PP_MAX_AWAITERS; count++) {
        awaiter = awaiter == task ? 0 : awaiter;
        for (unsigned i = 0; i < count; i++)
            awaiter = scratch->awaiters[i] == awaiter ? 0 : awaiter; /* a circle: each waits for the other, for ever */
        struct pp_context context = {.identity = awaiter};
        if (awaiter)
            pp_task_name_read(reader, awaiter, &context.text);
        if (!put(reader, PP_CONTEXT_AWAITER + count, &context, known))
            return false;
        if (!awaiter)
            break;
        scratch->awaiters[count] = awaiter;
        scratch->awaiter_count = count + 1;
        awaiter = pp_awaiter_of(reader, awaiter);
    }
    return true;
}

/* async-signal-safe. */
static bool put_task(const struct pp_context_reader *reader, const struct pp_context *task, uint32_t *known)
{
    return put(reader, PP_CONTEXT_TASK, task, known) &&
           (!reader->state->attached ||
            put_awaiters(reader, task->identity, pp_awaiter_of(reader, task->identity), known));
}

/* Reads the task that the interpreter says it runs. async-signal-safe. */
static bool read_task(const struct pp_context_reader *reader, uint32_t *known, uintptr_t *task_frame)
{
    struct pp_context context = {.identity = 0};
    if (!reader->facts->asyncio.task_type || !pp_asyncio_read(reader, &context) || !context.identity)
        return true;
    reader->slot->scratch->task = context.identity;
    *task_frame = pp_task_frame(reader, context.identity);
    return put_task(reader, &context, known);
}

/* Reads the task that a frame runs, unless it is the interpreter's, or has that one within it. async-signal-safe. */
static bool read_frame_task(const struct pp_context_reader *reader, struct pp_python_stack *stack, uint32_t *known)
{
    uint32_t rules = atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed);
    uint32_t first, frames = stack->frames;
    if (!reader->facts || !(rules & (1u << PP_FRAME_STEP | 1u << PP_FRAME_TRIO)))
        return true;
    if (reader->slot->scratch->task)
        frames = stack->task_frame < frames ? stack->task_frame : 0;
    struct pp_context context = {.identity = pp_task_of_frames(reader, frames, &first)};
    if (!context.identity || !pp_task_name_read(reader, context.identity, &context.text))
        return true;
    stack->task_frame = first;
    return put_task(reader, &context, known);
}

/* Reads the innermost span. Where several libraries trace, OpenTelemetry's name is the one that others share.
 * async-signal-safe. */
static bool read_span(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *span)
{
    const struct pp_context_facts *facts = reader->facts;
    bool read = true;
    if (facts->opentelemetry.variable.address)
        read = pp_opentelemetry_read(reader, vars, span);
    if (read && !span->identity && facts->ddtrace.variable.address)
        read = pp_ddtrace_read(reader, vars, span);
    if (read && !span->identity && facts->sentry.variable.address)
        read = pp_sentry_read(reader, vars, span);
    if (read && !span->identity && facts->thread_context.word.kind)
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

/* Opens the context of the thread, if there may be spans. async-signal-safe. */
static bool open_vars(const struct pp_context_reader *reader, uintptr_t *vars)
{
    const struct pp_context_facts *facts = reader->facts;
    return facts && (facts->variables || facts->thread_context.word.kind) &&
           pp_context_vars_open(&reader->objects, reader->state->memory, &reader->slot->thread.context_checked, vars);
}

bool pp_contexts_selected(const struct pp_context_reader *reader)
{
    const struct pp_context_reader ids = {reader->objects, reader->facts, reader->state, reader->slot, true};
    struct pp_context span = {.identity = 0};
    uintptr_t vars;
    return open_vars(reader, &vars) && read_span(&ids, vars, &span) && is_selected(&span);
}

/* async-signal-safe. */
static bool put_span(const struct pp_context_reader *reader, const struct pp_context *span, uint32_t *known)
{
    if (!put(reader, PP_CONTEXT_SPAN, span, known))
        return false;
    if (pp_traces_kept() && *known & 1u << PP_CONTEXT_SPAN && is_selected(span))
        *known |= PP_SELECTED;
    return true;
}

/* Reads the program's own labels: those of the context, if it is open, else the thread's. async-signal-safe. */
static bool read_labels(const struct pp_context_reader *reader, bool open, uintptr_t vars, uint32_t *known)
{
    struct pp_context labels = {.identity = 0};
    bool read = open && reader->facts->labels.variable.address && pp_labels_read(reader, vars, &labels);
    if (!labels.identity)
        read |= pp_thread_labels_read(reader->slot, &labels);
    return !read || put(reader, PP_CONTEXT_LABELS, &labels, known);
}

/* Reads what is in context variables, and in the thread's own context. async-signal-safe. */
static bool read_variables(const struct pp_context_reader *reader, uint32_t *known)
{
    const struct pp_context_facts *facts = reader->facts;
    struct pp_context span = {.identity = 0}, endpoint = span;
    uintptr_t vars = 0;
    if (!open_vars(reader, &vars))
        return read_labels(reader, false, 0, known);
    if (read_span(reader, vars, &span) && !put_span(reader, &span, known))
        return false;
    if (facts->flask.variable.address && pp_flask_read(reader, vars, &endpoint) && endpoint.identity &&
        !put(reader, PP_CONTEXT_ENDPOINT, &endpoint, known))
        return false;
    return read_labels(reader, true, vars, known);
}

/* async-signal-safe. */
static bool read_greenlet(const struct pp_context_reader *reader, uint32_t *known)
{
    struct pp_context greenlet = {.identity = 0}, site = greenlet;
    if (!reader->facts->greenlet.type)
        return true;
    if (pp_greenlet_read(reader, &greenlet, &site) && !put(reader, PP_CONTEXT_GREENLET, &greenlet, known))
        return false;
    return !site.identity || put(reader, PP_CONTEXT_SPAWN, &site, known);
}

bool pp_contexts_read(const struct pp_context_reader *reader, uint32_t *known, uintptr_t *task_frame)
{
    *task_frame = 0;
    reader->slot->scratch->awaiter_count = 0;
    reader->slot->scratch->task = 0;
    if (!reader->facts)
        return read_labels(reader, false, 0, known);
    return read_task(reader, known, task_frame) && read_variables(reader, known) && read_greenlet(reader, known);
}

/* async-signal-safe. */
static struct pp_context_reader read_native(struct pp_slot *slot, struct pp_context *span)
{
    const struct pp_context_reader reader = {
        .objects = {.pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed), .plain = true},
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
    const struct pp_context_reader reader = read_native(slot, &span);
    return (!reader.facts || put_span(&reader, &span, known)) && read_labels(&reader, false, 0, known);
}

bool pp_contexts_selected_native(struct pp_slot *slot)
{
    struct pp_context span;
    read_native(slot, &span);
    return is_selected(&span);
}

/* Reads what request the frames serve, unless a context variable says it. async-signal-safe. */
static bool read_endpoint(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known)
{
    struct pp_context context = {.identity = 0};
    bool serving = atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed) & SERVING;
    bool may_end = reader->slot->thread.contexts[PP_CONTEXT_ENDPOINT] != 0;
    if (*known & 1u << PP_CONTEXT_ENDPOINT || (!serving && !may_end))
        return true;
    if (serving)
        pp_endpoint_read(reader, stack, &context);
    /* what a task has others do is for its endpoint */
    for (uint32_t i = 0; serving && !context.identity && i < reader->slot->scratch->awaiter_count; i++)
        pp_endpoint_read_task(reader, reader->slot->scratch->awaiters[i], &context);
    return put(reader, PP_CONTEXT_ENDPOINT, &context, known);
}

/* Reads which task awaits the work that a thread of a pool does. async-signal-safe. */
static bool read_work(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known)
{
    const struct pp_slot *slot = reader->slot;
    if (!reader->facts || !reader->facts->awaiters.partial_type)
        return true;
    for (uint32_t i = stack->frames; i-- > 0 && i + POOL_FRAMES >= stack->frames;) {
        struct pp_frame_says says = pp_slot_says(slot, slot->scratch->resolved[i].entry);
        if (says.rule != PP_FRAME_WORK && says.rule != PP_FRAME_WORKER)
            continue;
        uintptr_t task = pp_awaiter_of_frame(reader, slot->scratch->python[i].address, says);
        return !task || put_awaiters(reader, 0, task, known);
    }
    return true;
}

/* Reads the name of the threading.Thread. async-signal-safe. */
static bool read_thread(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                        struct pp_frame_says says, uint32_t *known)
{
    struct pp_slot *slot = reader->slot;
    struct pp_context context = {.identity = 0};
    bool is_thread = says.rule == PP_FRAME_THREAD;
    if (is_thread && !reader->state->attached && slot->thread.contexts[PP_CONTEXT_THREAD] && !runs_greenlets()) {
        *known |= 1u << PP_CONTEXT_THREAD; /* a thread has one such frame */
        return true;
    }
    if (is_thread &&
        !pp_thread_name_read(&reader->objects, stack->outermost, says.local, &slot->thread.name_attribute, &context))
        return true;
    return put(reader, PP_CONTEXT_THREAD, &context, known);
}

bool pp_contexts_read_frames(const struct pp_context_reader *reader, struct pp_python_stack *stack,
                             const struct pp_native_stack *native, uint32_t *known)
{
    const struct pp_slot *slot = reader->slot;
    struct pp_context greenlet = {.identity = 0};
    if (!read_frame_task(reader, stack, known))
        return false;
    if (!stack->frames || !stack->outermost)
        return read_endpoint(reader, stack, known);
    uint32_t entry = slot->scratch->resolved[stack->frames - 1].entry;
    struct pp_frame_says says = pp_slot_says(slot, entry);
    if (reader->facts && reader->facts->greenlet.type && !(*known & 1u << PP_CONTEXT_GREENLET) &&
        pp_greenlet_read_frame(reader, native, stack->outermost, says, &greenlet) &&
        !put(reader, PP_CONTEXT_GREENLET, &greenlet, known))
        return false;
    return (entry >= pp_slot_code_entries(slot) || read_thread(reader, stack, says, known)) &&
           (says.rule != PP_FRAME_THREAD || read_work(reader, stack, known)) && read_endpoint(reader, stack, known);
}
