/* SPDX-License-Identifier: Apache-2.0 */
#include "segment_tables.h"

#include <string.h>

#define FIELDS 6u /* of a sample's record */
/* A record is decoded quickly only if its length and 8 bytes at each field can be read. */
#define WINDOW (1 + FIELDS * sizeof(uint64_t))

/* Decodes a varint of at most 8 bytes and returns its length, 0 if it is longer. 8 bytes can be read at `at`. */
static inline size_t quick_varint(const uint8_t *at, uint64_t *value)
{
    uint64_t word;
    *value = at[0];
    if (at[0] < 0x80) /* most are short */
        return 1;
    memcpy(&word, at, sizeof word);
    uint64_t ends = ~word & 0x8080808080808080u;
    word &= ends ^ (ends - 1); /* up to its last byte */
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    *value = (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
    return ends ? (size_t)__builtin_ctzll(ends) / 8 + 1 : 0;
}

/* Does what take_sample does, for nearly all records. Returns the length of the record with its own length before it; 0
 * if take_sample has to decide. */
static inline size_t take_quickly(const uint8_t *record, const uint8_t *end, struct pt_log_sample *sample)
{
    uint64_t fields[FIELDS];
    if ((size_t)(end - record) < WINDOW || *record >= 0x80)
        return 0;
    size_t length = (size_t)*record + 1, at = 1, step;
#pragma GCC unroll 6
    for (unsigned i = 0; i < FIELDS; i++, at += step)
        if (!(step = quick_varint(record + at, &fields[i])))
            return 0;
    if (at > length || length > (size_t)(end - record) || (fields[0] | fields[1] | fields[2] | fields[3]) >= UINT32_MAX)
        return 0;
    *sample = (struct pt_log_sample){(uint32_t)fields[0], (uint32_t)fields[1], (uint32_t)fields[2],
                                     (uint32_t)fields[3], fields[4],           fields[5]};
    return length;
}

static bool take_sample(struct pt_cursor *record, struct pt_log_sample *sample)
{
    sample->thread = pt_take_id(record);
    sample->node = pt_take_id(record);
    sample->labels = pt_take_id(record);
    sample->state = pt_take_small(record);
    sample->count = pt_take_varint(record);
    sample->cpu_ns = pt_take_varint(record);
    return !record->bad;
}

void pt_segment_take_waits(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_wait items[PT_WAITS_MAX + 1] = {{0}};
    struct pt_log_waits waits = {.items = items, .count = 1};
    waits.start_unix_ns = pt_take_varint(payload);
    waits.wall_ns = pt_take_varint(payload);
    while (pt_left(payload)) {
        struct pt_cursor record = pt_take(payload, pt_take_varint(payload));
        struct pt_log_wait wait = {.node = pt_take_id(&record)};
        wait.count = pt_take_small(&record);
        if (record.bad)
            segment->losses.damaged_records++;
        else if (wait.node && waits.count <= PT_WAITS_MAX)
            items[waits.count++] = wait;
        else
            items[0].count += wait.count;
    }
    if (sink && sink->waits)
        sink->waits(sink->context, &waits);
}

void pt_segment_take_samples(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_sample items[PT_SAMPLES_TOGETHER];
    struct pt_log_samples samples = {.items = items};
    bool wanted = sink && sink->samples;
    uint32_t count = 0;
    samples.start_unix_ns = pt_take_varint(payload);
    samples.wall_ns = pt_take_varint(payload);
    while (pt_left(payload)) {
        size_t length = take_quickly(payload->at, payload->end, &items[count]);
        payload->at += length;
        if (!length) {
            struct pt_cursor record = pt_take(payload, pt_take_varint(payload));
            if (!take_sample(&record, &items[count])) {
                segment->losses.damaged_records++;
                continue;
            }
        }
        if (++count < PT_SAMPLES_TOGETHER)
            continue;
        samples.count = count;
        if (wanted)
            sink->samples(sink->context, segment, &samples);
        count = 0;
    }
    samples.count = count;
    if (wanted && count)
        sink->samples(sink->context, segment, &samples);
}

static bool take_bytes(struct pt_cursor *record, uint8_t *bytes, size_t length)
{
    struct pt_cursor taken = pt_take(record, length);
    if (!taken.bad)
        memcpy(bytes, taken.at, length);
    return !taken.bad;
}

static bool take_traced(struct pt_cursor *record, uint64_t start_unix_ns, struct pt_log_traced *sample)
{
    sample->unix_ns = start_unix_ns + (uint64_t)pt_take_svarint(record);
    sample->thread = pt_take_id(record);
    sample->node = pt_take_id(record);
    sample->labels = pt_take_id(record);
    sample->state = pt_take_small(record);
    sample->cpu_ns = pt_take_varint(record);
    return take_bytes(record, sample->trace, PT_TRACE_BYTES) && take_bytes(record, sample->span, PT_SPAN_BYTES);
}

void pt_segment_take_traced(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    uint64_t start_unix_ns = pt_take_varint(payload);
    while (pt_left(payload)) {
        struct pt_log_traced sample;
        struct pt_cursor record = pt_take(payload, pt_take_varint(payload));
        if (!take_traced(&record, start_unix_ns, &sample))
            segment->losses.damaged_records++;
        else if (sink && sink->traced)
            sink->traced(sink->context, segment, &sample);
    }
}
