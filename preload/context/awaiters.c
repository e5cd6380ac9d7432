/* SPDX-License-Identifier: Apache-2.0 */
#include "awaiters.h"
#include "../capture/frame_rules.h"
#include "../capture/safe_read.h"
#include "coroutine.h"
#include "names.h"
#include "trio.h"
#include "values.h"

#define BASES_MAX     7  /* from a class to those of tasks and futures */
#define CALLBACKS_MAX 4  /* callbacks of a future that are tried */
#define CELLS_MAX     8  /* variables of a callback that are tried */
#define DEPTH_MAX     3  /* futures between a task and its awaiter */
#define FUTURES_MAX   12 /* tried in all: some lead back to where they come from */

/* Finds a type of CPython's, by its own name too: a program may have put another one there. */
static bool find_type(const struct pp_object_reader *reader, uintptr_t dict, const char *name, const char *own,
                      uintptr_t *type)
{
    return pp_name_find(reader, dict, name, type) && pp_type_is_named(reader, *type, own);
}

bool pp_awaiters_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_awaiters_facts *facts)
{
    uintptr_t group, scope;
    if (pp_name_find(reader, modules[PP_MODULE_ANYIO], "TaskGroup", &group))
        pp_member_find(reader, group, "cancel_scope", &facts->cancel_scope);
    facts->anyio = pp_name_find(reader, modules[PP_MODULE_ANYIO], "CancelScope", &scope);
    if (facts->anyio)
        pp_member_find(reader, scope, "_host_task", &facts->host_task);
    return pp_name_find(reader, modules[PP_MODULE_ASYNCIO], "Future", &facts->future_type) &&
           find_type(reader, modules[PP_MODULE_TYPES], "FunctionType", "function", &facts->function_type) &&
           find_type(reader, modules[PP_MODULE_TYPES], "BuiltinFunctionType", "builtin_function_or_method",
                     &facts->builtin_type) &&
           find_type(reader, modules[PP_MODULE_TYPES], "MethodType", "method", &facts->method_type) &&
           find_type(reader, modules[PP_MODULE_FUNCTOOLS], "partial", "functools.partial", &facts->partial_type);
}

/* A search for the task that waits, through futures between it and the task. */
struct search {
    const struct pp_context_reader *reader;
    uintptr_t from; /* the task, which futures lead back to */
    unsigned futures;
    bool learnt; /* in which variable of a callback the way to the task begins */
};

/* Reads a field of an object by its offset. async-signal-safe. */
static uintptr_t field(const struct search *search, uintptr_t object, unsigned offset)
{
    uintptr_t value;
    const struct pp_object_reader *reader = &search->reader->objects;
    return pp_object_word(reader, object + offset, &value) ? value : 0;
}

/* What an object is: a task or a future, made of Python or in C, or something else. */
enum kind { OTHER, FUTURE, TASK, PYTHON_FUTURE, PYTHON_TASK };

/* A task's class is met before that of the futures, of which it is one. async-signal-safe. */
static enum kind kind_of(const struct pp_context_reader *reader, uintptr_t object)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_asyncio_facts *facts = &reader->facts->asyncio;
    uintptr_t type;
    bool read = pp_object_type(objects, object, &type);
    for (unsigned i = 0; i < BASES_MAX && read && pp_plausible(type); i++) {
        if (type == facts->task_type)
            return TASK;
        if (type == facts->python_task_type)
            return PYTHON_TASK;
        if (type == reader->facts->awaiters.future_type)
            return FUTURE;
        if (type == facts->python_future_type)
            return PYTHON_FUTURE;
        read = pp_object_word(objects, type + objects->python->layout.type.tp_base, &type);
    }
    return OTHER;
}

/* async-signal-safe. */
static bool is_task(const struct search *search, uintptr_t object)
{
    enum kind kind = object == search->from ? OTHER : kind_of(search->reader, object);
    return kind == TASK || kind == PYTHON_TASK;
}

/* Whether what is called is a Python function with this qualified name. async-signal-safe. */
static bool is_named(const struct search *search, uintptr_t function, const char *name)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    uintptr_t type, text;
    return pp_object_type(reader, function, &type) && type == search->reader->facts->awaiters.function_type &&
           pp_object_word(reader, function + reader->python->layout.function.qualname, &text) &&
           pp_str_is(reader, text, name);
}

/* Returns the task that has entered a scope of anyio. Which of anyio's classes have slots depends on its version.
 * async-signal-safe. */
