/* SPDX-License-Identifier: Apache-2.0 */
/* Maps byte strings to ids 1, 2, 3 … in the order of insertion. Its memory is an arena's. Flush thread only. */
#ifndef PP_BASE_INTERN_H
#define PP_BASE_INTERN_H

#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

struct pp_intern_entry {
    uint32_t hash, length;
    union {
        uint64_t word; /* the key, if it is no longer than this: most keys are, and need no memory of their own */
        const void *bytes;
    } key;
    uint64_t value[2]; /* the user's */
};

struct pp_intern {
    struct pp_arena *arena;
    struct pp_intern_entry *entries; /* of id i: entries[i - 1] */
    uint32_t *buckets;               /* ids, 0: empty */
    uint32_t count, entry_capacity, bucket_capacity;
};

/* An empty table that takes its memory from arena. */
void pp_intern_init(struct pp_intern *table, struct pp_arena *arena);
/* Returns the id of the key, of which a copy is kept; *fresh: whether it is new. 0 when there is no memory. */
uint32_t pp_intern(struct pp_intern *table, const void *key, uint32_t length, bool *fresh);
/* Returns the id of the key, 0 if it is not in the table. */
uint32_t pp_intern_find(const struct pp_intern *table, const void *key, uint32_t length);
/* Returns the entry's key; valid until the next pp_intern. */
static inline const void *pp_intern_key(const struct pp_intern_entry *entry)
{
    return entry->length <= sizeof entry->key.word ? &entry->key.word : entry->key.bytes;
}
/* Returns the entry of an id; valid until the next pp_intern. */
struct pp_intern_entry *pp_intern_entry(struct pp_intern *table, uint32_t id);

#endif
