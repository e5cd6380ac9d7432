/* SPDX-License-Identifier: Apache-2.0 */
#include "context_facts.h"
#include "../base/message.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../context/asyncio.h"
#include "../context/awaiters.h"
#include "../context/greenlet.h"
#include "../context/sources.h"
#include "../context/trio.h"
#include "../modules/modules.h"
#include "python_modules.h"
#include <string.h>

/* Published facts are never freed: handlers may read them. */
#define CHANGES_MAX 512

static struct pp_context_facts published[CHANGES_MAX];
static unsigned changes;

/* sys.modules as it was searched last, and what was found in it */
static struct {
    uintptr_t interpreter_state, dict, keys;
    uint64_t count;
    uintptr_t modules[PP_SOURCE_MODULES]; /* dicts; 0: not imported */
    bool again;                           /* a module that was found then may not have been complete */
} searched;

static const char *const names[PP_SOURCE_MODULES] = {
    [PP_MODULE_ASYNCIO] = "_asyncio",
    [PP_MODULE_ASYNCIO_TASKS] = "asyncio.tasks",
    [PP_MODULE_TRIO] = "trio._core._run",
    [PP_MODULE_TYPES] = "types",
    [PP_MODULE_FUNCTOOLS] = "functools",
    [PP_MODULE_ANYIO] = "anyio._backends._asyncio",
    [PP_MODULE_OPENTELEMETRY] = "opentelemetry.context",
    [PP_MODULE_OPENTELEMETRY_SPAN] = "opentelemetry.trace.propagation",
    [PP_MODULE_OPENTELEMETRY_BAGGAGE] = "opentelemetry.baggage",
    [PP_MODULE_DDTRACE] = "ddtrace._trace.provider",
    [PP_MODULE_DDTRACE_SPAN] = "ddtrace._trace.span",
    [PP_MODULE_SENTRY] = "sentry_sdk.scope",
    [PP_MODULE_SENTRY_SPAN] = "sentry_sdk.tracing",
    [PP_MODULE_FLASK] = "flask.globals",
    [PP_MODULE_LABELS] = "libpyprof",
    [PP_MODULE_DJANGO] = "django.core.handlers.base",
    [PP_MODULE_STARLETTE] = "starlette.routing",
    [PP_MODULE_GREENLET] = "greenlet._greenlet",
    [PP_MODULE_OLD_GREENLET] = "greenlet",
    [PP_MODULE_GEVENT_GREENLET] = "gevent._gevent_cgreenlet",
    [PP_MODULE_GEVENT_HUB] = "gevent.hub",
};

/* Returns the state of an interpreter in which a thread was sampled last: the one that is known, as long as there is
 * such a thread. */
static uintptr_t find_interpreter(const struct pp_python **python)
{
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    uintptr_t found = 0;
    *python = NULL;
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        const struct pp_python *ran = atomic_load_explicit(&slot->thread.python, memory_order_acquire);
        uintptr_t state = atomic_load(&slot->thread.interpreter_state);
        bool is_known = known && ran == known->python && state == known->interpreter_state;
        if (!ran || (found && !is_known))
            continue;
        *python = ran;
        found = state;
        if (is_known)
            break;
    }
    return found;
}

/* Whether the interpreter is taking its modules apart. */
static bool is_finalizing(const struct pp_python *python)
{
    return pp_word((const void *)python->runtime, python->layout.runtime.finalizing) != 0;
}

/* Searches what was imported since the last search, if anything was. sys.modules grows at its end; where it has been
 * moved, it is searched from its beginning. Returns whether there may be more to find. */
static bool search_modules(const struct pp_object_reader *reader, uintptr_t interpreter_state)
{
    uintptr_t values;
    struct pp_dict_keys keys;
    if (searched.interpreter_state != interpreter_state) {
        memset(&searched, 0, sizeof searched);
        searched.interpreter_state = interpreter_state;
        searched.dict = pp_python_modules(reader, interpreter_state);
    }
    uintptr_t address = 0;
    if (!searched.dict || !pp_dict_open(reader, searched.dict, &address, &values) ||
        !pp_dict_keys_open(reader, address, &keys)) {
        searched.interpreter_state = 0;
        return false;
    }
    bool moved = address != searched.keys || keys.count < searched.count;
    bool changed = moved || keys.count != searched.count, again = searched.again;
    if (changed)
        pp_python_module_dicts(reader, searched.dict, moved ? 0 : searched.count, names, PP_SOURCE_MODULES,
                               searched.modules);
    searched.keys = address;
    searched.count = keys.count;
    searched.again = changed;
    return changed || again;
}

