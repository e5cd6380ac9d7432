/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_rules.h"
#include <string.h>

#define NAME_MAX 64 /* longer names have no rule */
#define FILE_MAX 64 /* of the end of a path */

#define LOCALS_MAX 64 /* that are searched */

struct ascii {
    const char *characters;
    uint32_t length;
};
#define ASCII(text)                                                                                                    \
    {                                                                                                                  \
        text, sizeof text - 1                                                                                          \
    }

static const struct rule {
    enum pp_frame_rule rule;
    struct ascii qualname, name; /* before 3.11 code objects only have the name */
    struct ascii file;           /* what the path ends with, after a slash or from its beginning */
    const char *local, *second;  /* that it must have, and that it may have; NULL: none */
} rules[] = {
    {PP_FRAME_THREAD, ASCII("Thread._bootstrap"), ASCII("_bootstrap"), ASCII("threading.py"), "self", NULL},
    {PP_FRAME_LOOP, ASCII("Handle._run"), ASCII("_run"), ASCII("asyncio/events.py"), NULL, NULL},
    {PP_FRAME_LOOP, ASCII("Runner.run"), ASCII("run"), ASCII("asyncio/runners.py"), NULL, NULL},
    {PP_FRAME_STEP, ASCII("Task.__step"), ASCII("__step"), ASCII("asyncio/tasks.py"), "self", NULL},
    {PP_FRAME_STEP, ASCII("Task.__step_run_and_handle_result"), ASCII(""), ASCII("asyncio/tasks.py"), "self",
     NULL}, /* 3.12+ */
    {PP_FRAME_TRIO, ASCII("unrolled_run"), ASCII("unrolled_run"), ASCII("trio/_core/_run.py"), "task", NULL},
    {PP_FRAME_FROM_THREAD, ASCII("AsyncIOBackend.run_async_from_thread.<locals>.task_wrapper"), ASCII("task_wrapper"),
     ASCII("anyio/_backends/_asyncio.py"), "scope", NULL},
    {PP_FRAME_HUB, ASCII("Hub.run"), ASCII("run"), ASCII("gevent/hub.py"), NULL, NULL},
    {PP_FRAME_HUB, ASCII("BaseHub.run"), ASCII("run"), ASCII("eventlet/hubs/hub.py"), NULL, NULL},
    {PP_FRAME_HUB, ASCII("Hub.run"), ASCII("run"), ASCII("eventlet/hubs/asyncio.py"), NULL, NULL},
    {PP_FRAME_CALLS, ASCII("GreenThread.main"), ASCII("main"), ASCII("eventlet/greenthread.py"), "function", NULL},
    {PP_FRAME_CALLS, ASCII("GreenPool._spawn_n_impl"), ASCII("_spawn_n_impl"), ASCII("eventlet/greenpool.py"), "func",
     NULL},
    {PP_FRAME_REQUEST, ASCII("SyncWorker.handle_request"), ASCII("handle_request"), ASCII("gunicorn/workers/sync.py"),
     NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("ThreadWorker.handle_request"), ASCII("handle_request"),
     ASCII("gunicorn/workers/gthread.py"), NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("AsyncWorker.handle_request"), ASCII("handle_request"),
     ASCII("gunicorn/workers/base_async.py"), NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("BaseHandler.run"), ASCII("run"), ASCII("wsgiref/handlers.py"), NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("WSGIRequestHandler.run_wsgi"), ASCII("run_wsgi"), ASCII("werkzeug/serving.py"), NULL,
     NULL},
    {PP_FRAME_REQUEST, ASCII("WSGITask.execute"), ASCII("execute"), ASCII("waitress/task.py"), NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("ClosingIterator.__next__"), ASCII("__next__"), ASCII("werkzeug/wsgi.py"), NULL, NULL},
    {PP_FRAME_REQUEST, ASCII("Flask.__call__"), ASCII("__call__"), ASCII("flask/app.py"), NULL, NULL},
    {PP_FRAME_CYCLE, ASCII("RequestResponseCycle.run_asgi"), ASCII("run_asgi"),
     ASCII("uvicorn/protocols/http/h11_impl.py"), "self", NULL},
    {PP_FRAME_CYCLE, ASCII("RequestResponseCycle.run_asgi"), ASCII("run_asgi"),
     ASCII("uvicorn/protocols/http/httptools_impl.py"), "self", NULL},
    {PP_FRAME_SCOPE, ASCII("Starlette.__call__"), ASCII("__call__"), ASCII("starlette/applications.py"), "scope", NULL},
    {PP_FRAME_AIOHTTP, ASCII("RequestHandler._handle_request"), ASCII("_handle_request"),
     ASCII("aiohttp/web_protocol.py"), "request", NULL},
    {PP_FRAME_DJANGO, ASCII("WSGIHandler.__call__"), ASCII("__call__"), ASCII("django/core/handlers/wsgi.py"),
     "request", NULL},
    {PP_FRAME_DJANGO, ASCII("ASGIHandler.handle"), ASCII("handle"), ASCII("django/core/handlers/asgi.py"), "request",
     NULL},
    /* around each middleware, and the innermost handler */
    {PP_FRAME_DJANGO, ASCII("convert_exception_to_response.<locals>.inner"), ASCII("inner"),
     ASCII("django/core/handlers/exception.py"), "request", NULL},
    {PP_FRAME_FASTAPI, ASCII("APIRoute.handle"), ASCII("handle"), ASCII("fastapi/routing.py"), "self",
     "effective_context"},
    {PP_FRAME_ROUTE, ASCII("Route.handle"), ASCII("handle"), ASCII("starlette/routing.py"), "self", NULL},
    {PP_FRAME_MOUNT, ASCII("Mount.handle"), ASCII("handle"), ASCII("starlette/routing.py"), "self", NULL},
    {PP_FRAME_ROUTE, ASCII("WebSocketRoute.handle"), ASCII("handle"), ASCII("starlette/routing.py"), "self", NULL},
    {PP_FRAME_WORK, ASCII("_WorkItem.run"), ASCII("run"), ASCII("concurrent/futures/thread.py"), "self", NULL},
    {PP_FRAME_WORKER, ASCII("WorkerThread.run"), ASCII("run"), ASCII("anyio/_backends/_asyncio.py"), "future", NULL},
    {PP_FRAME_TRIO_WORKER, ASCII("to_thread_run_sync.<locals>.worker_fn"), ASCII("worker_fn"),
     ASCII("trio/_threads.py"), "task_register", NULL}, /* since trio 0.23 */
};

