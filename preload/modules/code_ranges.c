/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a sorted list of blocks of sorted ranges: code comes in any order, up to 100,000 ranges at once.
 */
#include "code_ranges.h"
#include <string.h>

#define BLOCK_BYTES  16384
#define BLOCK_RANGES ((BLOCK_BYTES - sizeof(uint64_t)) / sizeof(struct pp_code_range))
#define FIRST_BLOCKS 512
#define MIN_PACK     1024u /* names that are refused before the others are packed again */

struct pp_code_block {
    uint64_t count; /* never 0 */
    struct pp_code_range ranges[BLOCK_RANGES];
};

/* A position in the table; block == block_count: after the last range. */
struct place {
    uint32_t block, at;
};

static uintptr_t end_of(const struct pp_code_range *range)
{
    return range->start + range->size;
}

/* Finds the first range that ends after the address. */
static struct place place_of(const struct pp_code_ranges *ranges, uintptr_t address)
{
    uint32_t low = 0, high = ranges->block_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct pp_code_block *block = ranges->blocks[middle];
        if (end_of(&block->ranges[block->count - 1]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    struct place place = {low, 0};
    if (low == ranges->block_count)
        return place;
    const struct pp_code_block *block = ranges->blocks[low];
    low = 0;
    high = (uint32_t)block->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (end_of(&block->ranges[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    place.at = low;
    return place;
}

static struct pp_code_range *range_at(const struct pp_code_ranges *ranges, struct place place)
{
    return place.block < ranges->block_count ? &ranges->blocks[place.block]->ranges[place.at] : NULL;
}

static void remove_at(struct pp_code_ranges *ranges, struct place place)
{
    struct pp_code_block *block = ranges->blocks[place.block];
    memmove(&block->ranges[place.at], &block->ranges[place.at + 1],
            (block->count - place.at - 1) * sizeof *block->ranges);
    ranges->count--;
    if (--block->count)
        return;
    pp_unmap(block, sizeof *block);
    ranges->block_count--;
    memmove(&ranges->blocks[place.block], &ranges->blocks[place.block + 1],
            (ranges->block_count - place.block) * sizeof(struct pp_code_block *));
}

static bool insert_block(struct pp_code_ranges *ranges, uint32_t at)
{
    if (ranges->block_count == ranges->block_capacity) {
        uint32_t capacity = ranges->block_capacity ? 2 * ranges->block_capacity : FIRST_BLOCKS;
        struct pp_code_block **more = pp_remap(ranges->blocks, ranges->block_capacity * sizeof(struct pp_code_block *),
                                               capacity * sizeof(struct pp_code_block *));
        if (!more)
            return false;
        ranges->blocks = more;
        ranges->block_capacity = capacity;
    }
    struct pp_code_block *block = pp_map(sizeof *block);
    if (!block)
        return false;
    memmove(&ranges->blocks[at + 1], &ranges->blocks[at], (ranges->block_count - at) * sizeof(struct pp_code_block *));
    ranges->blocks[at] = block;
    ranges->block_count++;
    return true;
}

/* Makes room at the place, which may move to another block. */
static bool make_room(struct pp_code_ranges *ranges, struct place *place)
{
    if (place->block == ranges->block_count && ranges->block_count) {
        place->block--;
        place->at = (uint32_t)ranges->blocks[place->block]->count;
    }
    if (!ranges->block_count)
        return insert_block(ranges, 0);
    struct pp_code_block *block = ranges->blocks[place->block];
    if (block->count < BLOCK_RANGES)
        return true;
    if (!insert_block(ranges, place->block + 1))
        return false;
    /* code mostly comes in ascending order, which leaves full blocks full */
    uint32_t stay = place->at == block->count ? place->at : (uint32_t)block->count / 2;
    struct pp_code_block *next = ranges->blocks[place->block + 1];
    next->count = block->count - stay;
    memcpy(next->ranges, &block->ranges[stay], next->count * sizeof *next->ranges);
    block->count = stay;
    if (place->at >= stay && (place->at > stay || !next->count)) {
        place->block++;
        place->at -= stay;
    }
    return true;
}

/* Inserts a range that overlaps no other. */
static bool insert(struct pp_code_ranges *ranges, const struct pp_code_range *range)
{
    struct place place = place_of(ranges, range->start);
    if (ranges->count >= PP_CODE_RANGES_MAX || !make_room(ranges, &place)) {
        ranges->dropped++;
        return false;
    }
    struct pp_code_block *block = ranges->blocks[place.block];
    memmove(&block->ranges[place.at + 1], &block->ranges[place.at], (block->count - place.at) * sizeof *block->ranges);
    block->ranges[place.at] = *range;
    block->count++;
    ranges->count++;
    return true;
}

/* Removes [start, end) from all ranges; true if one of them had another name. */
static bool clear_range(struct pp_code_ranges *ranges, uintptr_t start, uintptr_t end, uint32_t name)
{
    bool other = false;
    struct place place;
    struct pp_code_range *found;
    while ((found = range_at(ranges, (place = place_of(ranges, start)))) && found->start < end) {
        struct pp_code_range old = *found, right = old;
        other |= old.name != name;
        if (end_of(&old) > end) {
            right.start = end;
            right.size = (uint32_t)(end_of(&old) - end);
        }
        if (old.start < start)
            found->size = (uint32_t)(start - old.start);
        else
            remove_at(ranges, place);
        if (end_of(&old) > end)
            insert(ranges, &right);
    }
    return other;
}

/* Returns the length of the UTF-8 character at text, 0 if it is invalid. */
static size_t character(const uint8_t *text, size_t left)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xC2 && text[0] < 0xE0 ? 2 : (text[0] & 0xF0) == 0xE0 ? 3 : 4;
    if (text[0] >= 0x80 && (text[0] < 0xC2 || text[0] > 0xF4))
        return 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

static size_t clean(char *to, const char *name, size_t length)
{
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        size_t size = character((const uint8_t *)name + at, length - at);
        if (used + (size ? size : 1) > PP_CODE_NAME_MAX)
            break;
        if (size == 0 || (uint8_t)name[at] < ' ' || name[at] == 0x7F)
            to[used++] = '?';
        else
            memcpy(to + used, name + at, size), used += size;
        at += size ? size : 1;
    }
    return used;
}

/* Removes the names whose code is gone. */
static void pack_names(struct pp_code_ranges *ranges)
{
    struct pp_arena arena = {0};
    struct pp_intern names;
    bool fresh;
    ranges->refused = 0;
    pp_intern_init(&names, &arena);
    for (uint32_t b = 0; b < ranges->block_count; b++)
        for (uint64_t i = 0; i < ranges->blocks[b]->count; i++) {
            struct pp_code_range *range = &ranges->blocks[b]->ranges[i];
            const struct pp_intern_entry *entry = pp_intern_entry(&ranges->names, range->name);
            if (!pp_intern(&names, pp_intern_key(entry), entry->length, &fresh)) {
                pp_arena_reset(&arena);
                ranges->crowded = true;
                return;
            }
        }
    for (uint32_t b = 0; b < ranges->block_count; b++)
        for (uint64_t i = 0; i < ranges->blocks[b]->count; i++) {
            struct pp_code_range *range = &ranges->blocks[b]->ranges[i];
            const struct pp_intern_entry *entry = pp_intern_entry(&ranges->names, range->name);
            range->name = pp_intern(&names, pp_intern_key(entry), entry->length, &fresh);
        }
    pp_arena_reset(&ranges->arena);
    ranges->arena = arena;
    ranges->names = names;
    ranges->names.arena = &ranges->arena;
    ranges->crowded = arena.mapped > PP_CODE_NAMES_MAX / 2;
}

static uint32_t name_id(struct pp_code_ranges *ranges, const char *name, size_t length)
{
    char text[PP_CODE_NAME_MAX];
    bool fresh;
    if (!ranges->names.arena)
        pp_intern_init(&ranges->names, &ranges->arena);
    /* packing all names costs no more than the refusals before it */
    if (ranges->arena.mapped > PP_CODE_NAMES_MAX &&
        (!ranges->crowded || (ranges->refused >= MIN_PACK && ranges->refused >= ranges->count)))
        pack_names(ranges);
    if (ranges->arena.mapped > PP_CODE_NAMES_MAX) {
        ranges->refused++;
        return 0;
    }
    return pp_intern(&ranges->names, text, (uint32_t)clean(text, name, length), &fresh);
}

bool pp_code_ranges_put(struct pp_code_ranges *ranges, uintptr_t start, uint64_t size, const char *name, size_t length,
                        uint32_t source, uint32_t refresh)
{
    if (!start || !size || !length || size > PP_CODE_RANGE_SIZE_MAX || start > UINTPTR_MAX - size)
        return false;
    uint32_t id = name_id(ranges, name, length);
    if (!id)
        ranges->dropped++;
    /* what was there is gone even if the new range has no room */
    bool other = clear_range(ranges, start, start + size, id);
    struct pp_code_range range = {start, (uint32_t)size, id, source, other ? refresh : 0};
    return id && insert(ranges, &range);
}

const struct pp_code_range *pp_code_ranges_find(const struct pp_code_ranges *ranges, uintptr_t address)
{
    const struct pp_code_range *range = range_at(ranges, place_of(ranges, address));
    return range && range->start <= address ? range : NULL;
}

const char *pp_code_ranges_name(const struct pp_code_ranges *ranges, const struct pp_code_range *range, size_t *length)
{
    const struct pp_intern_entry *entry = pp_intern_entry(&ranges->names, range->name);
    *length = entry->length;
    return pp_intern_key(entry);
}

void pp_code_ranges_remove(struct pp_code_ranges *ranges, bool (*gone)(uint32_t source, void *arg), void *arg)
{
    uint32_t kept_blocks = 0;
    ranges->count = 0;
    for (uint32_t b = 0; b < ranges->block_count; b++) {
        struct pp_code_block *block = ranges->blocks[b];
        uint64_t kept = 0;
        for (uint64_t i = 0; i < block->count; i++)
            if (!gone(block->ranges[i].source, arg))
                block->ranges[kept++] = block->ranges[i];
        block->count = kept;
        ranges->count += (uint32_t)kept;
        if (kept)
            ranges->blocks[kept_blocks++] = block;
        else
            pp_unmap(block, sizeof *block);
    }
    ranges->block_count = kept_blocks;
    ranges->crowded = false;
}

void pp_code_ranges_clear(struct pp_code_ranges *ranges)
{
    for (uint32_t b = 0; b < ranges->block_count; b++)
        pp_unmap(ranges->blocks[b], sizeof(struct pp_code_block));
    if (ranges->blocks)
        pp_unmap(ranges->blocks, ranges->block_capacity * sizeof(struct pp_code_block *));
    pp_arena_reset(&ranges->arena);
    *ranges = (struct pp_code_ranges){0};
}