/* Finds what the modules that are there keep in context variables. */
static void find_variables(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_context_facts *facts)
{
    facts->variables |= pp_opentelemetry_find(reader, modules, &facts->opentelemetry);
    facts->variables |= pp_ddtrace_find(reader, modules, &facts->ddtrace);
    facts->variables |= pp_sentry_find(reader, modules, &facts->sentry);
    facts->variables |= pp_flask_find(reader, modules, &facts->flask);
    facts->variables |= pp_labels_find(reader, modules, &facts->labels);
}

/* Finds the greenlet that a thread runs. */
static void find_greenlets(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_greenlet_facts *facts)
{
    bool found = pp_greenlet_find(reader, modules, facts);
    if (found && !facts->current) {
        const struct pp_module *module = pp_module_find(facts->getter);
        found = module && module->tls_size == PP_GREENLET_TLS_SIZE;
        facts->tls_module = found ? module->tls_module : 0;
        if (!module)
            searched.keys = 0; /* it has just been loaded */
    }
    if (!found)
        memset(facts, 0, sizeof *facts);
}

/* Says which of the sources that the program has imported are read. */
static void describe(const uintptr_t *modules, struct pp_context_facts *facts)
{
    const struct {
        enum pp_source_module module;
        const char *name;
        bool found;
    } sources[] = {
        {PP_MODULE_ASYNCIO, facts->awaiters.partial_type ? "asyncio tasks and what awaits them" : "asyncio tasks",
         facts->asyncio.task_type != 0},
        {PP_MODULE_TRIO, "trio tasks", facts->trio.name.type != 0},
        {PP_MODULE_OLD_GREENLET, "greenlets", facts->greenlet.type != 0},
        {PP_MODULE_OPENTELEMETRY_SPAN, "OpenTelemetry spans", facts->opentelemetry.variable.address != 0},
        {PP_MODULE_DDTRACE, "ddtrace spans", facts->ddtrace.variable.address != 0},
        {PP_MODULE_SENTRY, "Sentry spans", facts->sentry.variable.address != 0},
        {PP_MODULE_FLASK, "Flask endpoints", facts->flask.variable.address != 0},
        {PP_MODULE_DJANGO, "Django endpoints", true},
        {PP_MODULE_STARLETTE, "Starlette endpoints", true},
        {PP_MODULE_LABELS, "the program's labels", facts->labels.variable.address != 0},
    };
    struct pp_text text;
    pp_text_init(&text, facts->text, sizeof facts->text);
    for (unsigned found = 1; found <= 1; found--)
        for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
            if (!modules[sources[i].module] || sources[i].found != found)
                continue;
            pp_text_add(&text, text.length ? ", " : "");
            pp_text_add(&text, found ? "" : "but not ");
            pp_text_add(&text, sources[i].name);
            pp_text_add(&text, found ? "" : " (of a version that this pyprof does not know)");
        }
}

static void publish(const struct pp_context_facts *facts)
{
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    if (changes == CHANGES_MAX || (known && memcmp(known, facts, sizeof *facts) == 0))
        return;
    published[changes] = *facts;
    atomic_store_explicit(&pp_capture.contexts, &published[changes++], memory_order_release);
}

void pp_context_facts_refresh(void)
{
    struct pp_context_facts facts;
    struct pp_object_reader reader = {.pid = atomic_load(&pp_process.pid)};
    memset(&facts, 0, sizeof facts); /* the padding too: it is compared */
    facts.interpreter_state = find_interpreter(&reader.python);
    facts.python = reader.python;
    if (!reader.python || is_finalizing(reader.python) || !search_modules(&reader, facts.interpreter_state))
        return;
    const uintptr_t *modules = searched.modules;
    find_variables(&reader, modules, &facts);
    if (!pp_asyncio_find(&reader, modules, &facts.asyncio))
        memset(&facts.asyncio, 0, sizeof facts.asyncio);
    if (!facts.asyncio.task_type || !pp_awaiters_find(&reader, modules, &facts.awaiters))
        memset(&facts.awaiters, 0, sizeof facts.awaiters);
    if (!pp_trio_find(&reader, modules, &facts.trio))
        memset(&facts.trio, 0, sizeof facts.trio);
    find_greenlets(&reader, modules, &facts.greenlet);
    describe(modules, &facts);
    if (facts.text[0])
        publish(&facts);
}
