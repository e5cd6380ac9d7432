#include "segment_samples.h"

#include <string.h>

#define TOGETHER 64u /* samples that the sink gets at once */
/* Bytes that can be read at a record that is taken quickly, its length included: six fields, eight bytes at once. */
#define WINDOW (1 + 6 * sizeof(uint64_t))

/* Varints of 8 bytes at most, where 8 can be read whatever they are; 0 is the length of a longer one. */
static inline __attribute__((always_inline)) size_t long_varint(const uint8_t *at, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t ends = ~word & 0x8080808080808080u;
    if (!ends)
        return 0;
    word &= ends ^ (ends - 1); /* up to its last byte */
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    *value = (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
    return (size_t)__builtin_ctzll(ends) / 8 + 1;
}

static inline __attribute__((always_inline)) size_t short_varint(const uint8_t *at, uint64_t *value)
{
    *value = at[0];
    if (at[0] < 0x80)
        return 1;
    *value = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
    return at[1] < 0x80 ? 2 : long_varint(at, value);
}

/* Label set, state and count: nearly always of a byte each. */
static inline __attribute__((always_inline)) size_t three_varints(const uint8_t *at, uint64_t values[3])
{
    values[0] = at[0];
    values[1] = at[1];
    values[2] = at[2];
    if ((at[0] | at[1] | at[2]) < 0x80)
        return 3;
    size_t first = short_varint(at, &values[0]), second = short_varint(at + first, &values[1]),
           third = short_varint(at + first + second, &values[2]);
    return first && second && third ? first + second + third : 0;
}

/* What take_sample does, for nearly all of them. The length of the record with that before it; 0: take_sample has to
 * decide. */
static inline __attribute__((always_inline)) size_t take_quickly(const uint8_t *record, const uint8_t *end,
                                                                 struct pp_log_sample *sample)
{
    uint64_t thread, node, three[3], cpu_ns;
    if ((size_t)(end - record) < WINDOW)
        return 0;
    size_t length = (size_t)*record + 1, step;
    if (length > 0x80 || length > (size_t)(end - record))
        return 0;
    const uint8_t *at = record + 1;
    if (!(step = short_varint(at, &thread)))
        return 0;
    at += step;
    if (!(step = short_varint(at, &node)))
        return 0;
    at += step;
    if (!(step = three_varints(at, three)))
        return 0;
    at += step;
    if (!(step = long_varint(at, &cpu_ns)))
        return 0;
    at += step;
    if (at > record + length || (thread | node | three[0] | three[1]) >= UINT32_MAX)
        return 0;
    sample->thread = (uint32_t)thread;
    sample->node = (uint32_t)node;
    sample->labels = (uint32_t)three[0];
    sample->state = (uint32_t)three[1];
    sample->count = three[2];
    sample->cpu_ns = cpu_ns;
    return length;
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
    uint32_t count = 0;
    samples.start_unix_ns = pp_take_varint(payload);
    samples.wall_ns = pp_take_varint(payload);
    while (pp_left(payload)) {
        size_t length = take_quickly(payload->at, payload->end, &items[count]);
        payload->at += length;
        if (!length) {
            struct pp_cursor record = pp_take(payload, pp_take_varint(payload));
            if (!take_sample(&record, &items[count])) {
                segment->losses.damaged_records++;
                continue;
            }
        }
        if (++count < TOGETHER)
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
