/* Memory of the flush side: our own mappings, never the host's malloc (it may not survive a fork, and it is being
 * measured). An arena belongs to the thread that flushes. */
#ifndef PP_BASE_ARENA_H
#define PP_BASE_ARENA_H

#include <stddef.h>

struct pp_arena {
    struct pp_arena_chunk *newest;
    size_t mapped; /* bytes */
};

/* Fresh anonymous pages, zeroed; NULL when the kernel has none. size is rounded up to pages. */
void *pp_map(size_t size);
void pp_unmap(void *start, size_t size);
/* The same pages with more behind them, perhaps elsewhere; start may be NULL. NULL: no memory, all is as it was. */
void *pp_remap(void *start, size_t size, size_t new_size);
/* Address space that the above have given out and not got back, and the most that it ever was; what of it was written
 * is memory. Any thread. */
size_t pp_mapped_bytes(size_t *most);
/* Zeroed and 16-byte aligned; NULL when the kernel has no memory. Lives until pp_arena_reset. */
void *pp_arena_alloc(struct pp_arena *arena, size_t size);
/* Gives everything back. */
void pp_arena_reset(struct pp_arena *arena);

#endif