static uintptr_t host_of_scope(const struct search *search, uintptr_t scope)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    const struct pp_awaiters_facts *facts = &search->reader->facts->awaiters;
    uintptr_t task;
    if (!(facts->host_task.type && pp_member_read(reader, scope, &facts->host_task, &task)) &&
        !pp_attribute_read(reader, scope, "_host_task", &search->reader->slot->thread.awaiters.host_task, &task))
        return 0;
    return is_task(search, task) ? task : 0;
}

/* Returns the task that has entered a group of anyio, by the group's scope. async-signal-safe. */
static uintptr_t host_of_group(const struct search *search, uintptr_t group)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    const struct pp_awaiters_facts *facts = &search->reader->facts->awaiters;
    struct pp_learnt_awaiters *learnt = &search->reader->slot->thread.awaiters;
    uintptr_t scope;
    if (!(facts->cancel_scope.type && pp_member_read(reader, group, &facts->cancel_scope, &scope)) &&
        !pp_attribute_read(reader, group, "cancel_scope", &learnt->cancel_scope, &scope))
        return 0;
    return host_of_scope(search, scope);
}

/* Returns the task whose thread waits for this task, by anyio: it awaits the thread as long as it is in the scope that
 * this task keeps. async-signal-safe. */
static uintptr_t awaiter_of_thread(const struct search *search, uintptr_t task)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    struct pp_object_reader unrecorded = *reader; /* names of functions do not change */
    uintptr_t code, scope, type,
        frame = search->reader->facts->awaiters.anyio ? pp_task_frame(search->reader, task) : 0;
    unrecorded.set = NULL;
    /* the locals of a coroutine that has returned are not its own any more, although its task has not ended yet */
    if (!frame || pp_task_is_over(search->reader, task) ||
        !pp_object_word(reader, frame + reader->python->layout.frame.code, &code))
        return 0;
    struct pp_frame_role role = pp_frame_role_read(&unrecorded, code & ~(uintptr_t)reader->python->layout.code_tag);
    if (role.rule != PP_FRAME_FROM_THREAD || !pp_frame_local_read(reader, frame, role.local, &scope) ||
        !pp_object_type(reader, scope, &type))
        return 0;
    /* an argument, in later versions a variable of the function around it */
    return host_of_scope(search, pp_type_is_pythons(reader, type, "cell")
                                     ? field(search, scope, reader->python->layout.object.ob_ref)
                                     : scope);
}

static uintptr_t awaiter_of_future(struct search *search, uintptr_t future, unsigned depth);

/* async-signal-safe. */
static uintptr_t awaiter_of_value(struct search *search, uintptr_t value, unsigned depth)
{
    enum kind kind = value == search->from ? OTHER : kind_of(search->reader, value);
    if (kind == TASK || kind == PYTHON_TASK)
        return value;
    return kind ? awaiter_of_future(search, value, depth + 1) : 0;
}

/* as_completed(): the task that waits for an item of the queue. The signal may have hit the thread while it changes the
 * deque of those that do. async-signal-safe. */
static uintptr_t awaiter_of_queue(struct search *search, uintptr_t queue, unsigned depth)
{
    struct pp_learnt_awaiters *learnt = &search->reader->slot->thread.awaiters;
    struct pp_context_reader careful = *search->reader;
    struct search copying = *search;
    const struct pp_python_layout *layout = &careful.objects.python->layout;
    uintptr_t getters, type, block, future;
    copying.reader = &careful;
    careful.objects.direct = false;
    if (!pp_attribute_read(&careful.objects, queue, "_getters", &learnt->getters, &getters) ||
        !pp_object_type(&careful.objects, getters, &type) ||
        !pp_type_is_named(&careful.objects, type, "collections.deque") || !field(&copying, getters, layout->ob_size) ||
        (block = field(&copying, getters, layout->object.leftblock)) == 0 ||
        !pp_object_word(&careful.objects,
                        block + layout->object.block_data +
                            field(&copying, getters, layout->object.leftindex) * sizeof future,
                        &future))
        return 0;
    uintptr_t task = awaiter_of_value(&copying, future, depth);
    search->futures = copying.futures;
    search->learnt = copying.learnt;
    return task;
}

/* The functions that asyncio and anyio put into a task; any other may know tasks that do not wait. 3.14 keeps what
 * awaits a task, but also what has called gather() and awaits something else. */
#define FUNCTION(name, variable)                                                                                       \
    {                                                                                                                  \
        name, sizeof name - 1, variable                                                                                \
    }
