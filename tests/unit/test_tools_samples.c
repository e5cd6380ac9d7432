/* Samples are decoded as they were written, whatever their length. */
#include "profile_fixture.h"
#include "random.h"
#include "tools/log/reader.h"

static void append_sample(struct fixture_bytes *payload, const uint64_t fields[6])
{
    AUTO_BYTES record = {0};
    for (int i = 0; i < 6; i++)
        fixture_varint(&record, fields[i]);
    fixture_varint(payload, record.length);
    fixture_append(payload, record.data, record.length);
}

struct seen {
    uint64_t (*wanted)[6];
    uint32_t count;
};

static void see(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    (void)segment;
    struct seen *seen = data;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct pt_log_sample *item = &samples->items[i];
        const uint64_t fields[] = {item->thread, item->node, item->labels, item->state, item->count, item->cpu_ns};
        assert_memory_equal(fields, seen->wanted[seen->count++], sizeof fields);
    }
}

/* Fields of all lengths, in every place, up to the very end of the payload. */
TEST(samples_are_decoded_as_written)
{
    enum { COUNT = 2000 };
    static uint64_t wanted[COUNT][6];
    AUTO_FIXTURE log;
    struct fixture_bytes payload = {0};
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    struct seen seen = {.wanted = wanted};
    const struct pt_segment_sink sink = {.data = &seen, .samples = see};
    fixture_begin(&log);
    fixture_varint(&payload, 1);
    fixture_varint(&payload, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        for (int field = 0; field < 6; field++) {
            uint64_t value = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
            uint32_t shortest = field < 4 ? 33 : 0;
            value >>= random_below(3) ? 57 : shortest + random_below(64 - shortest);
            wanted[i][field] = value;
        }
        append_sample(&payload, wanted[i]);
    }
    fixture_block(&log, PP_BLOCK_SAMPLES, payload.data, payload.length);
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, NULL, &segment, &sink), PT_READ_OK);
    assert_int_equal(seen.count, COUNT);
    assert_int_equal(segment.losses.damaged_records, 0);
    free(payload.data);
}

/* The length is what counts: what stands behind the fields in a record is of a newer writer, what is missing is damage.
 */
TEST(records_end_where_they_say)
{
    static uint64_t wanted[][6] = {{1, 2, 3, 4, 5, 6}, {1, 300, 0, 1, 1, 10000000}, {7, 7, 7, 7, 7, 7}};
    AUTO_FIXTURE log;
    struct fixture_bytes payload = {0};
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    struct seen seen = {.wanted = wanted};
    const struct pt_segment_sink sink = {.data = &seen, .samples = see};
    static const unsigned char longer[] = {9, 1, 2, 3, 4, 5, 6, 0xff, 0xff, 0x7f}, shorter[] = {5, 1, 2, 3, 4, 5};
    static const unsigned char cut[] = {6, 1, 2, 3, 4, 5, 0x86};
    fixture_begin(&log);
    fixture_varint(&payload, 1);
    fixture_varint(&payload, 1);
    fixture_append(&payload, longer, sizeof longer);
    fixture_append(&payload, shorter, sizeof shorter);
    append_sample(&payload, wanted[1]);
    fixture_append(&payload, cut, sizeof cut);
    for (uint32_t i = 0; i < 20; i++) { /* so that the above are not at the end */
        static const unsigned char empty[] = {0, 0, 0};
        fixture_append(&payload, empty, sizeof empty);
    }
    append_sample(&payload, wanted[2]);
    fixture_block(&log, PP_BLOCK_SAMPLES, payload.data, payload.length);
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, NULL, &segment, &sink), PT_READ_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(segment.losses.damaged_records, 62);
    free(payload.data);
}
