/* The log writer's encoding, read back by the words of log_format.h and not by the reader's code. */
#include "preload/base/bytes.h"
#include "preload/log/blocks.h"
#include "unit.h"

static struct pp_bytes bytes_of(const struct pp_buffer *buffer)
{
    return (struct pp_bytes){buffer->data, buffer->data + buffer->length, false};
}

TEST(varints_round_trip)
{
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static const int64_t signed_values[] = {0, -1, 1, -64, 63, 64, INT64_MIN, INT64_MAX};
    struct pp_buffer buffer = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        pp_put_varint(&buffer, values[i]);
    for (size_t i = 0; i < sizeof signed_values / sizeof *signed_values; i++)
        pp_put_svarint(&buffer, signed_values[i]);
    struct pp_bytes b = bytes_of(&buffer);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(pp_bytes_uleb(&b), values[i]);
    for (size_t i = 0; i < sizeof signed_values / sizeof *signed_values; i++) {
        uint64_t zigzag = pp_bytes_uleb(&b);
        assert_int_equal((int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1), signed_values[i]);
    }
    assert_false(b.failed);
    assert_int_equal(pp_bytes_left(&b), 0);
}

TEST(records_carry_their_length)
{
    static const size_t sizes[] = {0, 1, 127, 128, 5000, 16383, 16384, 100000};
    static uint8_t content[100000];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 7);
    struct pp_buffer buffer = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t begun = pp_record_begin(&buffer);
        pp_put_bytes(&buffer, content, sizes[i]);
        pp_record_end(&buffer, begun);
    }
    struct pp_bytes b = bytes_of(&buffer);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(pp_bytes_uleb(&b), sizes[i]);
        const uint8_t *p = pp_bytes_advance(&b, sizes[i]);
        assert_non_null(p);
        assert_memory_equal(p, content, sizes[i]);
    }
    assert_int_equal(pp_bytes_left(&b), 0);
}

TEST(fields_have_key_length_value)
{
    struct pp_buffer buffer = {0};
    pp_put_number_field(&buffer, PP_PROCESS_PID, 300);
    pp_put_field(&buffer, PP_PROCESS_HOST, "host", 4);
    struct pp_bytes b = bytes_of(&buffer);
    assert_int_equal(pp_bytes_uleb(&b), PP_PROCESS_PID);
    assert_int_equal(pp_bytes_uleb(&b), 2);
    assert_int_equal(pp_bytes_uleb(&b), 300);
    assert_int_equal(pp_bytes_uleb(&b), PP_PROCESS_HOST);
    assert_int_equal(pp_bytes_uleb(&b), 4);
    assert_memory_equal(pp_bytes_advance(&b, 4), "host", 4);
}

/* Bit by bit, as the polynomial says: another way than the writer's. */
static uint32_t crc_bitwise(const uint8_t *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

TEST(blocks_are_numbered_and_sealed)
{
    assert_int_equal(crc_bitwise((const uint8_t *)"123456789", 9), 0xCBF43926u);
    struct pp_buffer out = {0}, payload = {0};
    uint32_t sequence = 7;
    pp_put_bytes(&payload, "some payload", 12);
    pp_put_block(&out, PP_BLOCK_NOTICE, &payload, &sequence);
    pp_buffer_clear(&payload);
    pp_put_block(&out, PP_BLOCK_END, &payload, &sequence);
    assert_int_equal(sequence, 9);

    struct pp_bytes b = bytes_of(&out);
    static const struct {
        uint32_t type, length, sequence;
    } expected[] = {{PP_BLOCK_NOTICE, 12, 7}, {PP_BLOCK_END, 0, 8}};
    for (int i = 0; i < 2; i++) {
        struct pp_log_block_header header;
        memcpy(&header, pp_bytes_advance(&b, sizeof header), sizeof header);
        assert_int_equal(header.type, expected[i].type);
        assert_int_equal(header.length, expected[i].length);
        assert_int_equal(header.sequence, expected[i].sequence);
        uint8_t covered[12 + 12];
        memcpy(covered, &header.type, 4);
        memcpy(covered + 4, &header.length, 4);
        memcpy(covered + 8, &header.sequence, 4);
        memcpy(covered + 12, pp_bytes_advance(&b, header.length), header.length);
        assert_int_equal(header.crc32, crc_bitwise(covered, 12 + header.length));
    }
    assert_int_equal(pp_bytes_left(&b), 0);
}

TEST(a_failed_payload_is_not_written)
{
    struct pp_buffer out = {0}, payload = {0};
    uint32_t sequence = 0;
    payload.failed = true;
    pp_put_block(&out, PP_BLOCK_SAMPLES, &payload, &sequence);
    assert_int_equal(out.length, 0);
    assert_true(out.failed);
}

TEST(reading_past_the_end_fails_and_stays_failed)
{
    static const uint8_t data[] = {0x80, 0x80};
    struct pp_bytes b = {data, data + sizeof data, false};
    pp_bytes_uleb(&b);
    assert_true(b.failed);
    assert_int_equal(pp_bytes_unsigned(&b, 8), 0);
    assert_null(pp_bytes_advance(&b, 1));
    assert_int_equal(pp_bytes_left(&b), 0);
}