enum variable { OF_FUTURE, OF_QUEUE, OF_GROUP }; /* what leads to the task: of asyncio, as_completed(), anyio */
static const struct waiting_function {
    const char *name;
    uint32_t length;
    enum variable variable;
} waiting_functions[] = {
    FUNCTION("gather.<locals>._done_callback", OF_FUTURE),
    FUNCTION("_gather.<locals>._done_callback", OF_FUTURE), /* 3.9 */
    FUNCTION("_wait.<locals>._on_completion", OF_FUTURE),
    FUNCTION("shield.<locals>._inner_done_callback", OF_FUTURE),
    FUNCTION("_chain_future.<locals>._call_set_state", OF_FUTURE),
    FUNCTION("as_completed.<locals>._on_completion", OF_QUEUE),
    FUNCTION("TaskGroup._spawn.<locals>.task_done", OF_GROUP),
};
#define FUNCTION_NAME_MAX 48
_Static_assert(sizeof waiting_functions / sizeof *waiting_functions == PP_WAITING_FUNCTIONS, "what is learnt of each");

/* Returns which of these functions it is, NULL: none. The name is opened once. async-signal-safe. */
static const struct waiting_function *find_function(const struct pp_object_reader *reader, uintptr_t function)
{
    uint8_t characters[FUNCTION_NAME_MAX];
    struct pp_str text;
    uintptr_t name;
    if (!pp_object_word(reader, function + reader->python->layout.function.qualname, &name) ||
        !pp_str_open(reader, name, FUNCTION_NAME_MAX, &text) || text.record.width != 1 || text.record.cut ||
        !pp_object_copy(reader, characters, text.data, text.record.bytes))
        return NULL;
    for (unsigned i = 0; i < sizeof waiting_functions / sizeof *waiting_functions; i++)
        if (waiting_functions[i].length == text.record.bytes &&
            memcmp(waiting_functions[i].name, characters, text.record.bytes) == 0)
            return &waiting_functions[i];
    return NULL;
}

/* async-signal-safe. */
static uintptr_t awaiter_of_cell(struct search *search, const struct waiting_function *waiting, uintptr_t cell,
                                 unsigned depth)
{
    uintptr_t value = field(search, cell, search->reader->objects.python->layout.object.ob_ref);
    return waiting->variable == OF_GROUP   ? host_of_group(search, value)
           : waiting->variable == OF_QUEUE ? awaiter_of_queue(search, value, depth)
                                           : awaiter_of_value(search, value, depth);
}

/* Tries the variable first that led to a task last: what the others have may be of classes with many bases. Of a search
 * that goes through the function twice the inner one knows which it is. async-signal-safe. */
static uintptr_t awaiter_of_function(struct search *search, uintptr_t function, unsigned depth)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    const struct waiting_function *waiting = find_function(reader, function);
    uintptr_t closure, cell, found = 0;
    if (!waiting || !pp_object_word(reader, function + reader->python->layout.function.closure, &closure))
        return 0;
    uint8_t *learnt = &search->reader->slot->thread.awaiters.cells[waiting - waiting_functions];
    if (pp_tuple_item(reader, closure, *learnt, &cell))
        found = awaiter_of_cell(search, waiting, cell, depth);
    for (uint8_t i = 0; i < CELLS_MAX && !found && pp_tuple_item(reader, closure, i, &cell); i++) {
        found = i == *learnt ? 0 : awaiter_of_cell(search, waiting, cell, depth);
        if (found && !search->learnt) {
            search->learnt = true;
            *learnt = i;
        }
    }
    return found;
}

/* async-signal-safe. */
static uintptr_t awaiter_of_callback(struct search *search, uintptr_t callback, unsigned depth)
{
    const struct pp_object_reader *reader = &search->reader->objects;
    const struct pp_awaiters_facts *facts = &search->reader->facts->awaiters;
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t type, self, argument;
    if (!callback || !pp_object_type(reader, callback, &type))
        return 0;
    if (type == facts->function_type)
        return awaiter_of_function(search, callback, depth);
    if (type == facts->builtin_type) {
        uintptr_t definition = field(search, callback, layout->callable.m_ml), name;
        self = field(search, callback, layout->callable.m_self);
        return is_task(search, self) && pp_object_word(reader, definition, &name) &&
                       pp_c_string_is(reader, name, "task_wakeup") /* other methods do not say that it waits */
                   ? self
                   : 0;
    }
    if (type == facts->method_type) {
        uintptr_t function = field(search, callback, layout->callable.im_func);
        self = field(search, callback, layout->callable.im_self);
        if (is_task(search, self))
            return is_named(search, function, "Task.__wakeup") ? self : 0;
        if (is_named(search, function, "_AsCompletedIterator._handle_completion"))
            return pp_attribute_read(reader, self, "_done", &search->reader->slot->thread.awaiters.done, &self)
                       ? awaiter_of_queue(search, self, depth)
                       : 0;
        return is_named(search, function, "TaskGroup._on_task_done") &&
                       pp_attribute_read(reader, self, "_parent_task",
                                         &search->reader->slot->thread.awaiters.parent_task, &self) &&
                       is_task(search, self)
                   ? self
                   : 0;
    }
    if (type == facts->partial_type) /* wait_for, up to 3.11 */
        return is_named(search, field(search, callback, layout->callable.partial_fn), "_release_waiter") &&
                       pp_tuple_item(reader, field(search, callback, layout->callable.partial_args), 0, &argument)
                   ? awaiter_of_value(search, argument, depth)
                   : 0;
    if (!layout->asyncio.ww_task || pp_object_has_class(reader, callback, PP_CLASS_HEAP) ||
        !pp_type_is_named(reader, type, "TaskWakeupMethWrapper"))
        return 0;
    self = field(search, callback, layout->asyncio.ww_task);
    return is_task(search, self) ? self : 0;
}

