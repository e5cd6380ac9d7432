/* SPDX-License-Identifier: Apache-2.0 */
#include "python_threads.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../context/thread_name.h"
#include "../merge/record_text.h"
#include "python_modules.h"
#include <string.h>

#define THREADS_MAX 65536
#define FIND_EACH   8 /* names read, after which the list is searched again: there may be another one */

/* Returns threading._active, a dict by ident; 0 if it is not found. */
static uintptr_t list_of_threads(const struct pp_object_reader *reader, uintptr_t state)
{
    uintptr_t modules = pp_python_modules(reader, state), dict, list;
    if (!modules || !pp_python_module_dict(reader, modules, "threading", &dict) ||
        !pp_name_find(reader, dict, "_active", &list))
        return 0;
    return list;
}

/* Finds the entry of a slot's thread, at first in the list that was found last: to find it again takes 100 names. */
static bool find_entry(const struct pp_object_reader *reader, const struct pp_slot *slot, struct pp_python_entry *entry)
{
    static struct {
        uintptr_t state, list;
        unsigned uses;
    } last;
    uintptr_t state = atomic_load(&slot->thread.interpreter_state);
    struct pp_wanted wanted = {.hash = pp_pthread_of(slot->thread.thread_pointer)};
    if (state == last.state && ++last.uses % FIND_EACH &&
        pp_python_dict_find(reader, last.list, &wanted, THREADS_MAX, entry))
        return true;
    uintptr_t list = list_of_threads(reader, state);
    if (!list || !pp_python_dict_find(reader, list, &wanted, THREADS_MAX, entry))
        return false;
    last.state = state;
    last.list = list;
    return true;
}

/* Whether the entry is still what it was and the thread has not ended: then the name is its own. */
static bool is_still(const struct pp_object_reader *reader, const struct pp_slot *slot,
                     const struct pp_python_entry *entry)
{
    uintptr_t words[2];
    return pp_object_copy(reader, words, entry->address, sizeof words) && words[0] == entry->key &&
           words[1] == entry->value && atomic_load_explicit(&slot->state, memory_order_acquire) == PP_SLOT_LIVE;
}

bool pp_python_thread_name(const struct pp_slot *slot, char *name, size_t room)
{
    uint8_t characters[PP_CONTEXT_TEXT_MAX];
    struct pp_attribute learnt = {0};
    struct pp_str text;
    struct pp_python_entry entry;
    uintptr_t value;
    struct pp_object_reader reader = {.python = atomic_load(&slot->thread.python), .pid = atomic_load(&pp_process.pid)};
    if (!reader.python || !find_entry(&reader, slot, &entry) ||
        !pp_attribute_read(&reader, entry.value, PP_THREAD_NAME_ATTRIBUTE, &learnt, &value) ||
        !pp_str_open(&reader, value, sizeof characters, &text) ||
        !pp_object_copy(&reader, characters, text.data, text.record.bytes) || !is_still(&reader, slot, &entry))
        return false;
    name[pp_record_text_utf8(name, room - 1, &text.record, characters)] = 0;
    return true;
}
