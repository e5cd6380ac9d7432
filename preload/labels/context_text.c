/* SPDX-License-Identifier: Apache-2.0 */
#include "context_text.h"
#include "../base/message.h"
#include "frame_sources.h"
#include "source_modules.h"
#include <string.h>

#define CODE_SOURCES 6 /* those that no row describes */

struct source {
    bool imported;
    bool found;
    const char *name;
    const char *remark;  /* why it was not found, or what is to be known of it; NULL or empty: nothing */
    const char *version; /* "package:attribute" that tells it; NULL: none that is worth naming */
};

/* Adds " VERSION", if the package says it. */
static void add_version(const struct pp_object_reader *reader, const uintptr_t *modules, const struct source *source,
                        struct pp_text *text)
{
    char version[PP_NAME_MAX];
    uintptr_t package = source->version ? pp_source_module(modules, source->version) : 0, object;
    if (!package || !pp_name_find(reader, package, strchr(source->version, ':') + 1, &object) ||
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

/* Makes the source of a row; remark: room for it. */
static struct source source_of_row(const struct pp_object_reader *reader, const uintptr_t *modules,
                                   const struct pp_context_facts *facts, unsigned row, char *remark)
{
    const struct pp_source *known = &pp_sources[row];
    struct source source = {
        .imported = known->title && pp_source_module(modules, known->module),
        .found = facts->found >> row & 1,
        .name = known->title,
        .version = known->version,
    };
    if (known->variable)
        source.remark = source.found ? NULL : known->not_found;
    else if (source.imported) {
        bool functions = pp_frame_source_find(reader, modules, known, remark);
        source.remark = source.found ? remark : known->not_found ?: remark;
        source.found &= functions;
    }
    return source;
}

void pp_context_text(const struct pp_object_reader *reader, const uintptr_t *modules, const char *writer,
                     const struct pp_context_reasons *reasons, struct pp_context_facts *facts)
{
    char spans[PP_CONTEXT_SOURCES_TEXT], remarks[PP_SOURCES_MAX][PP_FRAME_SOURCE_REMARK];
    const char *file = strrchr(writer, '/');
    bool by_ddtrace = facts->thread_context.word.kind && strstr(writer, PP_DDTRACE_PATH);
    pp_format(spans, sizeof spans, "spans of %s", by_ddtrace ? "ddtrace" : file ? file + 1 : writer);
    struct source sources[CODE_SOURCES + PP_SOURCES_MAX] = {
        {modules[PP_MODULE_ASYNCIO], facts->asyncio.task_type,
         facts->awaiters.partial_type ? "asyncio tasks and what awaits them" : "asyncio tasks", reasons->asyncio, NULL},
        {modules[PP_MODULE_TRIO], facts->trio.name.type, "tasks of trio", reasons->trio, "trio:__version__"},
        {modules[PP_MODULE_OLD_GREENLET], facts->greenlet.type, "greenlets", reasons->greenlet, "greenlet:__version__"},
        {modules[PP_MODULE_GEVENT_GREENLET], facts->greenlet.gevent_type, "greenlets of gevent", reasons->gevent,
         "gevent:__version__"},
        {facts->thread_context.word.kind, true, spans, limit_of(facts), by_ddtrace ? "ddtrace:__version__" : NULL},
        {reasons->is_other_unread, false, "spans of another interpreter, its tasks, endpoints and labels",
         "those of one interpreter in a process are read", NULL},
    };
    for (unsigned i = 0; i < pp_source_count; i++) { /* the program's own last */
        unsigned row = (i + PP_SOURCE_OTHERS) % pp_source_count;
        sources[CODE_SOURCES + i] = source_of_row(reader, modules, facts, row, remarks[i]);
        if (by_ddtrace && strncmp(pp_sources[row].module, "ddtrace.", sizeof "ddtrace." - 1) == 0)
            sources[CODE_SOURCES + i].imported = false; /* it says its spans in the thread context */
    }
    struct pp_text text;
    pp_text_init(&text, facts->text, sizeof facts->text);
    add_sources(reader, modules, sources, CODE_SOURCES + pp_source_count, &text);
    facts->unread = false;
    for (unsigned i = 0; i < CODE_SOURCES + pp_source_count; i++)
        facts->unread |= sources[i].imported && !sources[i].found;
}
