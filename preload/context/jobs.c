/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"
#include "coroutine.h"
#include "suspended.h"
#include "walk_source.h"

struct found {
    struct pp_context job, test;
};

static struct pp_context *context_of(struct found *found, enum pp_context_kind kind)
{
    return kind == PP_CONTEXT_JOB ? &found->job : &found->test;
}

/* Reads what a frame runs. Of a frame that has just begun nothing is read. async-signal-safe. */
static void read_frame(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_role role,
                       struct pp_context *context)
{
    struct pp_context read = {.identity = 0};
    uintptr_t start;
    if (pp_source_start(reader, frame, role, &start) && pp_source_read(reader, role.second, start, &read) &&
        read.identity)
        *context = read;
}

/* async-signal-safe. */
static void read_stack(const struct pp_context_reader *reader, const struct pp_python_stack *stack, struct found *found)
{
    const struct pp_slot *slot = reader->slot;
    for (uint32_t i = 0; i < stack->frames; i++) {
        struct pp_frame_role role = pp_slot_role(slot, slot->scratch->resolved[i].entry);
        struct pp_context *context = context_of(found, pp_sources[role.second % pp_source_count].kind);
        if (role.rule == PP_FRAME_JOB && !context->identity)
            read_frame(reader, slot->scratch->python[i].address, role, context);
    }
}

/* Reads what a task runs that awaits the sample's. async-signal-safe. */
static void read_task(const struct pp_context_reader *reader, uintptr_t task, struct found *found)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_python_layout *layout = &objects->python->layout;
    struct found inner = {.job.identity = 0};
    uintptr_t code, frame = pp_task_frame(reader, task), next;
    for (unsigned i = 0; i < PP_MAX_SUSPENDED && frame && pp_suspended_step(reader, frame, &next); i++, frame = next) {
        if (!pp_object_word(objects, frame + layout->frame.code, &code))
            break;
        struct pp_frame_role role = pp_frame_role_read(objects, code & ~(uintptr_t)layout->code_tag);
        if (role.rule == PP_FRAME_JOB)
            read_frame(reader, frame, role, context_of(&inner, pp_sources[role.second].kind));
    }
    if (!found->job.identity)
        found->job = inner.job;
    if (!found->test.identity)
        found->test = inner.test;
}

/* Puts a context that is there, or the end of the last one. async-signal-safe. */
static bool put(const struct pp_context_reader *reader, enum pp_context_kind kind, const struct pp_context *context,
                uint32_t *known)
{
    return (!context->identity && !reader->slot->thread.contexts[kind]) || pp_context_put(reader, kind, context, known);
}

bool pp_jobs_put(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known)
{
    const struct pp_scratch *scratch = reader->slot->scratch;
    struct found found = {.job.identity = 0};
    if (atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed) & 1u << PP_FRAME_JOB) {
        read_stack(reader, stack, &found);
        for (uint32_t i = 0; i < scratch->awaiter_count && !(found.job.identity && found.test.identity); i++)
            read_task(reader, scratch->awaiters[i], &found);
    }
    return put(reader, PP_CONTEXT_JOB, &found.job, known) && put(reader, PP_CONTEXT_TEST, &found.test, known);
}
