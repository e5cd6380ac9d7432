/*
 * Memory of the tools. Nothing here returns NULL: a tool that cannot get memory says so in one line and exits with 1.
 */
#ifndef PP_TOOLS_MEMORY_H
#define PP_TOOLS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_NONE UINT32_MAX

/* Zeroed; the caller frees. */
void *pp_alloc(size_t count, size_t size);
char *pp_strdup(const char *text);
/* A copy of an array, which may be NULL when count is 0; the caller frees. */
void *pp_copy(const void *array, size_t count, size_t size);

/* Makes room for `needed` items of `size` bytes and returns the array, perhaps moved. New room is zeroed. Grows by
 * half at least, so that appending one by one is linear. */
void *pp_grow(void *array, uint32_t *capacity, uint64_t needed, size_t size);

/* The same for what is large: new room is not zeroed, and costs nothing until it is written. */
void *pp_grow_raw(void *array, uint32_t *capacity, uint64_t needed, size_t size);

/* Gives back what is behind the first `count` items, if there are any. */
void *pp_shrink(void *array, size_t count, size_t size);

/* Text that grows. Always NUL-terminated once something was appended. Starts as {0}; pp_buffer_free ends it. */
struct pp_buffer {
    char *data;
    size_t length, capacity;
};
/* Where so many bytes more can be written; `length` is the caller's to raise. */
char *pp_buffer_room(struct pp_buffer *buffer, size_t extra);
void pp_buffer_append(struct pp_buffer *buffer, const void *data, size_t length);
void pp_buffer_text(struct pp_buffer *buffer, const char *text);
void pp_buffer_format(struct pp_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pp_buffer_clear(struct pp_buffer *buffer);
void pp_buffer_free(struct pp_buffer *buffer);

/* Finds items of a table by hash; it holds item numbers, never the items. Starts as {0}. */
struct pp_index {
    uint64_t *slots; /* hash << 32 | item + 1; 0 is free */
    uint32_t mask, count;
};
typedef bool pp_index_equal(const void *table, uint32_t item, const void *key);

/* The item, or PP_NONE. equal() is asked only about items with this very hash. */
uint32_t pp_index_find(const struct pp_index *index, uint32_t hash, pp_index_equal *equal, const void *table,
                       const void *key);
void pp_index_add(struct pp_index *index, uint32_t hash, uint32_t item);
void pp_index_free(struct pp_index *index);

uint32_t pp_hash_bytes(const void *data, size_t length);
uint32_t pp_hash_words(const uint64_t *words, size_t count);

#endif
