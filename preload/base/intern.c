/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"
#include "hash.h"

#define FIRST_ENTRIES 64u

void pp_intern_init(struct pp_intern *table, struct pp_arena *arena)
{
    memset(table, 0, sizeof *table);
    table->arena = arena;
}

static bool grow_entries(struct pp_intern *table)
{
    uint32_t capacity = table->entry_capacity ? table->entry_capacity * 2 : FIRST_ENTRIES;
    struct pp_intern_entry *entries = pp_arena_alloc(table->arena, capacity * sizeof *entries);
    uint32_t *buckets = pp_arena_alloc(table->arena, 2 * capacity * sizeof *buckets);
    if (!entries || !buckets)
        return false;
    /* a page that is read first is mapped twice: zeros, then memory of its own */
    memset(buckets, 0, 2 * capacity * sizeof *buckets);
    if (table->count)
        memcpy(entries, table->entries, table->count * sizeof *entries);
    for (uint32_t id = 1; id <= table->count; id++) {
        uint32_t at = entries[id - 1].hash & (2 * capacity - 1);
        while (buckets[at])
            at = (at + 1) & (2 * capacity - 1);
        buckets[at] = id;
    }
    table->entries = entries;
    table->buckets = buckets;
    table->entry_capacity = capacity;
    table->bucket_capacity = 2 * capacity;
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
        const struct pp_intern_entry *entry = &table->entries[id - 1];
        if (entry->hash == hash && entry->length == length && is_equal(entry, key, word))
            break;
    }
    return at;
}

static uint64_t word_of(const void *key, uint32_t length)
{
    uint64_t word = 0;
    if (length <= sizeof word)
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
    if (table->count == table->entry_capacity && !grow_entries(table))
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
    table->entries[table->count] = entry;
    table->buckets[at] = ++table->count;
    *fresh = true;
    return table->count;
}

struct pp_intern_entry *pp_intern_entry(struct pp_intern *table, uint32_t id)
{
    return &table->entries[id - 1];
}