/* Tries the further callbacks of a future or task. The signal may have hit the thread while it enlarges the list, whose
 * items are then freed. async-signal-safe. */
static uintptr_t awaiter_of_list(struct search *search, uintptr_t list, unsigned depth)
{
    struct pp_context_reader careful = *search->reader;
    struct search copying = *search;
    const struct pp_python_layout *layout = &careful.objects.python->layout;
    uintptr_t fields[2], item, callback, found = 0; /* ob_size, ob_item */
    careful.objects.direct = false;
    copying.reader = &careful;
    if (!pp_object_has_class(&careful.objects, list, PP_CLASS_LIST) ||
        !pp_object_copy(&careful.objects, fields, list + layout->ob_size, sizeof fields))
        return 0;
    for (unsigned i = 0; i < fields[0] && i < CALLBACKS_MAX && !found; i++)
        if (pp_object_word(&careful.objects, fields[1] + i * sizeof item, &item) &&
            pp_tuple_item(&careful.objects, item, 0, &callback))
            found = awaiter_of_callback(&copying, callback, depth);
    search->futures = copying.futures;
    search->learnt = copying.learnt;
    return found;
}

/* Tries the callbacks of a future or task. async-signal-safe. */
static uintptr_t awaiter_of_future(struct search *search, uintptr_t future, unsigned depth)
{
    if (depth > DEPTH_MAX || search->futures++ >= FUTURES_MAX)
        return 0;
    const struct pp_python_layout *layout = &search->reader->objects.python->layout;
    uintptr_t callbacks;
    if (kind_of(search->reader, future) >= PYTHON_FUTURE)
        return pp_attribute_read(&search->reader->objects, future, "_callbacks",
                                 &search->reader->slot->thread.awaiters.callbacks, &callbacks)
                   ? awaiter_of_list(search, callbacks, depth)
                   : 0;
    uintptr_t found = awaiter_of_callback(search, field(search, future, layout->asyncio.fut_callback0), depth);
    uintptr_t list = found ? 0 : field(search, future, layout->asyncio.fut_callbacks);
    return list ? awaiter_of_list(search, list, depth) : found;
}

uintptr_t pp_awaiter_of(const struct pp_context_reader *reader, uintptr_t task)
{
    struct search search = {.reader = reader, .from = task};
    if (pp_object_is(&reader->objects, task, reader->facts->trio.nursery.type))
        return pp_trio_parent(reader, task);
    if (!reader->facts->awaiters.partial_type)
        return 0;
    uintptr_t awaiter = awaiter_of_future(&search, task, 0);
    return awaiter ? awaiter : awaiter_of_thread(&search, task);
}

uintptr_t pp_awaiter_of_result(const struct pp_context_reader *reader, uintptr_t future)
{
    struct search search = {.reader = reader};
    return reader->facts && reader->facts->awaiters.partial_type && kind_of(reader, future)
               ? awaiter_of_future(&search, future, 0)
               : 0;
}

uintptr_t pp_awaiter_of_work(const struct pp_context_reader *reader, uintptr_t item)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_learnt_awaiters *learnt = &reader->slot->thread.awaiters;
    struct pp_context_reader careful = *reader;
    struct search copying = {.reader = &careful};
    uintptr_t future, list, callback;
    careful.objects.direct = false; /* as in awaiter_of_list: the work may be adding callbacks */
    if (!reader->facts || !reader->facts->awaiters.partial_type ||
        !pp_attribute_read(objects, item, "future", &learnt->work_future, &future) ||
        !pp_attribute_read(objects, future, "_done_callbacks", &learnt->done_callbacks, &list) ||
        !pp_list_first(&careful.objects, list, &callback))
        return 0;
    return awaiter_of_callback(&copying, callback, 0);
}