/* async-signal-safe. */
static bool ends_with(const struct pp_record_text *text, const uint8_t *characters, const struct ascii *end)
{
    return text->width == 1 && !text->cut && text->bytes >= end->length &&
           memcmp(characters + text->bytes - end->length, end->characters, end->length) == 0;
}

/* A function as its code object describes it. */
struct function {
    bool unqualified; /* its name is without the class and the function around it */
    struct pp_record_text name, file;
    const uint8_t *name_characters, *file_characters;
};

/* Returns the number of a code object's local variable with this ASCII name, PP_NO_LOCAL if it has none. One of the
 * function around it counts as its own, if it uses it: its value is the cell. async-signal-safe. */
static uint8_t find_local(const struct pp_object_reader *reader, uintptr_t code, const char *name)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    const unsigned tuples[] = {layout->code.local_names, layout->code.co_cellvars, layout->code.co_freevars};
    uintptr_t names, item;
    uint8_t number = 0;
    for (unsigned i = 0; name && i < (layout->code.co_cellvars ? 3 : 1); i++) {
        if (!pp_object_word(reader, code + tuples[i], &names))
            break;
        for (unsigned at = 0; number < LOCALS_MAX && pp_tuple_item(reader, names, at, &item); at++, number++)
            if (pp_str_is(reader, item, name))
                return number;
    }
    return PP_NO_LOCAL;
}

/* async-signal-safe. */
static bool is_named(const struct function *function, const struct rule *rule)
{
    const struct ascii *name = function->unqualified ? &rule->name : &rule->qualname;
    return function->name.bytes == name->length && ends_with(&function->name, function->name_characters, name);
}

/* async-signal-safe. */
static bool is_in(const struct function *function, const struct ascii *file)
{
    uint32_t before = function->file.bytes - file->length;
    return ends_with(&function->file, function->file_characters, file) &&
           (before == 0 || function->file_characters[before - 1] == '/');
}

