#include "python_threads.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../context/thread_name.h"
#include "record_text.h"
#include <string.h>

#define CHUNK       64   /* entries of a dict that are copied at once */
#define MODULES_MAX 4096 /* entries searched in sys.modules; threading is mostly among the first hundred */
#define THREADS_MAX 65536
#define STATE_BYTES (24u << 10) /* of a PyInterpreterState: sys.modules is in there */

/* What is searched for in a dict: a str, or the hash of an int. */
struct wanted {
    const char *name;
    uint64_t hash;
};

struct entry {
    uintptr_t address, key, value;
};

static bool is_wanted(const struct pp_object_reader *reader, const struct wanted *wanted, const uint8_t *bytes,
                      const struct entry *entry)
{
    if (!entry->value)
        return false;
    return wanted->name ? pp_str_is(reader, entry->key, wanted->name) : pp_word(bytes, 0) == wanted->hash;
}

/* Finds the first entry of a dict that is wanted, among so many. */
static bool find(const struct pp_object_reader *reader, uintptr_t dict, const struct wanted *wanted, uint64_t most,
                 struct entry *entry)
{
    static uint8_t chunk[CHUNK * PP_DICT_ENTRY_MAX];
    uintptr_t address, values;
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        (!wanted->name && !keys.key))
        return false;
    for (uint64_t at = 0; at < keys.count && at < most; at += CHUNK) {
        uint64_t count = keys.count - at < CHUNK ? keys.count - at : CHUNK;
        if (!pp_object_copy(reader, chunk, keys.entries + at * keys.size, count * keys.size))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            const uint8_t *bytes = chunk + i * keys.size;
            *entry = (struct entry){keys.entries + (at + i) * keys.size + keys.key, pp_word(bytes, keys.key),
                                    pp_word(bytes, keys.key + sizeof(uintptr_t))};
            if (is_wanted(reader, wanted, bytes, entry))
                return true;
        }
    }
    return false;
}

static bool find_named(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uintptr_t *value)
{
    struct entry entry;
    bool found = find(reader, dict, &(struct wanted){.name = name}, MODULES_MAX, &entry);
    *value = entry.value;
    return found;
}

/* The first modules of every interpreter, as its start makes them. */
static bool is_modules(const struct pp_object_reader *reader, uintptr_t dict)
{
    struct entry entry;
    return find(reader, dict, &(struct wanted){.name = "sys"}, 8, &entry) &&
           find(reader, dict, &(struct wanted){.name = "builtins"}, 8, &entry);
}

/* Returns sys.modules of an interpreter, 0 if it is not found. 3.12 does not say where it is, and not all of its patch
 * releases were checked: there every word is tried if it is not where we expect it. */
static uintptr_t modules_of(const struct pp_object_reader *reader, uintptr_t state)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t dict;
    if (pp_object_copy(reader, &dict, state + layout->interpreter.modules, sizeof dict) && is_modules(reader, dict))
        return dict;
    for (unsigned at = 0; layout->minor == 12 && at < STATE_BYTES; at += sizeof dict)
        if (pp_object_copy(reader, &dict, state + at, sizeof dict) && is_modules(reader, dict))
            return dict;
    return 0;
}

/* Returns threading._active; 0 if it is not found. */
static uintptr_t list_of_threads(const struct pp_object_reader *reader, uintptr_t state)
{
    unsigned dict_of_module = reader->python->layout.object_type + 8u;
    uintptr_t modules = modules_of(reader, state), module, dict, list;
    if (!modules || !find_named(reader, modules, "threading", &module) ||
        !pp_object_copy(reader, &dict, module + dict_of_module, sizeof dict) ||
        !find_named(reader, dict, "_active", &list))
        return 0;
    return list;
}

/* Whether the entry is still what it was and the thread has not ended: then the name is its own. */
static bool is_still(const struct pp_object_reader *reader, const struct pp_slot *slot, const struct entry *entry)
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
    struct entry entry;
    uintptr_t value, list, state = atomic_load(&slot->thread.interpreter_state);
    struct pp_object_reader reader = {.python = atomic_load(&slot->thread.python), .pid = atomic_load(&pp_process.pid)};
    if (!reader.python || !(list = list_of_threads(&reader, state)) ||
        !find(&reader, list, &(struct wanted){.hash = slot->thread.thread_pointer}, THREADS_MAX, &entry) ||
        !pp_attribute_read(&reader, entry.value, PP_THREAD_NAME_ATTRIBUTE, &learnt, &value) ||
        !pp_str_open(&reader, value, sizeof characters, &text) ||
        !pp_object_copy(&reader, characters, text.data, text.record.bytes) || !is_still(&reader, slot, &entry))
        return false;
    name[pp_record_text_utf8(name, room - 1, &text.record, characters)] = 0;
    return true;
}
