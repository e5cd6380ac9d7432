/* SPDX-License-Identifier: Apache-2.0 */
#include "segment_tables.h"

#include <string.h>

/* Records are decoded quickly as long as the length of the next one and QUICK bytes of each field can be read. */
#define FIELDS 6u
#define QUICK  8u
#define WINDOW (1 + FIELDS * QUICK)

/* Decodes a varint and returns where it ends. Of one that is longer than QUICK bytes it takes as many: *value does not
 * fit in these then. */
static inline const uint8_t *quick_varint(const uint8_t *at, uint64_t *value)
{
    *value = at[0];
#pragma GCC unroll 8
    for (unsigned i = 1; i < QUICK; i++) {
        if (at[i - 1] < 0x80)
            return at + i;
        *value += ((uint64_t)at[i] - 1) << 7 * i; /* without the highest bit of the byte before it */
    }
    return at + QUICK;
}

/* Takes up to `room` samples as parse_sample does, up to a record that only parse_sample can decide on. */
static uint32_t parse_quickly(struct pt_cursor *payload, struct pt_log_sample *items, uint32_t room)
{
    uint8_t last[2 * WINDOW] = {0};
    const uint8_t *at = payload->at, *end = payload->end, *readable = end;
    uint32_t parsed = 0;
    size_t length;
    for (; parsed < room && at < end; at += length) {
        size_t left = (size_t)(readable - at);
        if (left < WINDOW) { /* the last few are most of a small block */
            memcpy(last, at, left);
            at = last;
            end = last + left;
            readable = last + sizeof last;
        }
        length = 1 + (size_t)*at;
        uint64_t thread, node, labels, state, count, cpu_ns;
        const uint8_t *field = quick_varint(at + 1, &thread);
        field = quick_varint(field, &node);
        if ((field[0] | field[1] | field[2]) < 0x80) { /* as in most */
            labels = field[0], state = field[1], count = field[2];
            field += 3;
        } else {
            field = quick_varint(field, &labels);
            field = quick_varint(field, &state);
            field = quick_varint(field, &count);
        }
        field = quick_varint(field, &cpu_ns);
        if (*at >= 0x80 || length > (size_t)(end - at) || field > at + length ||
            (thread | node | labels | state) >= UINT32_MAX || (count | cpu_ns) >> 7 * QUICK)
            break;
        items[parsed++] =
            (struct pt_log_sample){(uint32_t)thread, (uint32_t)node, (uint32_t)labels, (uint32_t)state, count, cpu_ns};
    }
    payload->at = payload->end - (end - at);
    return parsed;
}

static bool parse_sample(struct pt_cursor *record, struct pt_log_sample *sample)
{
    sample->thread = pt_read_id(record);
    sample->node = pt_read_id(record);
    sample->labels = pt_read_id(record);
    sample->state = pt_read_small(record);
    sample->count = pt_read_varint(record);
    sample->cpu_ns = pt_read_varint(record);
    return !record->bad;
}

void pt_segment_parse_waits(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_wait items[PT_WAITS_MAX + 1] = {{0}};
    struct pt_log_waits waits = {.items = items, .count = 1};
    waits.start_unix_ns = pt_read_varint(payload);
    waits.wall_ns = pt_read_varint(payload);
    while (pt_left(payload)) {
        struct pt_cursor record = pt_read_part(payload, pt_read_varint(payload));
        struct pt_log_wait wait = {.node = pt_read_id(&record)};
        wait.count = pt_read_small(&record);
        if (record.bad)
            segment->losses.damaged_records++;
        else if (wait.node && waits.count <= PT_WAITS_MAX)
            items[waits.count++] = wait;
        else
            items[0].count += wait.count;
    }
    if (sink && sink->waits)
        sink->waits(sink->data, &waits);
}

void pt_segment_parse_samples(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_sample items[PT_SAMPLES_TOGETHER];
    struct pt_log_samples samples = {.items = items};
    bool wanted = sink && sink->samples;
    uint32_t count = 0;
    samples.start_unix_ns = pt_read_varint(payload);
    samples.wall_ns = pt_read_varint(payload);
    if (sink && sink->wants && !sink->wants(sink->data, segment, samples.start_unix_ns, samples.wall_ns))
        return;
    while (pt_left(payload)) {
        count += parse_quickly(payload, items + count, PT_SAMPLES_TOGETHER - count);
        if (count < PT_SAMPLES_TOGETHER && pt_left(payload)) {
            struct pt_cursor record = pt_read_part(payload, pt_read_varint(payload));
            if (parse_sample(&record, &items[count]))
                count++;
            else
                segment->losses.damaged_records++;
        }
        if (count < PT_SAMPLES_TOGETHER && pt_left(payload))
            continue;
        samples.count = count;
        if (wanted && count)
            sink->samples(sink->data, segment, &samples);
        count = 0;
    }
}

static bool read_bytes(struct pt_cursor *record, uint8_t *bytes, size_t length)
{
    struct pt_cursor parsed = pt_read_part(record, length);
    if (!parsed.bad)
        memcpy(bytes, parsed.at, length);
    return !parsed.bad;
}

static bool parse_traced(struct pt_cursor *record, uint64_t start_unix_ns, struct pt_log_traced *sample)
{
    sample->unix_ns = start_unix_ns + (uint64_t)pt_read_svarint(record);
    sample->thread = pt_read_id(record);
    sample->node = pt_read_id(record);
    sample->labels = pt_read_id(record);
    sample->state = pt_read_small(record);
    sample->cpu_ns = pt_read_varint(record);
    return read_bytes(record, sample->trace, PT_TRACE_BYTES) && read_bytes(record, sample->span, PT_SPAN_BYTES);
}

void pt_segment_parse_traced(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    uint64_t start_unix_ns = pt_read_varint(payload);
    while (pt_left(payload)) {
        struct pt_log_traced sample;
        struct pt_cursor record = pt_read_part(payload, pt_read_varint(payload));
        if (!parse_traced(&record, start_unix_ns, &sample))
            segment->losses.damaged_records++;
        else if (sink && sink->traced)
            sink->traced(sink->data, segment, &sample);
    }
}
