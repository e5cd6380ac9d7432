/* SPDX-License-Identifier: Apache-2.0 */
#include "asyncio.h"
#include "../capture/safe_read.h"
#include "names.h"
#include "recall.h"

#define RUNNING_LOOP "__asyncio_running_event_loop__" /* in the dict of a thread state, 3.8 to 3.12 */

bool pp_asyncio_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_asyncio_facts *facts,
                     const char **why)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t module = modules[PP_MODULE_ASYNCIO], size;
    if (pp_name_find(reader, modules[PP_MODULE_ASYNCIO_TASKS], "_PyTask", &facts->python_task_type) &&
        !pp_object_word(reader, facts->python_task_type + reader->python->layout.type.tp_base,
                        &facts->python_future_type))
        facts->python_task_type = 0;
    *why = "_asyncio.Task is not of the size that it has in this version of CPython";
    if (!pp_name_find(reader, module, "Task", &facts->task_type) ||
        !pp_object_word(reader, facts->task_type + layout->type.tp_basicsize, &size) || size != layout->task.size)
        return false;
    *why = "_asyncio has no _current_tasks";
    return layout->thread_state.running_task || pp_name_find(reader, module, PP_ASYNCIO_TASKS, &facts->running_tasks);
}

/* Whether the dict of running tasks is in the dict of its module, and that in sys.modules. async-signal-safe. */
static bool is_held(const struct pp_context_reader *reader)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_asyncio_facts *facts = &reader->facts->asyncio;
    uintptr_t modules, module, type, dict, tasks;
    return pp_object_word(objects, reader->facts->interpreter_state + objects->python->layout.interpreter.modules,
                          &modules) &&
           modules && modules == facts->holder.modules &&
           pp_dict_get_hashed(objects, modules, &facts->holder.module_key, &module) && module == facts->holder.module &&
           pp_object_type(objects, module, &type) && type == facts->holder.module_type &&
           pp_object_word(objects, module + objects->python->layout.object.md_dict, &dict) &&
           dict == facts->holder.dict && pp_dict_get_hashed(objects, dict, &facts->holder.tasks_key, &tasks) &&
           tasks == facts->running_tasks;
}

/* Reads the event loop that the thread runs. async-signal-safe. */
static bool read_loop(const struct pp_context_reader *reader, uintptr_t *loop)
{
    const struct pp_python_layout *layout = &reader->objects.python->layout;
    uintptr_t dict, holder;
    uint32_t pid;
    if (layout->thread_state.running_loop)
        return pp_object_word(&reader->objects, reader->state->address + layout->thread_state.running_loop, loop);
    if (!reader->objects.direct) /* the state has been copied */
        dict = pp_word(reader->state->memory, layout->thread_state.dict);
    else if (!pp_object_word(&reader->objects, reader->state->address + layout->thread_state.dict, &dict))
        return false;
    *loop = 0;
    if (!dict || !pp_dict_get_named(&reader->objects, dict, RUNNING_LOOP, &reader->slot->thread.loop_attribute, loop) ||
        !layout->asyncio.rl_loop)
        return true;
    holder = *loop;
    if (!pp_object_word(&reader->objects, holder + layout->asyncio.rl_loop, loop) ||
        !pp_object_copy(&reader->objects, &pid, holder + layout->asyncio.rl_pid, sizeof pid))
        return false;
    /* the child of fork has its parent's */
    *loop = pid == (uint32_t)reader->objects.pid ? *loop : 0;
    return true;
}

/* async-signal-safe. */
static bool read_task(const struct pp_context_reader *reader, uintptr_t *task)
{
    uintptr_t loop;
    *task = 0;
    if (!read_loop(reader, &loop))
        return false;
    if (!loop)
        return true;
    struct pp_object_reader careful = reader->objects;
    const struct pp_dict_key key = pp_dict_key_object(loop);
    careful.direct = careful.direct && is_held(reader); /* the dict of a module that was removed is freed */
    pp_dict_get_hashed(&careful, reader->facts->asyncio.running_tasks, &key, task);
    return true;
}

bool pp_asyncio_task(const struct pp_context_reader *reader, uintptr_t *task)
{
    const struct pp_python_layout *layout = &reader->objects.python->layout;
    if (layout->thread_state.running_task)
        return pp_object_word(&reader->objects, reader->state->address + layout->thread_state.running_task, task);
    struct pp_recording recording;
    const uintptr_t key[] = {(uintptr_t)reader->facts, reader->state->address};
    const struct pp_recall *recall = pp_recall(reader, PP_RECALL_RUNNING, key, sizeof key / sizeof *key, &recording);
    if (recall) {
        *task = recall->task;
        return true;
    }
    bool read = read_task(&recording.reader, task);
    pp_recall_end(&recording, read, 0);
    if (recording.recall)
        recording.recall->task = *task;
    return read;
}

bool pp_asyncio_runs(const struct pp_context_reader *reader)
{
    uintptr_t loop;
    return reader->facts->asyncio.task_type && (!read_loop(reader, &loop) || loop);
}
