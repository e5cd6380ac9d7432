/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../base/gzip.h"
#include "../base/memory.h"
#include "segment_tables.h"

/* Block types above this are taken for damage where the block's CRC cannot be checked. */
#define PLAUSIBLE_TYPES 1024u
/* Wrong CRCs may be computed over this many times the file's size. After that, blocks count as damaged without a check:
 * damage must not make reading quadratic. */
#define SEARCH_BUDGET 4u
/* A block that is found after damage is believed if its sequence number is within this distance of the expected one. */
#define PLAUSIBLE_GAP 4096u
/* If none of this many bytes can be read, the rest of a block will not make them readable. */
#define HOPELESS (2 * (size_t)PP_LOG_MAX_BLOCK)

struct scan {
    const uint8_t *data;
    size_t size;
    size_t crc_budget;
};

/* Reads the header at a place; false when it does not fit or cannot be one. */
static bool header_at(const struct scan *scan, size_t at, struct pp_log_block_header *header)
{
    if (at > scan->size || scan->size - at < sizeof *header)
        return false;
    memcpy(header, scan->data + at, sizeof *header);
    return header->type && header->type <= PLAUSIBLE_TYPES && header->length <= PP_LOG_MAX_BLOCK;
}

/* Returns whether the next segment of the same file begins here. */
static bool is_file_header(const struct scan *scan, size_t at)
{
    return pt_segment_begins(scan->data + at, scan->size - at);
}

static bool payload_fits(const struct scan *scan, size_t at, const struct pp_log_block_header *header)
{
    return header->length <= scan->size - at - sizeof *header;
}

/* Only a wrong CRC costs budget: after a right one the block is not read again. */
static bool crc_right(struct scan *scan, size_t at, const struct pp_log_block_header *header)
{
    size_t cost = sizeof *header + header->length;
    if (cost > scan->crc_budget)
        return false;
    const uint32_t words[] = {header->type, header->length, header->sequence};
    uint32_t crc = pt_crc32(0, words, sizeof words);
    if (pt_crc32(crc, scan->data + at + sizeof *header, header->length) == header->crc32)
        return true;
    scan->crc_budget -= cost;
    return false;
}

/* Returns the next place after a damaged block where a sound block or another segment starts, or the end of the file.
 * `next` is the sequence number that the damaged block should have had. */
static size_t find_sound_block(struct scan *scan, size_t damaged, uint32_t next)
{
    struct pp_log_block_header header;
    if (header_at(scan, damaged, &header) && payload_fits(scan, damaged, &header)) {
        size_t after = damaged + sizeof header + header.length;
        struct pp_log_block_header following;
        if (after == scan->size || is_file_header(scan, after) ||
            (header_at(scan, after, &following) && following.sequence == next + 1))
            return after;
    }
    for (size_t at = damaged + 1; at < scan->size; at++) {
        if (is_file_header(scan, at))
            return at;
        if (header_at(scan, at, &header) && payload_fits(scan, at, &header) &&
            header.sequence - next + PLAUSIBLE_GAP <= 2 * PLAUSIBLE_GAP && crc_right(scan, at, &header))
            return at;
    }
    return scan->size;
}

PT_DEFINE_IDENTITY(seen, struct pt_log_seen, item->number)

static bool is_first(struct pt_segment *segment, uint32_t sequence)
{
    const struct pt_log_seen wanted = {.number = sequence / 64};
    const uint64_t block = UINT64_C(1) << sequence % 64;
    uint32_t last = segment->seen.count - 1;
    uint32_t number = segment->seen.count && segment->seen.items[last].number == wanted.number
                          ? last
                          : PT_FIND_OR_APPEND(&segment->seen, seen_hash(&wanted), seen_same, &wanted, wanted);
    bool first = !(segment->seen.items[number].blocks & block);
    segment->seen.items[number].blocks |= block;
    return first;
}

/* Blocks may be in another order than they were written in; a block that was read before would count twice. */
static void parse_block(struct pt_segment *segment, const struct pp_log_block_header *header, const uint8_t *payload,
                        size_t at, const struct pt_segment_sink *sink)
{
    if (sink && sink->block)
        sink->block(sink->data, segment, header, at);
    if (!is_first(segment, header->sequence)) {
        segment->losses.repeated_blocks++;
        return;
    }
    if (header->sequence > segment->next)
        segment->losses.missing_blocks += header->sequence - segment->next;
    segment->next = header->sequence + 1;
    if (!pt_segment_parse_block(segment, header->type, pt_cursor(payload, header->length), sink))
        segment->losses.unknown_blocks++;
    if (sink && sink->block_end)
        sink->block_end(sink->data, segment, header);
}

/* Returns whether the segment's tables point into blocks of this type; the others are decoded into numbers. */
static bool is_referred_to(uint32_t type)
{
    return type == PP_BLOCK_STRINGS || type == PP_BLOCK_MODULES || type == PP_BLOCK_LABELS;
}

