#include "segment_samples.h"

#include <string.h>

#define TOGETHER 64u /* samples that the sink gets at once */
/* Bytes that can be read at a record that is taken quickly, its length included: six fields, eight bytes at once. */
#define WINDOW (1 + 6 * sizeof(uint64_t))

/* What follows gives the length of a varint, and 0 for what it does not decode. 8 bytes can be read there, whatever
 * they are. */
#define QUICK static inline __attribute__((always_inline)) size_t

/* Of 8 bytes at most. */
QUICK long_varint(const uint8_t *at, uint64_t *value)
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

/* The same, faster for those of 4 bytes at most: as all CPU times below a quarter of a second are. */
QUICK medium_varint(const uint8_t *at, uint64_t *value)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    uint32_t ends = ~word & 0x80808080u;
    if (!ends)
        return long_varint(at, value);
    word &= ends ^ (ends - 1);
    word = (word & 0x007f007fu) | (word & 0x7f007f00u) >> 1;
    *value = (word & 0x00003fffu) | (word & 0x3fff0000u) >> 2;
    return (size_t)__builtin_ctz(ends) / 8 + 1;
}

/* Mostly of one byte or two. */
QUICK short_varint(const uint8_t *at, uint32_t *value)
{
    uint64_t whole = 0;
    *value = at[0];
    if (at[0] < 0x80)
        return 1;
    *value = (at[0] & 0x7fu) | (uint32_t)at[1] << 7;
    if (at[1] < 0x80)
        return 2;
    size_t length = long_varint(at, &whole);
    *value = (uint32_t)whole;
    return length && whole < UINT32_MAX ? length : 0;
}

/* Label set, state and count: nearly always of a byte each. */
QUICK three_varints(const uint8_t *at, struct pt_log_sample *sample)
{
    sample->labels = at[0];
    sample->state = at[1];
    sample->count = at[2];
    if ((at[0] | at[1] | at[2]) < 0x80)
        return 3;
    size_t first = short_varint(at, &sample->labels), second = short_varint(at + first, &sample->state),
           third = long_varint(at + first + second, &sample->count);
    return first && second && third ? first + second + third : 0;
}

/* What take_sample does, for nearly all of them. The length of the record with that before it; 0: take_sample has to
 * decide. */
QUICK take_quickly(const uint8_t *record, const uint8_t *end, struct pt_log_sample *sample)
{
    if ((size_t)(end - record) < WINDOW)
        return 0;
    size_t length = (size_t)*record + 1, step;
    if (length > 0x80 || length > (size_t)(end - record))
        return 0;
    const uint8_t *at = record + 1;
    if (!(step = short_varint(at, &sample->thread)))
        return 0;
    at += step;
    if (!(step = short_varint(at, &sample->node)))
        return 0;
    at += step;
    if (!(step = three_varints(at, sample)))
        return 0;
    at += step;
    if (!(step = medium_varint(at, &sample->cpu_ns)))
        return 0;
    return at + step <= record + length ? length : 0;
}

/* Takes records quickly until there are TOGETHER samples or one that cannot be. Returns how many samples there are. */
static uint32_t take_many(struct pt_cursor *payload, struct pt_log_sample *items, uint32_t count)
{
    const uint8_t *at = payload->at, *end = payload->end;
    size_t length;
    while (count < TOGETHER && (length = take_quickly(at, end, &items[count]))) {
        at += length;
        count++;
    }
    payload->at = at;
    return count;
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

void pt_segment_take_samples(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_sample items[TOGETHER];
    struct pt_log_samples samples = {.items = items};
    bool wanted = sink && sink->samples;
    uint32_t count = 0;
    samples.start_unix_ns = pt_take_varint(payload);
    samples.wall_ns = pt_take_varint(payload);
    while (pt_left(payload)) {
        count = take_many(payload, items, count);
        if (count < TOGETHER && pt_left(payload)) {
            struct pt_cursor record = pt_take(payload, pt_take_varint(payload));
            if (!take_sample(&record, &items[count])) {
                segment->losses.damaged_records++;
                continue;
            }
            count++;
        }
        if (count < TOGETHER)
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
