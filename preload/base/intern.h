/* SPDX-License-Identifier: Apache-2.0 */
/* Maps byte strings to ids 1, 2, 3 … in the order of insertion. Its memory is an arena's. Flush thread only. */
#ifndef PP_BASE_INTERN_H
#define PP_BASE_INTERN_H

#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

/* The hash is here, so that a search reads the entry of the key alone: each entry is a cache miss. */
struct pp_intern_bucket {
    uint32_t hash, id; /* id 0: the bucket is empty */
};

struct pp_intern_entry {
    uint32_t length;
    union {
        uint64_t word; /* the key, if it is no longer than this: most keys are, and need no memory of their own */
        const void *bytes;
    } key;
    uint64_t value[2]; /* the user's */
};

/* Entries stay where they are: a table that moved to a larger place would leave as much memory unused. */
#define PP_INTERN_FIRST  64u /* entries of the first chunk, and of the second; each further one has twice as many */
#define PP_INTERN_CHUNKS 27  /* for all ids */

struct pp_intern {
    struct pp_arena *arena;
    struct pp_intern_bucket *buckets;
    uint32_t count, entry_capacity, bucket_capacity;
    struct pp_intern_entry *chunks[PP_INTERN_CHUNKS]; /* of entry_capacity entries; the others are not set */
};

/* Returns the number of the chunk that holds an entry. */
static inline unsigned pp_intern_chunk(uint32_t index)
{
    uint32_t doublings = index / PP_INTERN_FIRST;
    return doublings ? 32 - (unsigned)__builtin_clz(doublings) : 0;
}

/* An empty table that takes its memory from arena. */
void pp_intern_init(struct pp_intern *table, struct pp_arena *arena);
/* Returns the id of the key, of which a copy is kept; *fresh: whether it is new. 0 when there is no memory. */
uint32_t pp_intern(struct pp_intern *table, const void *key, uint32_t length, bool *fresh);
/* Returns the id of the key, 0 if it is not in the table. */
uint32_t pp_intern_find(const struct pp_intern *table, const void *key, uint32_t length);
/* Returns the entry's key. */
static inline const void *pp_intern_key(const struct pp_intern_entry *entry)
{
    return entry->length <= sizeof entry->key.word ? &entry->key.word : entry->key.bytes;
}
/* Returns the entry of an id. */
static inline struct pp_intern_entry *pp_intern_entry(const struct pp_intern *table, uint32_t id)
{
    uint32_t index = id - 1;
    unsigned chunk = pp_intern_chunk(index);
    return &table->chunks[chunk][chunk ? index - (PP_INTERN_FIRST << (chunk - 1)) : index];
}

#endif
