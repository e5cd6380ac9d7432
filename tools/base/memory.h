/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the tools. Nothing here returns NULL: without memory the program's handler is called. */
#ifndef PT_BASE_MEMORY_H
#define PT_BASE_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PT_NONE UINT32_MAX

/* What the program does without memory. It is set once, before there are threads, and does not return: a command ends
 * with a message, a server may end a thread or itself. Without a handler, or if it returns, the program aborts. */
extern void (*pt_when_out_of_memory)(void);
_Noreturn void pt_out_of_memory(void);

/* Returns zeroed memory; the caller frees. */
void *pt_alloc(size_t count, size_t size);
char *pt_strdup(const char *text);
char *pt_strndup(const char *text, size_t length);
/* Returns bytes as hexadecimal text; the caller frees. */
char *pt_hex(const void *bytes, size_t length);
/* Sets `length` bytes to those of hexadecimal text; 0 where the text ends. */
void pt_bytes_of_hex(void *bytes, const char *text, size_t length);
/* Returns formatted text; the caller frees. */
char *pt_format(const char *format, va_list arguments);
/* Returns a copy of an array, which may be NULL when count is 0; the caller frees. */
void *pt_copy(const void *array, size_t count, size_t size);

/* What pt_grow and pt_grow_raw do where there is no room: they are called for each item, and few need any. */
void *pt_enlarge(void *array, uint32_t *capacity, uint64_t needed, size_t size, bool zeroed);

/* Makes room for `needed` items of `size` bytes and returns the array, perhaps moved. New room is zeroed. Grows by
 * half at least, so that appending one by one is linear. */
static inline void *pt_grow(void *array, uint32_t *capacity, uint64_t needed, size_t size)
{
    return array && needed <= *capacity ? array : pt_enlarge(array, capacity, needed, size, true);
}

/* Appends a zeroed item to a table and evaluates to a pointer to it. A table has the fields items, count and capacity;
 * a free place below its capacity may hold an old item. */
#define PT_APPEND(table)                                                                                               \
    ((table)->items =                                                                                                  \
         pt_grow((table)->items, &(table)->capacity, (uint64_t)(table)->count + 1, sizeof *(table)->items),            \
     &(table)->items[(table)->count++])

/* for (PT_EACH(struct thing, it, &table)) has each item of a table as `it`. The table must not grow meanwhile. */
#define PT_EACH(type, it, table)                                                                                       \
    type *it = (table)->items, *it##_end = it ? it + (table)->count : it;                                              \
    it != it##_end;                                                                                                    \
    it++

/* pt_grow for large arrays: new room is not zeroed, and costs nothing until it is written. */
static inline void *pt_grow_raw(void *array, uint32_t *capacity, uint64_t needed, size_t size)
{
    return array && needed <= *capacity ? array : pt_enlarge(array, capacity, needed, size, false);
}

/* Gives back the room after the first `count` items, if there are any. */
void *pt_shrink(void *array, size_t count, size_t size);

/* Returns the numbers of `count` items of `size` bytes, ordered by a key below `groups`: the uint32_t at `offset` in
 * each item. Items with equal keys stay in their order. *ends, if it is not NULL, is set to where each group ends. The
 * caller frees both. */
uint32_t *pt_bucket_sort(const void *items, size_t size, size_t offset, uint32_t count, uint32_t groups,
                         uint32_t **ends);

/* pt_group for a table (PT_APPEND) and a field of its items. */
#define PT_GROUP(table, field, groups, ends)                                                                           \
    pt_bucket_sort((table)->items, sizeof *(table)->items, offsetof(__typeof__(*(table)->items), field),               \
                   (table)->count, groups, ends)

