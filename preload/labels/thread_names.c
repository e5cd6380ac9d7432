/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_names.h"
#include "../account/interval_data.h"
#include "../base/proc_file.h"
#include "../capture/capture.h"
#include "../merge/record_text.h"
#include "python_threads.h"
#include <string.h>

#define MAIN_NAME    "MainThread"
#define NAME_REFRESH 10 /* drains after which a thread's name is read again */

/* Where the name of a slot's thread comes from; a better source wins. */
enum source {
    SOURCE_KERNEL,
    SOURCE_LIST,    /* threading's list of threads */
    SOURCE_HANDLER, /* the thread's own stack */
};

static uint32_t string_of(const char *text)
{
    return pp_string_id(&pp_interval.tables, text, strlen(text));
}

/* Defines or renames the slot's thread in the log. */
static void define(struct pp_slot *slot, bool known, uint32_t name, enum source source)
{
    struct pp_slot_flush *flush = &slot->flush;
    flush->log_thread = pp_thread_id(&pp_interval.tables, known ? flush->log_thread : 0, atomic_load(&slot->tid), name,
                                     slot->thread.start_unix_ns, slot->thread.is_main ? PP_THREAD_MAIN : 0);
    flush->log_name = name;
    flush->name_source = source;
}

/* Whether the thread is named by its stack. The main thread, and the threads of a program with greenlets,
 * also run green threads. Later names are told apart from the first, in every segment. */
static bool is_named_by_stack(struct pp_slot *slot)
{
    struct pp_slot_flush *flush = &slot->flush;
    if (!flush->stack_name[0] && !slot->thread.is_main && !atomic_load(&pp_capture.greenlet_start))
        memcpy(flush->stack_name, flush->name, sizeof flush->name);
    return flush->stack_name[0];
}

/* The kernel's name of a thread (/proc/self/task/TID/comm), or the name that it had at its end. */
static uint32_t kernel_name(struct pp_slot *slot, bool ended)
{
    char name[16] = "";
    size_t n = 0;
    if (ended && slot->thread.final_name[0])
        return string_of(slot->thread.final_name);
    n = pp_read_task_file(atomic_load(&slot->tid), "comm", name, 15);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = 0;
    return *name ? string_of(name) : 0;
}

static uint32_t find_name(struct pp_slot *slot, bool ended, enum source *source)
{
    char name[PP_THREAD_NAME_MAX];
    *source = SOURCE_LIST;
    /* the threading module of a subinterpreter gives this name to the thread that imports it */
    bool listed = !ended && pp_python_thread_name(slot, name, sizeof name) &&
                  (slot->thread.is_main || strcmp(name, MAIN_NAME) != 0);
    if (listed)
        return string_of(name);
    if (slot->thread.is_main && atomic_load(&slot->thread.python))
        return string_of(MAIN_NAME);
    *source = SOURCE_KERNEL;
    return kernel_name(slot, ended);
}

/* Whether to read the name again that is not known by the stack. */
static bool is_stale(struct pp_slot *slot, bool ended)
{
    struct pp_slot_flush *flush = &slot->flush;
    if (flush->name_source == SOURCE_HANDLER)
        return false;
    bool python_came = slot->thread.is_main && flush->name_source == SOURCE_KERNEL && atomic_load(&slot->thread.python);
    return ended || python_came || flush->name_age++ >= NAME_REFRESH;
}

uint32_t pp_thread_of_slot(struct pp_slot *slot, bool ended)
{
    struct pp_slot_flush *flush = &slot->flush;
    bool known = flush->log_thread && flush->log_segment == pp_interval.tables.segment;
    if (!known) {
        flush->log_segment = pp_interval.tables.segment;
        flush->leaf_count = flush->log_named = 0;
        flush->log_name = 0;
        flush->name_source = SOURCE_KERNEL;
    }
    if (!known && is_named_by_stack(slot)) {
        define(slot, known, string_of(flush->stack_name), SOURCE_HANDLER);
    } else if (!known || is_stale(slot, ended)) {
        enum source source;
        uint32_t name = find_name(slot, ended, &source);
        flush->name_age = 0;
        if (!known || (name && name != flush->log_name && source >= flush->name_source))
            define(slot, known, name ? name : string_of(""), source);
    }
    bool several = flush->several_names;
    return flush->log_named && !several ? flush->log_named : flush->log_thread;
}

void pp_thread_record_name(struct pp_slot *slot, const struct pp_record_context *record)
{
    struct pp_slot_flush *flush = &slot->flush;
    size_t length = 0;
    if (record->identity)
        length = pp_record_text_utf8(flush->name, sizeof flush->name - 1, &record->text, (const uint8_t *)(record + 1));
    flush->name[length] = 0;
    /* a sample without a name may be any of theirs */
    flush->several_names |= flush->name_identity && record->identity != flush->name_identity;
    flush->name_identity = record->identity ? record->identity : flush->name_identity;
    flush->log_named = 0;
}

/* Returns the log's id for the name that the thread has at the moment. */
static uint32_t named_thread(struct pp_slot *slot)
{
    struct pp_slot_flush *flush = &slot->flush;
    uint32_t name = string_of(flush->name);
    if (name == flush->log_name) {
        flush->name_source = SOURCE_HANDLER; /* the list has another name for it by now: this stays for these samples */
        return flush->log_thread;
    }
    if (flush->name_source != SOURCE_HANDLER && is_named_by_stack(slot)) {
        define(slot, true, string_of(flush->stack_name), SOURCE_HANDLER);
        return flush->log_thread;
    }
    return pp_thread_named(&pp_interval.tables, flush->log_thread, atomic_load(&slot->tid), name,
                           slot->thread.start_unix_ns);
}

uint32_t pp_thread_of_sample(struct pp_slot *slot, const struct pp_record_sample *sample)
{
    struct pp_slot_flush *flush = &slot->flush;
    bool read = sample->contexts & 1u << PP_CONTEXT_THREAD;
    if (!flush->name[0] || !flush->log_thread || (!read && flush->several_names))
        return flush->log_thread;
    if (!flush->log_named)
        flush->log_named = named_thread(slot);
    return flush->log_named ? flush->log_named : flush->log_thread;
}