/* Returns the blocks of a DEFLATED one, which stay until the segment is freed; NULL if it is damaged. */
static const uint8_t *inflated(struct pt_segment *segment, const uint8_t *payload, size_t length, size_t *size)
{
    size_t most = length * PP_LOG_MOST_DEFLATED < PP_LOG_MAX_BLOCK ? length * PP_LOG_MOST_DEFLATED : PP_LOG_MAX_BLOCK;
    uint8_t *blocks = pt_alloc(most + 1, 1);
    uLongf got = most;
    bool good = uncompress(blocks, &got, payload, length) == Z_OK;
    const uint8_t *kept = good ? pt_keep(&segment->kept, blocks, got) : NULL;
    free(blocks);
    segment->inflated += good ? got : 0;
    *size = got;
    return kept;
}

/* Returns whether a growing segment is read up to this block only. */
static bool is_later(struct pt_segment *segment, uint32_t type, struct pt_cursor payload,
                     const struct pt_segment_sink *sink)
{
    if (type != PP_BLOCK_SAMPLES || !sink || !sink->later)
        return false;
    uint64_t start_unix_ns = pt_read_varint(&payload), end_unix_ns = start_unix_ns + pt_read_varint(&payload);
    bool later = sink->later(sink->data, segment, end_unix_ns);
    segment->later_ns = later ? end_unix_ns : 0;
    return later;
}

/* Parses the blocks in a DEFLATED one. Returns whether that was all. */
static bool parse_deflated(struct pt_segment *segment, const uint8_t *payload, size_t length, size_t at, bool growing,
                           const struct pt_segment_sink *sink)
{
    size_t size = 0, inner = 0;
    uint32_t done = 0;
    const uint8_t *blocks = inflated(segment, payload, length, &size);
    struct scan scan = {blocks, size, pt_read_budget(size)};
    struct pp_log_block_header header;
    while (blocks && inner < size && header_at(&scan, inner, &header) && payload_fits(&scan, inner, &header) &&
           crc_right(&scan, inner, &header)) {
        const uint8_t *inside = blocks + inner + sizeof header;
        if (done >= segment->inner) {
            if (growing && is_later(segment, header.type, pt_cursor(inside, header.length), sink))
                return false;
            parse_block(segment, &header, inside, at, sink);
            segment->inner += growing;
        }
        done++;
        inner += sizeof header + header.length;
    }
    segment->inner = 0;
    if (!blocks || inner < size) {
        segment->losses.damaged_blocks++;
        segment->losses.damaged_bytes += blocks ? size - inner : length;
    }
    return true;
}

/* Returns where another segment begins after a block that its writer has not finished, as in files that `cat` made;
 * `at` if there is none. Names may hold any bytes: only a whole first block is believed. */
static size_t after_cut(const struct scan *scan, size_t at, struct pt_segment *segment)
{
    for (size_t next = at + 1; next < scan->size; next++) {
        struct pt_segment other;
        if (!is_file_header(scan, next))
            continue;
        bool begins = pt_segment_read_process(scan->data + next, scan->size - next, &other) == PT_READ_OK;
        begins = begins && other.has_process;
        pt_segment_free(&other);
        if (!begins)
            continue;
        segment->losses.truncated_bytes += next - at;
        return next;
    }
    return at;
}

enum extent { WHOLE_SEGMENT, ONLY_PROCESS, GROWING };

/* Reads blocks up to the end of the data or the next segment and returns where it stopped. In a GROWING file it stops
 * before what more of the file may make readable. */
static size_t read_blocks(struct scan *scan, size_t at, struct pt_segment *segment, const struct pt_segment_sink *sink,
                          enum extent extent)
{
    struct pt_read_losses *losses = &segment->losses;
    struct pp_log_block_header header;
    while (at < scan->size && !is_file_header(scan, at) && !(extent == ONLY_PROCESS && segment->has_process)) {
        bool possible = header_at(scan, at, &header), whole = possible && payload_fits(scan, at, &header);
        if (whole && crc_right(scan, at, &header)) {
            const uint8_t *payload = scan->data + at + sizeof header;
            if (extent == GROWING && is_later(segment, header.type, pt_cursor(payload, header.length), sink))
                return at;
            if (extent == GROWING && is_referred_to(header.type))
                payload = pt_keep(&segment->kept, payload, header.length);
            if (header.type == PP_BLOCK_DEFLATED && sink && sink->block)
                sink->block(sink->data, segment, &header, at);
            if (header.type != PP_BLOCK_DEFLATED)
                parse_block(segment, &header, payload, at, sink);
            else if (!parse_deflated(segment, payload, header.length, at, extent == GROWING, sink))
                return at;
            at += sizeof header + header.length;
            continue;
        }
        if (extent == GROWING && scan->size - at < sizeof header)
            return at;
        if (extent == GROWING && possible && !whole)
            return after_cut(scan, at, segment);
        size_t sound = find_sound_block(scan, at, segment->next);
        if (extent == GROWING && sound == scan->size) {
            if (scan->size - at < HOPELESS)
                return at;
            sound -= PP_LOG_MAX_BLOCK;
        }
        whole = whole && header.length <= sound - at - sizeof header;
        if (extent != GROWING && !whole && (sound == scan->size || is_file_header(scan, sound))) {
            losses->truncated_bytes = sound - at;
            return sound;
        }
        losses->damaged_blocks++;
        losses->damaged_bytes += sound - at;
        segment->next++;
        at = sound;
    }
    return at;
}