/* Text that grows. Always NUL-terminated once something was appended. Starts as {0}; pt_buffer_free ends it. */
struct pt_buffer {
    char *data;
    size_t length, capacity;
};
/* Returns room for `extra` bytes after the text; the caller raises `length`. */
char *pt_buffer_room(struct pt_buffer *buffer, size_t extra);
void pt_buffer_append(struct pt_buffer *buffer, const void *data, size_t length);
void pt_buffer_text(struct pt_buffer *buffer, const char *text);
void pt_buffer_format(struct pt_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns a buffer that begins with this text. */
struct pt_buffer pt_formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends a local time: 2027-01-31 14:05:06. */
void pt_buffer_time(struct pt_buffer *buffer, uint64_t unix_ns);
/* Appends a size in KB, or MB from one on. */
void pt_buffer_size(struct pt_buffer *buffer, uint64_t bytes);
void pt_buffer_base64(struct pt_buffer *text, const void *bytes, size_t length);
void pt_buffer_clear(struct pt_buffer *buffer);
void pt_buffer_free(struct pt_buffer *buffer);

/* Begin a declaration of what is ended wherever its block is left: of structs that `end` takes the address of, of
 * pointers to free, of buffers. */
#define PT_AUTO(end)   __attribute__((cleanup(end)))
#define PT_AUTO_FREE   PT_AUTO(pt_auto_free)
#define PT_AUTO_BUFFER PT_AUTO(pt_buffer_free) struct pt_buffer
void pt_auto_free(void *pointer);

/* Finds items of a table by hash; it holds item numbers, never the items. Starts as {0}. */
struct pt_index {
    uint64_t *slots; /* hash << 32 | item + 1; 0 is free */
    uint32_t mask, count;
};
typedef bool pt_index_equal(const void *table, uint32_t item, const void *key);

/* Returns the item, or PT_NONE. equal() is asked only about items with this very hash. */
uint32_t pt_index_find(const struct pt_index *index, uint32_t hash, pt_index_equal *equal, const void *table,
                       const void *key);
void pt_index_add(struct pt_index *index, uint32_t hash, uint32_t item);
void pt_index_free(struct pt_index *index);

/* Declares a growing table with an index to find equal items. */
#define PT_TABLE_OF(type)                                                                                              \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        uint32_t count, capacity;                                                                                      \
        struct pt_index index;                                                                                         \
    }
#define PT_FREE_TABLE(table) (free((table)->items), pt_index_free(&(table)->index))

/* Finds an item of a PT_TABLE_OF or appends `item`; evaluates to its number. The rest is as in pt_index_find. */
#define PT_FIND_OR_APPEND(table, hash, same, key, item)                                                                \
    ({                                                                                                                 \
        uint32_t hash_ = hash, number_ = pt_index_find(&(table)->index, hash_, same, (table)->items, key);             \
        if (number_ == PT_NONE) {                                                                                      \
            number_ = (table)->count;                                                                                  \
            *PT_APPEND(table) = item;                                                                                  \
            pt_index_add(&(table)->index, hash_, number_);                                                             \
        }                                                                                                              \
        number_;                                                                                                       \
    })

uint32_t pt_hash_bytes(const void *data, size_t length);
uint32_t pt_hash_words(const uint64_t *words, size_t count);

/* Defines NAME_hash(item) and NAME_same(items, number, item) for pt_index_find. The words of an `item` that follow the
 * type identify it. */
#define PT_DEFINE_IDENTITY(name, type, ...)                                                                            \
    static uint32_t name##_hash(const type *item)                                                                      \
    {                                                                                                                  \
        const uint64_t words[] = {__VA_ARGS__};                                                                        \
        return pt_hash_words(words, sizeof words / sizeof words[0]);                                                   \
    }                                                                                                                  \
    static bool name##_same(const void *items, uint32_t number, const void *key)                                       \
    {                                                                                                                  \
        const type *item = key;                                                                                        \
        const uint64_t wanted[] = {__VA_ARGS__};                                                                       \
        item = (const type *)items + number;                                                                           \
        const uint64_t there[] = {__VA_ARGS__};                                                                        \
        return memcmp(wanted, there, sizeof there) == 0;                                                               \
    }

/* Defines a function that finds an equal item in a PT_TABLE_OF of its owner or appends it, and returns its number. */
#define PT_DEFINE_ADD(function, owner_type, table, type, ...)                                                          \
    PT_DEFINE_IDENTITY(table, type, __VA_ARGS__)                                                                       \
    function(owner_type *owner, const type *item)                                                                      \
    {                                                                                                                  \
        return PT_FIND_OR_APPEND(&owner->table, table##_hash(item), table##_same, item, *item);                        \
    }

#endif
