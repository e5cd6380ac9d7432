/* SPDX-License-Identifier: Apache-2.0 */
/* Provides memory in mappings of our own: never the host's malloc, which may not survive a fork and is being measured.
 * An arena belongs to the flush thread. */
#ifndef PP_BASE_ARENA_H
#define PP_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct pp_arena {
    struct pp_arena_chunk *newest;
    size_t mapped; /* bytes */
};

/* Maps fresh anonymous pages, zeroed; NULL when the kernel has none. size is rounded up to pages. */
void *pp_map(size_t size);
/* Maps pages like pp_map does, but with any contents. */
void *pp_map_uncleared(size_t size);
void pp_unmap(void *start, size_t size);
/* Grows a mapping, which may move; start may be NULL. NULL: no memory, the mapping is unchanged. */
void *pp_remap(void *start, size_t size, size_t new_size);
/* Gives back what is kept for reuse. */
void pp_arena_trim(void);
/* Runs in the child of fork: forgets mappings that are kept for reuse, since an owner in the middle of giving one back
 * may still have it. */
void pp_arena_after_fork(void);
/* Bytes currently mapped by these functions, and their peak. Only touched pages cost memory. Any thread. */
size_t pp_mapped_bytes(size_t *most);

/* Items in one growing mapping, which may move. All zero: empty. */
struct pp_vector {
    void *items;
    size_t used, capacity; /* bytes */
};

/* Appends `size` bytes, of any contents; NULL when there is no memory. */
void *pp_vector_add(struct pp_vector *vector, size_t size);
void pp_vector_free(struct pp_vector *vector);

/* Allocates memory, zeroed and 16-byte aligned; NULL when the kernel has no memory. Lives until pp_arena_reset. */
void *pp_arena_alloc(struct pp_arena *arena, size_t size);
/* Forgets everything, and keeps a little of its memory, zeroed, for what comes next. Not in the child of fork. */
void pp_arena_clear(struct pp_arena *arena);
/* Unmaps everything. */
void pp_arena_reset(struct pp_arena *arena);

#endif
