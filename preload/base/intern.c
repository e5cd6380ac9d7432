/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"
#include "hash.h"

void pp_intern_init(struct pp_intern *table, struct pp_arena *arena)
{
    table->arena = arena;
    table->buckets = NULL;
    table->count = table->entry_capacity = table->bucket_capacity = 0;
}

/* Puts an id into the first empty bucket for its hash. */
static void put(uint32_t *buckets, uint32_t capacity, uint32_t hash, uint32_t id)
{
    uint32_t at = hash & (capacity - 1);
    while (buckets[at])
        at = (at + 1) & (capacity - 1);
    buckets[at] = id;
}

static bool grow(struct pp_intern *table)
{
    uint32_t before = table->entry_capacity, more = before ? before : PP_INTERN_FIRST, capacity = 2 * (before + more);
    struct pp_intern_entry *entries = pp_arena_alloc(table->arena, more * sizeof *entries);
    uint32_t *buckets = pp_arena_alloc(table->arena, capacity * sizeof *buckets);
    if (!entries || !buckets)
        return false;
    /* a page that is read first is mapped twice: zeros, then memory of its own */
    memset(buckets, 0, capacity * sizeof *buckets);
    for (uint32_t id = 1; id <= table->count; id++)
        put(buckets, capacity, pp_intern_entry(table, id)->hash, id);
    table->chunks[pp_intern_chunk(before)] = entries;
    table->buckets = buckets;
    table->entry_capacity = before + more;
    table->bucket_capacity = capacity;
    return true;
}

static bool is_equal(const struct pp_intern_entry *entry, const void *key, uint64_t word)
{
    return entry->length <= sizeof word ? entry->key.word == word : memcmp(entry->key.bytes, key, entry->length) == 0;
}

/* Returns the bucket of the key, or the empty one where it belongs. */
static uint32_t bucket_of(const struct pp_intern *table, const void *key, uint32_t length, uint64_t word, uint32_t hash)
{
    uint32_t at = hash & (table->bucket_capacity - 1);
    for (uint32_t id; (id = table->buckets[at]); at = (at + 1) & (table->bucket_capacity - 1)) {
        const struct pp_intern_entry *entry = pp_intern_entry(table, id);
        if (entry->hash == hash && entry->length == length && is_equal(entry, key, word))
            break;
    }
    return at;
}

static uint64_t word_of(const void *key, uint32_t length)
{
    uint64_t word = 0;
    if (length == sizeof word) /* most keys: one load */
        memcpy(&word, key, sizeof word);
    else if (length < sizeof word)
        memcpy(&word, key, length);
    return word;
}

uint32_t pp_intern_find(const struct pp_intern *table, const void *key, uint32_t length)
{
    if (!table->count)
        return 0;
    return table->buckets[bucket_of(table, key, length, word_of(key, length), (uint32_t)pp_hash(key, length))];
}

uint32_t pp_intern(struct pp_intern *table, const void *key, uint32_t length, bool *fresh)
{
    uint64_t word = word_of(key, length);
    *fresh = false;
    if (table->count == table->entry_capacity && !grow(table))
        return 0;
    uint32_t hash = (uint32_t)pp_hash(key, length), at = bucket_of(table, key, length, word, hash);
    if (table->buckets[at])
        return table->buckets[at];
    struct pp_intern_entry entry = {.hash = hash, .length = length, .key.word = word};
    if (length > sizeof word) {
        void *copy = pp_arena_alloc(table->arena, length);
        if (!copy)
            return 0;
        entry.key.bytes = memcpy(copy, key, length);
    }
    *pp_intern_entry(table, table->count + 1) = entry;
    table->buckets[at] = ++table->count;
    *fresh = true;
    return table->count;
}