/* async-signal-safe. */
static struct pp_frame_role role_of(const struct function *function, const struct pp_object_reader *reader,
                                    uintptr_t code)
{
    for (const struct rule *rule = rules; rule < rules + sizeof rules / sizeof *rules; rule++) {
        if (!is_named(function, rule) || !is_in(function, &rule->file))
            continue;
        uint8_t local = find_local(reader, code, rule->local);
        /* handle(self, scope, ...): context/endpoint.c reads what follows the route */
        bool has_scope = rule->rule >= PP_FRAME_ROUTE && rule->rule <= PP_FRAME_MOUNT;
        if (has_scope && find_local(reader, code, "scope") != local + 1)
            continue;
        if (!rule->local || local != PP_NO_LOCAL)
            return (struct pp_frame_role){(uint8_t)rule->rule, local, find_local(reader, code, rule->second)};
    }
    return (struct pp_frame_role){PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
}

struct pp_frame_role pp_frame_role_of(const struct pp_record_code *record, const struct pp_object_reader *reader,
                                      uintptr_t code)
{
    const uint8_t *qualname = (const uint8_t *)(record + 1);
    const struct function function = {reader->python->layout.code.unqualified, record->qualname, record->filename,
                                      qualname, qualname + record->qualname.bytes};
    return role_of(&function, reader, code);
}

/* The characters of a function's names. */
struct characters {
    uint8_t name[NAME_MAX], file[FILE_MAX];
};

/* Reads what may be no code object at all. async-signal-safe. */
static bool read_function(const struct pp_object_reader *reader, uintptr_t code, struct characters *characters,
                          struct function *function)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t type, object;
    struct pp_str name, file;
    if (!pp_object_type(reader, code, &type) || type != reader->python->code_type ||
        !pp_object_word(reader, code + layout->code.qualname, &object) ||
        !pp_str_open(reader, object, NAME_MAX, &name) || name.record.cut ||
        !pp_object_copy(reader, characters->name, name.data, name.record.bytes) ||
        !pp_object_word(reader, code + layout->code.filename, &object) ||
        !pp_str_open(reader, object, UINT32_MAX, &file))
        return false;
    /* the end of the path says it */
    uint32_t skipped = file.record.bytes > FILE_MAX ? file.record.bytes - FILE_MAX : 0;
    file.record.bytes -= skipped;
    *function =
        (struct function){layout->code.unqualified, name.record, file.record, characters->name, characters->file};
    return pp_object_copy(reader, characters->file, file.data + skipped, file.record.bytes);
}

struct pp_frame_role pp_frame_role_read(const struct pp_object_reader *reader, uintptr_t code)
{
    struct characters characters;
    struct function function;
    if (!read_function(reader, code, &characters, &function))
        return (struct pp_frame_role){PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
    return role_of(&function, reader, code);
}

/* Whether the function is in a directory that has the name of the file's first one. */
static bool is_in_package(const struct function *function, const struct ascii *file)
{
    uint32_t length = 1;
    while (file->characters[length - 1] != '/')
        length++;
    for (uint32_t at = 1; at + length <= function->file.bytes; at++)
        if (function->file_characters[at - 1] == '/' &&
            memcmp(function->file_characters + at, file->characters, length) == 0)
            return true;
    return false;
}

bool pp_frame_is_lost(const struct pp_object_reader *reader, uintptr_t code, const char *qualname, size_t length)
{
    struct characters characters;
    struct function function;
    const struct rule *rule = rules, *end = rules + sizeof rules / sizeof *rules;
    uint32_t flags;
    while (rule < end && (rule->qualname.length != length || memcmp(rule->qualname.characters, qualname, length) != 0))
        rule++;
    if (rule == end || !read_function(reader, code, &characters, &function) ||
        !pp_object_copy(reader, &flags, code + reader->python->layout.code.flags, sizeof flags))
        return false;
    struct pp_frame_role role = role_of(&function, reader, code);
    if (role.rule != PP_FRAME_ANY)
        return role.rule == rule->rule && rule->second && role.second == PP_NO_LOCAL;
    if (is_in(&function, &rule->file))
        return !(flags & PP_CO_NESTED) || is_named(&function, rule);
    return !function.unqualified && is_named(&function, rule) && is_in_package(&function, &rule->file);
}

bool pp_frame_local_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned number, uintptr_t *value)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    if (!pp_object_word(reader, frame + layout->frame.locals + number * sizeof *value, value))
        return false;
    *value &= ~(uintptr_t)layout->code_tag;
    return true;
}
