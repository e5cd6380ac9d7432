/* SPDX-License-Identifier: Apache-2.0 */
#include "coroutine.h"

bool pp_task_coroutine_read(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *coroutine)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_context_facts *facts = reader->facts;
    if (pp_object_is(objects, task, facts->asyncio.task_type))
        return pp_object_word(objects, task + objects->python->layout.task.coroutine, coroutine);
    if (pp_object_is(objects, task, facts->asyncio.python_task_type))
        return pp_attribute_read(objects, task, "_coro", &reader->slot->thread.learnt.task_coroutine, coroutine);
    return pp_member_read(objects, task, &facts->trio.coroutine, coroutine);
}

bool pp_is_coroutine(const struct pp_object_reader *reader, uintptr_t coroutine)
{
    uintptr_t type;
    return pp_object_type(reader, coroutine, &type) &&
           (type == reader->python->coroutine_type || type == reader->python->generator_type);
}

uintptr_t pp_task_frame(const struct pp_context_reader *reader, uintptr_t task)
{
    uintptr_t coroutine;
    return pp_task_coroutine_read(reader, task, &coroutine) ? pp_coroutine_frame(&reader->objects, coroutine) : 0;
}

uintptr_t pp_generator_frame(const struct pp_object_reader *reader, uintptr_t generator)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t frame;
    if (!layout->generator.object)
        return generator + layout->generator.frame;
    return pp_object_word(reader, generator + layout->generator.object, &frame) ? frame : 0;
}

uintptr_t pp_coroutine_frame(const struct pp_object_reader *reader, uintptr_t coroutine)
{
    return pp_is_coroutine(reader, coroutine) ? pp_generator_frame(reader, coroutine) : 0;
}

bool pp_task_is_over(const struct pp_context_reader *reader, uintptr_t task)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_python_layout *layout = &objects->python->layout;
    uintptr_t coroutine, frame;
    int8_t state;
    if (!pp_task_coroutine_read(reader, task, &coroutine))
        return false;
    if (!pp_is_coroutine(objects, coroutine))
        return !coroutine; /* a task that ended eagerly */
    if (layout->generator.object)
        return pp_object_word(objects, coroutine + layout->generator.object, &frame) && !frame;
    return pp_object_copy(objects, &state, coroutine + layout->generator.gi_frame_state, sizeof state) &&
           state >= layout->generator.frame_finished;
}
