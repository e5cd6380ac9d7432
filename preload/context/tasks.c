/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks.h"
#include "../capture/frame_rules.h"
#include "awaiters.h"
#include "coroutine.h"
#include "suspended.h"

#define DEFAULT_NAME "Task-" /* and a number: says nothing, and there is one for each task */

/* async-signal-safe. */
static bool read_name(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *name)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_context_facts *facts = reader->facts;
    if (pp_object_is(objects, task, facts->asyncio.task_type))
        return pp_object_word(objects, task + objects->python->layout.task.name, name);
    if (pp_object_is(objects, task, facts->asyncio.python_task_type))
        return pp_attribute_read(objects, task, "_name", &reader->slot->thread.learnt.task_name, name);
    return pp_member_read(objects, task, &facts->trio.name, name);
}

/* Whether the name is "Task-" and a number. async-signal-safe. */
static bool is_default(const struct pp_object_reader *reader, const struct pp_str *name)
{
    enum { PREFIX = sizeof DEFAULT_NAME - 1 };
    char start[PREFIX + 1];
    return name->record.width == 1 && name->record.bytes > PREFIX &&
           pp_object_copy(reader, start, name->data, sizeof start) && memcmp(start, DEFAULT_NAME, PREFIX) == 0 &&
           start[PREFIX] >= '0' && start[PREFIX] <= '9';
}

bool pp_task_name_read(const struct pp_context_reader *reader, uintptr_t task, struct pp_str *text)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t name, coroutine;
    if (!read_name(reader, task, &name) || !pp_task_coroutine_read(reader, task, &coroutine))
        return false;
    /* since 3.12 a default name is an int until it is asked for; 3.13.0 calls what a task factory has made None */
    if (pp_str_open(objects, name, PP_CONTEXT_TEXT_MAX, text) && !is_default(objects, text) &&
        !pp_str_is(objects, name, "None"))
        return true;
    if (pp_is_coroutine(objects, coroutine) &&
        pp_object_word(objects, coroutine + objects->python->layout.generator.qualname, &name) &&
        pp_str_open(objects, name, PP_CONTEXT_TEXT_MAX, text))
        return true;
    *text = (struct pp_str){0}; /* written as "?" */
    return true;
}

bool pp_task_context_read(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *py_context)
{
    const struct pp_object_reader *objects = &reader->objects;
    return pp_object_is(objects, task, reader->facts->asyncio.task_type) &&
           pp_object_word(objects, task + objects->python->layout.task.context, py_context);
}

uintptr_t pp_task_of_frames(const struct pp_context_reader *reader, uint32_t frames, uint32_t *first)
{
    const struct pp_slot *slot = reader->slot;
    const struct pp_python_frame *python = slot->scratch->python;
    *first = PP_NO_FRAME;
    for (uint32_t i = 0; i < frames; i++) {
        struct pp_frame_role role = pp_slot_role(slot, slot->scratch->resolved[i].entry);
        uintptr_t task;
        if (role.rule != PP_FRAME_STEP && role.rule != PP_FRAME_TRIO)
            continue;
        if (!pp_frame_local_read(&reader->objects, python[i].address, role.local, &task))
            return 0;
        uintptr_t frame = pp_task_frame(reader, task);
        if (i > 0 && frame && python[i - 1].address == frame)
            *first = i - 1;
        /* trio's loop keeps the last task in its local while none runs */
        bool runs =
            *first != PP_NO_FRAME || (role.rule == PP_FRAME_STEP &&
                                      pp_object_is(&reader->objects, task, reader->facts->asyncio.python_task_type));
        return runs ? task : 0;
    }
    return 0;
}

bool pp_awaiters_put(const struct pp_context_reader *reader, uintptr_t task, uintptr_t awaiter, uint32_t *known)
{
    struct pp_scratch *scratch = reader->slot->scratch;
    for (unsigned count = 0; count < PP_MAX_AWAITERS; count++) {
        awaiter = awaiter == task || (awaiter && pp_task_is_over(reader, awaiter)) ? 0 : awaiter;
        for (unsigned i = 0; i < count; i++)
            awaiter = scratch->awaiters[i] == awaiter ? 0 : awaiter; /* a circle: each waits for the other, for ever */
        struct pp_context context = {.identity = awaiter};
        if (awaiter) {
            pp_task_name_read(reader, awaiter, &context.text);
            if (!pp_suspended_read(reader, awaiter, &context))
                return false;
        }
        if (!pp_context_put(reader, PP_CONTEXT_AWAITER + count, &context, known))
            return false;
        if (!awaiter)
            break;
        scratch->awaiters[count] = awaiter;
        scratch->awaiter_count = count + 1;
        awaiter = pp_awaiter_of(reader, awaiter);
        if (awaiter && count + 1 == PP_MAX_AWAITERS)
            pp_context_lacks(reader, PP_REASON_CONTEXT_AWAITERS);
    }
    return true;
}

bool pp_task_put(const struct pp_context_reader *reader, const struct pp_context *task, uint32_t *known)
{
    return pp_context_put(reader, PP_CONTEXT_TASK, task, known) &&
           (!reader->state->attached ||
            pp_awaiters_put(reader, task->identity, pp_awaiter_of(reader, task->identity), known));
}