static enum pt_read_result read_file_header(const void *data, size_t size)
{
    struct pp_log_file_header header;
    if (size < sizeof header.magic)
        return PT_READ_NOT_A_PROFILE;
    memcpy(&header, data, size < sizeof header ? size : sizeof header);
    if (memcmp(header.magic, PP_LOG_MAGIC, sizeof header.magic) != 0)
        return memcmp(header.magic, PP_LOG_MAGIC, 6) == 0 ? PT_READ_TEXT_MODE : PT_READ_NOT_A_PROFILE;
    if (size < sizeof header)
        return PT_READ_OK;
    if (header.byte_order != PP_LOG_BYTE_ORDER)
        return PT_READ_BYTE_ORDER;
    return header.version == PP_LOG_VERSION ? PT_READ_OK : PT_READ_VERSION;
}

static enum pt_read_result read_segment(const void *data, size_t size, struct pt_segment *segment,
                                        const struct pt_segment_sink *sink, size_t *budget, enum extent extent)
{
    *segment = (struct pt_segment){.size = size, .end = size};
    enum pt_read_result result = read_file_header(data, size);
    if (result != PT_READ_OK)
        return result;
    if (size < sizeof(struct pp_log_file_header)) {
        segment->losses.truncated_bytes = size;
        return PT_READ_OK;
    }
    struct scan scan = {data, size, budget ? *budget : pt_read_budget(size)};
    segment->end = read_blocks(&scan, sizeof(struct pp_log_file_header), segment, sink, extent);
    if (budget)
        *budget = scan.crc_budget;
    return PT_READ_OK;
}

enum pt_read_result pt_segment_read(const void *data, size_t size, size_t *budget, struct pt_segment *segment,
                                    const struct pt_segment_sink *sink)
{
    return read_segment(data, size, segment, sink, budget, WHOLE_SEGMENT);
}

enum pt_read_result pt_segment_read_process(const void *data, size_t size, struct pt_segment *segment)
{
    return read_segment(data, size, segment, NULL, NULL, ONLY_PROCESS);
}

enum pt_read_result pt_segment_read_on(const void *data, size_t size, struct pt_segment *segment,
                                       const struct pt_segment_sink *sink)
{
    struct scan scan = {data, size, pt_read_budget(size)};
    size_t at = 0;
    segment->later_ns = 0;
    if (!segment->end) {
        if (size < sizeof(struct pp_log_file_header))
            return PT_READ_OK;
        enum pt_read_result result = read_file_header(data, size);
        if (result != PT_READ_OK)
            return result;
        at = sizeof(struct pp_log_file_header);
    }
    segment->size = segment->end + size;
    size_t end = read_blocks(&scan, at, segment, sink, GROWING);
    segment->end += end > at ? end : 0; /* a header alone says nothing yet */
    return PT_READ_OK;
}

bool pt_segment_begins(const void *data, size_t size)
{
    static const char magic[] = PP_LOG_MAGIC;
    return size >= sizeof(struct pp_log_file_header) && memcmp(data, magic, sizeof magic - 1) == 0;
}

size_t pt_read_budget(size_t size)
{
    return size * SEARCH_BUDGET;
}

void pt_segment_release(struct pt_segment *segment)
{
    for (int kind = 0; kind < PT_TABLE_COUNT; kind++) {
        struct pt_log_table *table = &segment->tables[kind];
        if (kind == PT_TABLE_THREADS)
            continue;
        free(table->items);
        *table = (struct pt_log_table){.first = table->end, .end = table->end, .released = table->end};
    }
    pt_free_kept(&segment->kept);
}

void pt_segment_free(struct pt_segment *segment)
{
    for (int kind = 0; kind < PT_TABLE_COUNT; kind++)
        free(segment->tables[kind].items);
    pt_free_kept(&segment->kept);
    pt_free_kept(&segment->texts);
    PT_FREE_TABLE(&segment->seen);
    *segment = (struct pt_segment){0};
}

const char *pt_read_result_text(enum pt_read_result result)
{
    switch (result) {
    case PT_READ_OK:
        return "read";
    case PT_READ_NOT_A_PROFILE:
        return "not a pyprof profile (those end in " PP_LOG_SUFFIX " and are made by libpyprof.so)";
    case PT_READ_TEXT_MODE:
        return "damaged by a transfer in text mode: copy it again in binary mode";
    case PT_READ_BYTE_ORDER:
        return "written on a machine of another byte order: read it on such a machine";
    case PT_READ_VERSION:
        return "written by another version of libpyprof.so: use the pyprof that came with it";
    }
    return "unknown";
}
