#include "segment_samples.h"

#include <string.h>

#define TOGETHER 64u /* samples that the sink gets at once */
#define FIELDS   6u

/* A varint of up to 8 bytes, of which all can be read whatever they are; NULL for a longer one. */
static inline __attribute__((always_inline)) const uint8_t *quick_varint(const uint8_t *at, uint64_t *value)
{
    uint64_t word;
    if (*at < 0x80) {
        *value = *at;
        return at + 1;
    }
    memcpy(&word, at, sizeof word);
    uint64_t ends = ~word & 0x8080808080808080u;
    if (!ends)
        return NULL;
    word &= ends ^ (ends - 1); /* up to its last byte */
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    *value = (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
    return at + __builtin_ctzll(ends) / 8 + 1;
}

/* What take_sample does, for nearly all of them; false: it has to decide. `end` is the payload's. */
static inline bool take_quickly(const struct pp_cursor *record, const uint8_t *end, struct pp_log_sample *sample)
{
    uint64_t thread, node, labels, state, count, cpu_ns;
    const uint8_t *at = record->at;
    if (record->bad || (size_t)(end - at) < FIELDS * sizeof(uint64_t))
        return false;
    bool sound = (at = quick_varint(at, &thread)) && (at = quick_varint(at, &node)) &&
                 (at = quick_varint(at, &labels)) && (at = quick_varint(at, &state)) &&
                 (at = quick_varint(at, &count)) && (at = quick_varint(at, &cpu_ns));
    if (!sound || at > record->end || (thread | node | labels | state) >= UINT32_MAX)
        return false;
    *sample =
        (struct pp_log_sample){(uint32_t)thread, (uint32_t)node, (uint32_t)labels, (uint32_t)state, count, cpu_ns};
    return true;
}

static bool take_sample(struct pp_cursor *record, struct pp_log_sample *sample)
{
    sample->thread = pp_take_id(record);
    sample->node = pp_take_id(record);
    sample->labels = pp_take_id(record);
    sample->state = pp_take_small(record);
    sample->count = pp_take_varint(record);
    sample->cpu_ns = pp_take_varint(record);
    return !record->bad;
}

void pp_segment_take_samples(struct pp_segment *segment, struct pp_cursor *payload, const struct pp_segment_sink *sink)
{
    struct pp_log_sample items[TOGETHER];
    struct pp_log_samples samples = {.items = items};
    bool wanted = sink && sink->samples;
    samples.start_unix_ns = pp_take_varint(payload);
    samples.wall_ns = pp_take_varint(payload);
    while (pp_left(payload)) {
        uint64_t length = pp_take_varint(payload);
        struct pp_cursor record = pp_take(payload, length);
        struct pp_log_sample *sample = &items[samples.count];
        if (!take_quickly(&record, payload->end, sample) && !take_sample(&record, sample)) {
            segment->losses.damaged_records++;
            continue;
        }
        if (++samples.count < TOGETHER)
            continue;
        if (wanted)
            sink->samples(sink->context, segment, &samples);
        samples.count = 0;
    }
    if (wanted && samples.count)
        sink->samples(sink->context, segment, &samples);
}
