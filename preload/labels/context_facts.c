/* SPDX-License-Identifier: Apache-2.0 */
#include "context_facts.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../context/asyncio.h"
#include "../context/awaiters.h"
#include "../context/greenlet.h"
#include "../context/suspended.h"
#include "../context/thread_context.h"
#include "../context/trio.h"
#include "../modules/modules.h"
#include "context_interpreter.h"
#include "context_text.h"
#include "find_sources.h"
#include "python_modules.h"
#include "source_modules.h"
#include <string.h>

/* Published facts are never freed: handlers may read them. */
#define CHANGES_MAX 512u

/* Modules that were imported are searched again so often: names in them, and they themselves, may have other values. */
#define AGAIN_NS       (60 * (uint64_t)1000000000u)
#define AGAIN_EARLY_NS (5 * (uint64_t)1000000000u) /* while a source is not found: it may be made at its first use */
#define IMPORTS_NS     ((uint64_t)1000000000u)     /* while imports go on */
#define MIN_NS         50000000u /* between two searches; imports wake the flush thread for each part of new code */
/* A process is searched when it has become older by this part of its age: a search takes 60 us, a young
 * process is saved often, and what a handler needs at once is asked for. */
#define SEARCH_SHARE  16
#define SEARCH_MAX_NS 875000000u /* flushes are a second apart, some a little less */
#define YOUNG_NS      100000000u /* a process is not searched before, unless it meets a frame of a source */
/* An import takes its module out of sys.modules and puts it in again at the end when it is complete: so many of those
 * that were there may be at the end now, as imports are nested. */
#define IMPORTS_NESTED 64u

static struct pp_context_facts published[CHANGES_MAX];
static unsigned changes;

/* sys.modules as it was searched last, and what was found in it */
static struct {
    uintptr_t interpreter_state, dict, keys;
    uint64_t count, used;                 /* entries; those of modules */
    uintptr_t modules[PP_SOURCE_MODULES]; /* dicts; 0: not imported */
    bool again;                           /* a module that was found then may not have been complete */
    uint64_t at_ns, last_ns;              /* of the search of all modules, and of any; CLOCK_MONOTONIC */
} searched;

/* The thread context that a loaded module exports; searched for when modules were loaded or unloaded. */
static struct {
    bool changed;
    struct pp_tls_word word;
    char path[256];
} exported = {.changed = true};

/* Whether the interpreter is taking its modules apart. */
static bool is_finalizing(const struct pp_python *python)
{
    return pp_word((const void *)python->runtime, python->layout.runtime.finalizing) != 0;
}

/* Whether it is time to search all modules again: after imports have come to an end, or when the program says so, once
 * a second while they go on, and now and then. */
static bool is_due(uint64_t now_ns, bool changed, bool asked)
{
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    uint64_t wait_ns = known && known->unread ? AGAIN_EARLY_NS : AGAIN_NS;
    if (searched.again)
        wait_ns = changed ? IMPORTS_NS : 0;
    return (asked && (changed || searched.again)) || now_ns - searched.at_ns > wait_ns;
}

/* Whether so much time has passed since the last search that another is worth its cost. */
static bool may_have_imported(uint64_t now_ns)
{
    uint64_t age_ns = now_ns - pp_process.start.monotonic_ns, passed_ns = now_ns - searched.last_ns;
    return age_ns >= YOUNG_NS && passed_ns >= MIN_NS &&
           (passed_ns >= age_ns / SEARCH_SHARE || passed_ns >= SEARCH_MAX_NS);
}

/* Returns from which entry on sys.modules is searched. It grows at its end; where it has been moved, its entries have
 * closed up. */
static uint64_t search_from(uintptr_t keys, uint64_t count)
{
    if (keys == searched.keys && count >= searched.count)
        return searched.count;
    return searched.used > IMPORTS_NESTED ? searched.used - IMPORTS_NESTED : 0;
}

/* Searches what was imported since the last search, if anything was; where it is time for that, all modules. Returns
 * whether there may be more to find: not where a program has imported other modules than those that have sources. */
