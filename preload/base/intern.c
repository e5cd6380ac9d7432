/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"
#include "hash.h"

void pp_intern_init(struct pp_intern *table, struct pp_arena *arena)
{
    table->arena = arena;
    table->buckets = NULL;
    table->count = table->entry_capacity = table->bucket_capacity = 0;
}

/* Puts the id and its hash into the first empty bucket for that hash. */
static void put(struct pp_intern_bucket *buckets, uint32_t capacity, struct pp_intern_bucket bucket)
{
    uint32_t at = bucket.hash & (capacity - 1);
    while (buckets[at].id)
        at = (at + 1) & (capacity - 1);
    buckets[at] = bucket;
}

static bool grow(struct pp_intern *table)
{
    uint32_t before = table->entry_capacity, more = before ? before : PP_INTERN_FIRST, capacity = 2 * (before + more);
    struct pp_intern_entry *entries = pp_arena_alloc(table->arena, more * sizeof *entries);
    struct pp_intern_bucket *buckets = pp_arena_alloc(table->arena, capacity * sizeof *buckets);
    if (!entries || !buckets)
        return false;
    /* a page that is read first is mapped twice: zeros, then memory of its own */
    memset(buckets, 0, capacity * sizeof *buckets);
    for (uint32_t at = 0; at < table->bucket_capacity; at++)
        if (table->buckets[at].id)
            put(buckets, capacity, table->buckets[at]);
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
static struct pp_intern_bucket *bucket_of(const struct pp_intern *table, const void *key, uint32_t length,
                                          uint64_t word, uint32_t hash)
{
    uint32_t at = hash & (table->bucket_capacity - 1);
    for (;; at = (at + 1) & (table->bucket_capacity - 1)) {
        struct pp_intern_bucket *bucket = &table->buckets[at];
        if (!bucket->id)
            return bucket;
        if (bucket->hash != hash)
            continue;
        const struct pp_intern_entry *entry = pp_intern_entry(table, bucket->id);
        if (entry->length == length && is_equal(entry, key, word))
            return bucket;
    }
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
    return bucket_of(table, key, length, word_of(key, length), (uint32_t)pp_hash(key, length))->id;
}

uint32_t pp_intern(struct pp_intern *table, const void *key, uint32_t length, bool *fresh)
{
    uint64_t word = word_of(key, length);
    *fresh = false;
    if (table->count == table->entry_capacity && !grow(table))
        return 0;
    uint32_t hash = (uint32_t)pp_hash(key, length);
    struct pp_intern_bucket *bucket = bucket_of(table, key, length, word, hash);
    if (bucket->id)
        return bucket->id;
    struct pp_intern_entry entry = {.length = length, .key.word = word};
    if (length > sizeof word) {
        void *copy = pp_arena_alloc(table->arena, length);
        if (!copy)
            return 0;
        entry.key.bytes = memcpy(copy, key, length);
    }
    *pp_intern_entry(table, table->count + 1) = entry;
    *bucket = (struct pp_intern_bucket){hash, ++table->count};
    *fresh = true;
    return table->count;
}
