/* SPDX-License-Identifier: Apache-2.0 */
#include "asyncio.h"
#include "../capture/safe_read.h"
#include "values.h"

#define RUNNING_LOOP "__asyncio_running_event_loop__" /* in the dict of a thread state, 3.8 to 3.12 */
#define HOLDER_LOOP  16                               /* up to 3.11 what is there holds the loop, */
#define HOLDER_PID   24                               /* and the process in which it runs */
#define DEFAULT_NAME "Task-"                          /* and a number: says nothing, and there is one for each task */

bool pp_asyncio_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_asyncio_facts *facts)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t module = modules[PP_MODULE_ASYNCIO], size;
    if (!pp_name_find(reader, module, "Task", &facts->task_type) ||
        !pp_object_word(reader, facts->task_type + layout->object_type + sizeof size + PP_TYPE_BASIC_SIZE, &size) ||
        size != layout->task.size)
        return false;
    return layout->thread_state.running_task || pp_name_find(reader, module, "_current_tasks", &facts->running_tasks);
}

/* Reads the event loop that the thread runs (3.8 to 3.13). async-signal-safe. */
static bool read_loop(const struct pp_context_reader *reader, uintptr_t *loop)
{
    const struct pp_python_layout *layout = &reader->objects.python->layout;
    uintptr_t dict, words[2];
    if (layout->thread_state.running_loop)
        return pp_object_word(&reader->objects, reader->state->address + layout->thread_state.running_loop, loop);
    if (!pp_object_word(&reader->objects, reader->state->address + layout->thread_state.dict, &dict))
        return false;
    *loop = 0;
    if (!dict || !pp_dict_get_named(&reader->objects, dict, RUNNING_LOOP, &reader->slot->thread.loop_attribute, loop) ||
        layout->minor >= 12)
        return true;
    if (!pp_object_copy(&reader->objects, words, *loop + HOLDER_LOOP, sizeof words))
        return false;
    /* the child of fork has its parent's */
    *loop = pp_u32(words, HOLDER_PID - HOLDER_LOOP) == (uint32_t)reader->objects.pid ? words[0] : 0;
    return true;
}

/* async-signal-safe. */
static bool read_task(const struct pp_context_reader *reader, uintptr_t *task)
{
    const struct pp_python_layout *layout = &reader->objects.python->layout;
    uintptr_t loop;
    if (layout->thread_state.running_task)
        return pp_object_word(&reader->objects, reader->state->address + layout->thread_state.running_task, task);
    *task = 0;
    if (!read_loop(reader, &loop))
        return false;
    struct pp_object_reader careful = reader->objects;
    careful.plain = false; /* the dict of a module that was removed is freed */
    if (loop)
        pp_dict_get_object(&careful, reader->facts->asyncio.running_tasks, loop, task);
    return true;
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

/* async-signal-safe. */
static bool is_python_coroutine(const struct pp_object_reader *reader, uintptr_t coroutine)
{
    uintptr_t type;
    return pp_object_type(reader, coroutine, &type) &&
           (type == reader->python->coroutine_type || type == reader->python->generator_type);
}

bool pp_task_name_read(const struct pp_object_reader *reader, uintptr_t task, struct pp_str *text)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t name, coroutine;
    if (!pp_object_word(reader, task + layout->task.name, &name) ||
        !pp_object_word(reader, task + layout->task.coroutine, &coroutine))
        return false;
    /* since 3.12 a default name is an int until it is asked for */
    if (pp_str_open(reader, name, PP_CONTEXT_TEXT_MAX, text) && !is_default(reader, text))
        return true;
    if (is_python_coroutine(reader, coroutine) &&
        pp_object_word(reader, coroutine + layout->generator.qualname, &name) &&
        pp_str_open(reader, name, PP_CONTEXT_TEXT_MAX, text))
        return true;
    *text = (struct pp_str){0}; /* written as "?" */
    return true;
}

bool pp_asyncio_read(const struct pp_context_reader *reader, struct pp_context *context)
{
    uintptr_t task;
    if (!read_task(reader, &task))
        return false;
    if (!task || !pp_object_is(&reader->objects, task, reader->facts->asyncio.task_type))
        return true;
    context->identity = task;
    return pp_task_name_read(&reader->objects, task, &context->text);
}

uintptr_t pp_asyncio_frame(const struct pp_object_reader *reader, uintptr_t task)
{
    uintptr_t coroutine;
    return pp_object_word(reader, task + reader->python->layout.task.coroutine, &coroutine)
               ? pp_coroutine_frame(reader, coroutine)
               : 0;
}

uintptr_t pp_coroutine_frame(const struct pp_object_reader *reader, uintptr_t coroutine)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t frame;
    if (!is_python_coroutine(reader, coroutine))
        return 0;
    if (!layout->generator.object)
        return coroutine + layout->generator.frame;
    return pp_object_word(reader, coroutine + layout->generator.object, &frame) ? frame : 0;
}
