/* SPDX-License-Identifier: Apache-2.0 */
#include "context_text.h"
#include "../base/message.h"
#include "frame_sources.h"
#include "python_modules.h"
#include <string.h>

struct source {
    bool imported;
    bool found;
    const char *name;
    const char *remark; /* why it was not found, or what is to be known of it; NULL or empty: nothing */
    enum pp_source_module package;
    const char *version; /* the attribute of the package that has it; NULL: it has none that is worth naming */
};

/* Adds " VERSION", if the package says it. */
static void add_version(const struct pp_object_reader *reader, const uintptr_t *modules, const struct source *source,
                        struct pp_text *text)
{
    char version[PP_NAME_MAX];
    uintptr_t object;
    if (!source->version || !modules[source->package] ||
        !pp_name_find(reader, modules[source->package], source->version, &object) ||
        !pp_name_read(reader, object, version))
        return;
    pp_text_add(text, " ");
    pp_text_add(text, version);
}

/* Says where a thread's context is not used. */
static const char *limit_of(const struct pp_context_facts *facts)
{
    bool tasks = (facts->asyncio.task_type || facts->trio.name.type) && !facts->thread_context.follows_tasks;
    bool greenlets = facts->greenlet.type && !facts->thread_context.follows_greenlets;
    return tasks && greenlets ? "thread context, but not in event loops and greenlets"
           : tasks            ? "thread context, but not in event loops"
           : greenlets        ? "thread context, but not in greenlets"
                              : "thread context";
}

static void add_source(const struct pp_object_reader *reader, const uintptr_t *modules, const struct source *source,
                       struct pp_text *text)
{
    pp_text_add(text, !source->found ? "; not " : text->length ? ", " : "");
    pp_text_add(text, source->name);
    add_version(reader, modules, source, text);
    if (!source->remark || !*source->remark)
        return;
    pp_text_add(text, " (");
    pp_text_add(text, source->remark);
    pp_text_add(text, ")");
}

static void add_sources(const struct pp_object_reader *reader, const uintptr_t *modules, const struct source *sources,
                        unsigned count, struct pp_text *text)
{
    for (unsigned found = 1; found <= 1; found--)
        for (unsigned i = 0; i < count; i++)
            if (sources[i].imported && sources[i].found == found)
                add_source(reader, modules, &sources[i], text);
}

void pp_context_text(const struct pp_object_reader *reader, const uintptr_t *modules, const char *writer,
                     const struct pp_context_reasons *reasons, struct pp_context_facts *facts)
{
    char spans[PP_CONTEXT_SOURCES_TEXT];
    const char *file = strrchr(writer, '/');
    bool by_ddtrace = facts->thread_context.word.kind && strstr(writer, PP_DDTRACE_PATH);
    pp_format(spans, sizeof spans, "spans of %s", by_ddtrace ? "ddtrace" : file ? file + 1 : writer);
    char django[PP_FRAME_SOURCE_REMARK], starlette[PP_FRAME_SOURCE_REMARK], aiohttp[PP_FRAME_SOURCE_REMARK];
    const struct source sources[] = {
        {modules[PP_MODULE_ASYNCIO], facts->asyncio.task_type,
         facts->awaiters.partial_type ? "asyncio tasks and what awaits them" : "asyncio tasks", reasons->asyncio, 0,
         NULL},
        {modules[PP_MODULE_TRIO], facts->trio.name.type, "tasks of trio", reasons->trio, PP_MODULE_TRIO_PACKAGE,
         "__version__"},
        {modules[PP_MODULE_OLD_GREENLET], facts->greenlet.type, "greenlets", reasons->greenlet, PP_MODULE_OLD_GREENLET,
         "__version__"},
        {modules[PP_MODULE_GEVENT_GREENLET], facts->greenlet.gevent_type, "greenlets of gevent", reasons->gevent,
         PP_MODULE_GEVENT, "__version__"},
        {modules[PP_MODULE_OPENTELEMETRY_SPAN], facts->opentelemetry.variable.address, "spans of OpenTelemetry",
         reasons->opentelemetry, PP_MODULE_OPENTELEMETRY_VERSION, "__version__"},
        {modules[PP_MODULE_DDTRACE] && !by_ddtrace, facts->ddtrace.variable.address, "spans of ddtrace",
         reasons->ddtrace, PP_MODULE_DDTRACE_PACKAGE, "__version__"},
        {facts->thread_context.word.kind, true, spans, limit_of(facts), PP_MODULE_DDTRACE_PACKAGE,
         by_ddtrace ? "__version__" : NULL},
        {modules[PP_MODULE_SENTRY], facts->sentry.variable.address, "spans of Sentry", reasons->sentry,
         PP_MODULE_SENTRY_PACKAGE, "VERSION"},
        {modules[PP_MODULE_FLASK], facts->flask.variable.address, "endpoints of Flask", reasons->flask,
         PP_MODULE_FLASK_PACKAGE, "__version__"},
        {modules[PP_MODULE_DJANGO], pp_frame_source_find(reader, modules, PP_MODULE_DJANGO, django),
         "endpoints of Django", django, PP_MODULE_DJANGO_PACKAGE, "__version__"},
        {modules[PP_MODULE_STARLETTE], pp_frame_source_find(reader, modules, PP_MODULE_STARLETTE, starlette),
         "endpoints of Starlette", starlette, PP_MODULE_STARLETTE_PACKAGE, "__version__"},
        {modules[PP_MODULE_AIOHTTP], pp_frame_source_find(reader, modules, PP_MODULE_AIOHTTP, aiohttp),
         "endpoints of aiohttp", aiohttp, PP_MODULE_AIOHTTP_PACKAGE, "__version__"},
        {modules[PP_MODULE_LABELS], facts->labels.variable.address, "the program's labels", reasons->labels, 0, NULL},
        {reasons->is_other_unread, false, "spans of another interpreter, its tasks, endpoints and labels",
         "those of one interpreter in a process are read", 0, NULL},
    };
    struct pp_text text;
    pp_text_init(&text, facts->text, sizeof facts->text);
    add_sources(reader, modules, sources, sizeof sources / sizeof *sources, &text);
    facts->unread = false;
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++)
        facts->unread |= sources[i].imported && !sources[i].found;
}