static bool search_modules(const struct pp_object_reader *reader, uintptr_t interpreter_state, bool asked)
{
    uintptr_t values;
    struct pp_dict_keys keys;
    uint64_t now_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    if (!asked && !may_have_imported(now_ns))
        return false;
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
    bool changed = address != searched.keys || keys.count != searched.count, whole = is_due(now_ns, changed, asked);
    uint64_t from = whole ? 0 : search_from(address, keys.count);
    uintptr_t before[PP_SOURCE_MODULES], used = 0;
    memcpy(before, searched.modules, sizeof before);
    if (whole)
        memset(searched.modules, 0, sizeof searched.modules);
    unsigned count;
    const char *const *names = pp_source_module_names(&count);
    bool met =
        (changed || whole) && pp_python_module_dicts(reader, searched.dict, from, names, count, searched.modules);
    if (whole)
        searched.at_ns = now_ns;
    searched.last_ns = now_ns;
    searched.keys = address;
    searched.count = keys.count;
    /* the first of a dict's fields */
    pp_object_word(reader, searched.dict + reader->python->layout.dict.ma_used, &used);
    searched.used = used;
    searched.again = changed;
    return whole || met || memcmp(before, searched.modules, sizeof before) != 0;
}

/* Finds the greenlet that a thread runs. */
static void find_greenlets(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_greenlet_facts *facts, const char **why)
{
    bool found = pp_greenlet_find(reader, modules, facts, why);
    if (found && !facts->current) {
        *why = "its extension's thread-local block is not as it is known";
        const struct pp_module *module = pp_module_find(facts->getter);
        found = module && module->tls_size == PP_GREENLET_TLS_SIZE;
        facts->tls_module = found ? module->tls_module : 0;
        if (!module)
            searched.at_ns = 0; /* it has just been loaded */
    }
    if (found)
        *why = NULL;
    else
        memset(facts, 0, sizeof *facts);
}

/* Finds the first of the modules that exports the thread context. */
static void find_export(struct pp_module *module, void *argument)
{
    (void)argument;
    if (exported.word.kind != PP_TLS_NONE || module->exports_no_context)
        return;
    if (pp_module_tls_word(module, PP_THREAD_CONTEXT_SYMBOL, &exported.word))
        pp_format(exported.path, sizeof exported.path, "%s", module->path);
    else
        module->exports_no_context = true;
}

/* Returns whether it may be elsewhere now: mostly no module exports it, before as after. */
static bool search_export(void)
{
    bool was_there = exported.word.kind != PP_TLS_NONE;
    if (!exported.changed)
        return false;
    memset(&exported, 0, sizeof exported);
    pp_modules_each(find_export, NULL);
    return was_there || exported.word.kind != PP_TLS_NONE;
}

static void find_thread_context(const struct pp_object_reader *reader, struct pp_thread_context_facts *facts)
{
    /* one by one: the padding is compared */
    facts->word.kind = exported.word.kind;
    facts->word.module = exported.word.module;
    facts->word.offset = exported.word.offset;
    if (facts->word.kind && strstr(exported.path, PP_DDTRACE_PATH))
        pp_thread_context_find(reader, searched.modules, facts);
}

static void publish(const struct pp_context_facts *facts)
{
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    if (known && memcmp(known, facts, sizeof *facts) == 0)
        return;
    if (changes == CHANGES_MAX) {
        pp_warn_once(PP_CAUSE_CONTEXTS,
                     "sources of tasks, spans and endpoints have changed %u times: later changes are not read",
                     CHANGES_MAX);
        return;
    }
    published[changes] = *facts;
    atomic_store_explicit(&pp_capture.contexts, &published[changes++], memory_order_release);
}

/* Finds an entry of a dict and its key's hash. */
static bool find_entry(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uintptr_t *value,
                       struct pp_dict_key *key)
{
    struct pp_python_entry entry = {0};
    bool found = pp_python_dict_find(reader, dict, &(struct pp_wanted){.name = name}, PP_NAMES_MAX, &entry);
    *value = entry.value;
    key->address = entry.key;
    /* after the length */
    return found &&
           pp_object_word(reader, entry.key + reader->python->layout.text.length + sizeof(uintptr_t), &key->hash);
}

