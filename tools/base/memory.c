/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_CAPACITY 64
#define FIRST_BYTES    8192u /* of an array of large items */
#define FIRST_SLOTS    64

void (*pt_when_out_of_memory)(void);

void pt_out_of_memory(void)
{
    if (pt_when_out_of_memory)
        pt_when_out_of_memory();
    abort();
}

void *pt_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        pt_out_of_memory();
    return memory;
}

char *pt_strdup(const char *text)
{
    return pt_strndup(text, strlen(text));
}

char *pt_format(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        pt_out_of_memory();
    return text;
}

char *pt_strndup(const char *text, size_t length)
{
    char *copy = pt_alloc(length + 1, 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *pt_hex(const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    char *text = pt_alloc(2 * length + 1, 1);
    for (size_t i = 0; i < 2 * length; i++)
        text[i] = digits[((const unsigned char *)bytes)[i / 2] >> (i % 2 ? 0 : 4) & 15];
    return text;
}

static unsigned digit_value(char digit)
{
    return digit >= '0' && digit <= '9' ? (unsigned)(digit - '0') : (unsigned)((digit | 0x20) - 'a' + 10) & 15;
}

void pt_bytes_of_hex(void *bytes, const char *text, size_t length)
{
    unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        at[i] = text[0] && text[1] ? (unsigned char)(digit_value(text[0]) << 4 | digit_value(text[1])) : 0;
        text += text[0] && text[1] ? 2 : 0;
    }
}

void *pt_copy(const void *array, size_t count, size_t size)
{
    void *copy = pt_alloc(count, size);
    if (count)
        memcpy(copy, array, count * size);
    return copy;
}

void *pt_enlarge(void *array, uint32_t *capacity, uint64_t needed, size_t size, bool zeroed)
{
    uint32_t before = array ? *capacity : 0;
    uint64_t room = *capacity;
    if (needed >= PT_NONE)
        pt_out_of_memory();
    room += room / 2;
    /* thousands of processes may have a few large items each */
    uint64_t first = size < FIRST_BYTES / FIRST_CAPACITY ? FIRST_CAPACITY : FIRST_BYTES / size;
    if (room < first)
        room = first;
    if (room < needed)
        room = needed;
    if (room >= PT_NONE)
        room = PT_NONE - 1;
    array = reallocarray(array, room, size);
    if (!array)
        pt_out_of_memory();
    if (zeroed)
        memset((char *)array + before * size, 0, (room - before) * size);
    *capacity = (uint32_t)room;
    return array;
}

void *pt_shrink(void *array, size_t count, size_t size)
{
    void *smaller = count ? reallocarray(array, count, size) : NULL;
    return smaller ? smaller : array;
}

uint32_t *pt_bucket_sort(const void *items, size_t size, size_t offset, uint32_t count, uint32_t groups,
                         uint32_t **ends)
{
    uint32_t *order = pt_alloc(count, sizeof *order), *place = pt_alloc(groups, sizeof *place), sum = 0;
    const char *bytes = items;
    for (size_t i = 0; i < count; i++)
        place[*(const uint32_t *)(const void *)(bytes + i * size + offset)]++;
    for (uint32_t i = 0; i < groups; i++) {
        uint32_t own = place[i];
        place[i] = sum;
        sum += own;
    }
    for (size_t i = 0; i < count; i++)
        order[place[*(const uint32_t *)(const void *)(bytes + i * size + offset)]++] = (uint32_t)i;
    if (ends)
        *ends = place;
    else
        free(place);
    return order;
}

char *pt_buffer_room(struct pt_buffer *buffer, size_t extra)
{
    size_t needed = buffer->length + extra + 1;
    if (needed <= buffer->capacity)
        return buffer->data + buffer->length;
    size_t room = buffer->capacity + buffer->capacity / 2;
    if (room < needed)
        room = needed + FIRST_CAPACITY;
    char *data = realloc(buffer->data, room);
    if (!data)
        pt_out_of_memory();
    buffer->data = data;
    buffer->capacity = room;
    return data + buffer->length;
}

void pt_buffer_append(struct pt_buffer *buffer, const void *data, size_t length)
{
    pt_buffer_room(buffer, length);
    if (length)
        memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void pt_buffer_text(struct pt_buffer *buffer, const char *text)
{
    pt_buffer_append(buffer, text, strlen(text));
}

void pt_buffer_format(struct pt_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pt_format(format, arguments);
    va_end(arguments);
    pt_buffer_text(buffer, text);
    free(text);
}

struct pt_buffer pt_formatted(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pt_format(format, arguments);
    va_end(arguments);
    return (struct pt_buffer){.data = text, .length = strlen(text), .capacity = strlen(text) + 1};
}

void pt_buffer_time(struct pt_buffer *buffer, uint64_t unix_ns)
{
    char when[32] = "";
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm local;
    if (localtime_r(&seconds, &local))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    pt_buffer_text(buffer, when);
}

void pt_buffer_size(struct pt_buffer *buffer, uint64_t bytes)
{
    bool small = bytes < 1 << 20;
    pt_buffer_format(buffer, "%.1f %s", (double)bytes / (small ? 1 << 10 : 1 << 20), small ? "KB" : "MB");
}

void pt_buffer_base64(struct pt_buffer *text, const void *bytes, size_t length)
{
    const unsigned char *data = bytes;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = pt_buffer_room(text, (length + 2) / 3 * 4);
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned bits =
            (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        *at++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[bits & 63] : '=';
    }
    text->length = (size_t)(at - text->data);
}

void pt_buffer_clear(struct pt_buffer *buffer)
{
    buffer->length = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

void pt_buffer_free(struct pt_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct pt_buffer){0};
}

void pt_auto_free(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

static void index_place(struct pt_index *index, uint64_t slot)
{
    uint32_t at = (uint32_t)(slot >> 32) & index->mask;
    while (index->slots[at])
        at = (at + 1) & index->mask;
    index->slots[at] = slot;
}

static void index_grow(struct pt_index *index)
{
    struct pt_index old = *index;
    uint32_t slots = old.slots ? (old.mask + 1) * 2 : FIRST_SLOTS;
    index->slots = pt_alloc(slots, sizeof *index->slots);
    index->mask = slots - 1;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i])
            index_place(index, old.slots[i]);
    free(old.slots);
}

uint32_t pt_index_find(const struct pt_index *index, uint32_t hash, pt_index_equal *equal, const void *table,
                       const void *key)
{
    if (!index->slots)
        return PT_NONE;
    for (uint32_t at = hash & index->mask; index->slots[at]; at = (at + 1) & index->mask) {
        uint32_t item = (uint32_t)index->slots[at] - 1;
        if ((uint32_t)(index->slots[at] >> 32) == hash && equal(table, item, key))
            return item;
    }
    return PT_NONE;
}

void pt_index_add(struct pt_index *index, uint32_t hash, uint32_t item)
{
    if (!index->slots || index->count >= (index->mask + 1) / 4 * 3)
        index_grow(index);
    index_place(index, (uint64_t)hash << 32 | (item + 1));
    index->count++;
}

void pt_index_free(struct pt_index *index)
{
    free(index->slots);
    *index = (struct pt_index){0};
}

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    return value ^ value >> 32;
}

uint32_t pt_hash_words(const uint64_t *words, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = mix(hash ^ words[i]) + 0x9e3779b97f4a7c15u;
    return (uint32_t)mix(hash);
}

uint32_t pt_hash_bytes(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    uint64_t hash = length, word = 0;
    for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix(hash ^ word) + 0x9e3779b97f4a7c15u;
    }
    word = 0;
    if (length)
        memcpy(&word, bytes, length);
    return (uint32_t)mix(hash ^ word);
}