/* Finds _asyncio in sys.modules: by its key where that was found before, as to search all names takes 1 ms. */
static bool find_extension(const struct pp_object_reader *reader, uintptr_t modules, struct pp_asyncio_facts *facts)
{
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    if (known && known->asyncio.holder.modules == modules &&
        pp_dict_get_hashed(reader, modules, &known->asyncio.holder.module_key, &facts->holder.module)) {
        facts->holder.module_key = known->asyncio.holder.module_key;
        return true;
    }
    return find_entry(reader, modules, "_asyncio", &facts->holder.module, &facts->holder.module_key);
}

/* Finds what keeps the dict of running tasks alive. */
static void find_holder(const struct pp_object_reader *reader, uintptr_t interpreter_state,
                        struct pp_asyncio_facts *facts)
{
    uintptr_t modules, tasks;
    uint16_t place = reader->python->layout.interpreter.modules;
    if (!facts->running_tasks || !pp_object_word(reader, interpreter_state + place, &modules) ||
        modules != searched.dict || !find_extension(reader, modules, facts) ||
        !pp_object_type(reader, facts->holder.module, &facts->holder.module_type) ||
        !find_entry(reader, searched.modules[PP_MODULE_ASYNCIO], PP_ASYNCIO_TASKS, &tasks, &facts->holder.tasks_key))
        return;
    facts->holder.dict = searched.modules[PP_MODULE_ASYNCIO];
    facts->holder.modules = modules;
}

/* Finds what is known of the interpreter's modules. */
static void find_sources(const struct pp_object_reader *reader, struct pp_context_facts *facts)
{
    const uintptr_t *modules = searched.modules;
    struct pp_context_reasons reasons = {.is_other_unread = pp_context_other_is_unread()};
    pp_sources_find(reader, modules, facts);
    pp_suspended_find(reader, modules, &facts->counted_steps);
    if (pp_asyncio_find(reader, modules, &facts->asyncio, &reasons.asyncio)) {
        reasons.asyncio = NULL;
        find_holder(reader, facts->interpreter_state, &facts->asyncio);
    } else {
        memset(&facts->asyncio, 0, sizeof facts->asyncio);
    }
    if (!facts->asyncio.task_type || !pp_awaiters_find(reader, modules, &facts->awaiters))
        memset(&facts->awaiters, 0, sizeof facts->awaiters);
    reasons.trio = "its tasks are not laid out as they are known";
    if (pp_trio_find(reader, modules, &facts->trio))
        reasons.trio = NULL;
    else
        memset(&facts->trio, 0, sizeof facts->trio);
    find_greenlets(reader, modules, &facts->greenlet, &reasons.greenlet);
    if (!facts->greenlet.gevent_type)
        reasons.gevent = "its class Greenlet is not as it is known";
    pp_context_text(reader, modules, exported.path, &reasons, facts);
}

void pp_context_facts_refresh(bool asked)
{
    static struct pp_object_copies copies;
    static struct pp_context_facts facts;
    struct pp_object_reader reader = {.pid = atomic_load(&pp_process.pid), .copies = &copies};
    copies.count = 0;
    copies.fetch_after = PP_FETCH_AFTER;
    uintptr_t interpreter_state = pp_context_interpreter(&reader.python);
    if (!reader.python || is_finalizing(reader.python))
        return;
    bool loaded = search_export(), changed = search_modules(&reader, interpreter_state, asked);
    bool unread = searched.interpreter_state && pp_context_other_search(interpreter_state);
    if (!loaded && !changed && !unread)
        return;
    memset(&facts, 0, sizeof facts); /* the padding too: it is compared */
    facts.python = reader.python;
    facts.interpreter_state = interpreter_state;
    find_thread_context(&reader, &facts.thread_context);
    find_sources(&reader, &facts);
    if (facts.text[0] || atomic_load(&pp_capture.contexts))
        publish(&facts);
}

void pp_context_facts_modules_changed(void)
{
    exported.changed = true;
}
