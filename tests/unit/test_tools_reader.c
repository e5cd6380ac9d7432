/* The log reader: round trip, and every way a file can be cut or damaged. */
#include "profile_fixture.h"
#include "tools/log/reader.h"

#define PID  100
#define BIAS 0x7f0000000000u

struct seen {
    unsigned samples, notices, redefined;
    uint64_t cpu_ns, count;
};

static void see_samples(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    struct seen *seen = data;
    (void)segment;
    seen->samples += samples->count;
    for (uint32_t i = 0; i < samples->count; i++) {
        seen->cpu_ns += samples->items[i].cpu_ns;
        seen->count += samples->items[i].count;
    }
}

static void see_notice(void *data, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                       struct pt_text text)
{
    (void)segment, (void)unix_ns, (void)severity;
    ((struct seen *)data)->notices += text.length == strlen("only information");
}

static void see_redefined(void *data, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    (void)segment;
    (void)kind, (void)id;
    ((struct seen *)data)->redefined++;
}

/* Reads from a block of exactly this size, so that a sanitizer sees any byte too much. */
static enum pt_read_result read_copy(const void *data, size_t size, struct seen *seen, struct pt_read_losses *losses)
{
    void *copy = malloc(size ? size : 1);
    struct pt_segment segment;
    const struct pt_segment_sink sink = {
        .data = seen, .samples = see_samples, .notice = see_notice, .redefined = see_redefined};
    memcpy(copy, data, size);
    *seen = (struct seen){0};
    enum pt_read_result result = pt_segment_read(copy, size, NULL, &segment, &sink);
    *losses = segment.losses;
    pt_segment_free(&segment);
    free(copy);
    return result;
}

static bool same_text(struct pt_text text, const char *wanted)
{
    return text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

TEST(reads_what_was_written)
{
    AUTO_FIXTURE log;
    struct seen seen = {0};
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    const struct pt_segment_sink sink = {
        .data = &seen, .samples = see_samples, .notice = see_notice, .redefined = see_redefined};
    fixture_example(&log, PID, BIAS);
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, NULL, &segment, &sink), PT_READ_OK);
    static const struct pt_read_losses none;
    assert_memory_equal(&segment.losses, &none, sizeof none);
    assert_int_equal(seen.samples, 6);
    assert_int_equal(seen.count, 9);
    assert_int_equal(seen.cpu_ns, FIXTURE_SAMPLES_NS);
    assert_int_equal(seen.notices, 1);
    assert_int_equal(seen.redefined, 0);
    assert_true(same_text(segment.process.run, "run-1"));
    assert_true(same_text(segment.process.cwd, "/srv/app"));
    assert_int_equal(segment.process.pid, PID);
    assert_int_equal(segment.end_reason, PP_END_EXIT);
    assert_true(segment.has_accounting);
    assert_int_equal(segment.accounting.pending_ns, FIXTURE_PENDING_NS);
    assert_true(segment.accounting.difference_ns == -1000);
    const struct pt_log_module *module = pt_segment_find(&segment, PT_TABLE_MODULES, 1);
    assert_non_null(module);
    assert_true(same_text(pt_segment_string(&segment, module->path), "/opt/py/bin/python"));
    assert_int_equal(module->build_id.length, 5);
    assert_int_equal(module->flags, PP_MODULE_MAIN | PP_MODULE_PYTHON);
    const struct pt_log_code *code = pt_segment_find(&segment, PT_TABLE_CODES, 1);
    assert_true(code && same_text(pt_segment_string(&segment, code->qualname), "main") && code->first_line == 10);
    assert_null(pt_segment_find(&segment, PT_TABLE_CODES, 0));
    assert_null(pt_segment_find(&segment, PT_TABLE_CODES, 3));
    assert_null(pt_segment_find(&segment, PT_TABLE_CODES, UINT64_MAX));
}

TEST(a_file_cut_anywhere_is_read_up_to_there)
{
    AUTO_FIXTURE log;
    struct seen seen;
    struct pt_read_losses losses;
    uint64_t before = 0;
    fixture_example(&log, PID, BIAS);
    for (size_t size = 0; size <= log.file.length; size++) {
        enum pt_read_result result = read_copy(log.file.data, size, &seen, &losses);
        assert_int_equal(result, size < sizeof PP_LOG_MAGIC - 1 ? PT_READ_NOT_A_PROFILE : PT_READ_OK);
        assert_true(seen.cpu_ns >= before);
        assert_int_equal(losses.damaged_blocks, 0);
        assert_int_equal(losses.damaged_records, 0);
        assert_int_equal(losses.missing_blocks, 0);
        before = seen.cpu_ns;
    }
    assert_int_equal(before, FIXTURE_SAMPLES_NS);
}

TEST(a_flipped_bit_costs_one_block)
{
    AUTO_FIXTURE log;
    struct seen seen;
    struct pt_read_losses losses;
    fixture_example(&log, PID, BIAS);
    for (size_t at = 0; at < log.file.length; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            log.file.data[at] ^= (unsigned char)(1u << bit);
            enum pt_read_result result = read_copy(log.file.data, log.file.length, &seen, &losses);
            log.file.data[at] ^= (unsigned char)(1u << bit);
            if (at < sizeof(struct pp_log_file_header)) {
                assert_int_not_equal(result, PT_READ_OK);
                continue;
            }
            assert_int_equal(result, PT_READ_OK);
            /* The last block cannot be told from one that was cut short. */
            assert_true(losses.damaged_blocks == 1 || (!losses.damaged_blocks && losses.truncated_bytes));
            assert_int_equal(losses.missing_blocks, 0);
            assert_true(seen.samples >= 5);
        }
    }
}

TEST(other_files_are_named_for_what_they_are)
{
    AUTO_FIXTURE log;
    struct seen seen;
    struct pt_read_losses losses;
    fixture_begin(&log);
    assert_int_equal(read_copy("", 0, &seen, &losses), PT_READ_NOT_A_PROFILE);
    assert_int_equal(read_copy("#!/bin/sh\necho hello, world\n", 28, &seen, &losses), PT_READ_NOT_A_PROFILE);
    assert_int_equal(read_copy("PYPROF\n\1\0\0\0\4\3\2\1", 15, &seen, &losses), PT_READ_TEXT_MODE);
    log.file.data[8] = 2;
    assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_VERSION);
    log.file.data[12] = 1;
    assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_BYTE_ORDER);
    for (int result = PT_READ_OK; result <= PT_READ_VERSION; result++)
        assert_string_not_equal(pt_read_result_text((enum pt_read_result)result), "unknown");
}

TEST(unknown_blocks_and_gaps_are_counted)
{
    struct seen seen;
    struct pt_read_losses losses;
    AUTO_FIXTURE log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    fixture_block(&log, 77, "future", 6);
    log.sequence += 3;
    fixture_sample(&log, 0, 0, 0, 0, 1, 5);
    assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_OK);
    assert_int_equal(losses.unknown_blocks, 1);
    assert_int_equal(losses.missing_blocks, 3);
    assert_int_equal(seen.cpu_ns, 5);
}

/* Blocks of one sample each; five of them come again. */
TEST(blocks_in_any_order_count_once)
{
    static const uint32_t order[] = {1, 2, 9000, 4, 3, 100000000, 5, 4, 9000, 2, 100000000, 1, 6};
    struct seen seen;
    struct pt_read_losses losses;
    AUTO_FIXTURE log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        log.sequence = order[i];
        fixture_sample(&log, 0, 0, 0, 0, 1, order[i]);
    }
    assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_OK);
    assert_int_equal(seen.cpu_ns, 1 + 2 + 9000 + 4 + 3 + 100000000 + 5 + 6);
    assert_int_equal(losses.repeated_blocks, 5);
}

/* Payloads whose CRC is right and whose content is not: only a writer's mistake or a forger makes them. */
TEST(nonsense_within_sound_blocks_is_counted)
{
    static const struct {
        uint32_t type;
        const char *payload;
        size_t length;
    } cases[] = {
        {PP_BLOCK_STRINGS, "\xff\xff\xff\xff\x0f\x01x", 7},                     /* an id above the file's size */
        {PP_BLOCK_STRINGS, "\x00\x01x", 3},                                     /* id 0 */
        {PP_BLOCK_STRINGS, "\x01\x7fx", 3},                                     /* longer than the block */
        {PP_BLOCK_STRINGS, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* much longer */
        {PP_BLOCK_STRINGS, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, /* no varint at all */
        {PP_BLOCK_CODES, "\x01\x01\x01", 3},                                    /* a record cut short */
        {PP_BLOCK_NODES, "\x01\x00\x01", 3},                                    /* a parent that is the node itself */
        {PP_BLOCK_NODES, "\x01\x02\x01", 3},                                    /* a parent before the root */
        {PP_BLOCK_NODES, "\x01\x01", 2},                                        /* no frame */
        {PP_BLOCK_MODULES, "\x01\x07\x00\x00\x00\x00\x00\x00\x09", 9},          /* a build-id that is not there */
        {PP_BLOCK_SAMPLES, "\x01\x01\x02\x00", 4},                              /* a record cut short */
        {PP_BLOCK_ACCOUNTING, "\x01\x7f", 2},                                   /* a field cut short */
        {PP_BLOCK_PROCESS, "\x01\x7f", 2},                                      /* the same */
        {PP_BLOCK_END, "\xff", 1},                                              /* no varint */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_FIXTURE log;
        struct seen seen;
        struct pt_read_losses losses;
        fixture_begin(&log);
        fixture_block(&log, cases[i].type, cases[i].payload, cases[i].length);
        fixture_sample(&log, 0, 0, 0, 0, 1, 5);
        assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_OK);
        assert_true(losses.damaged_records);
        assert_int_equal(losses.damaged_blocks, 0);
        assert_int_equal(seen.cpu_ns, 5);
    }
}

#define WIDTHS 64u

static uint64_t of_width(unsigned bits)
{
    return bits ? UINT64_MAX >> (64 - bits) : 0;
}

static void see_widths(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    unsigned *at = data;
    (void)segment;
    for (uint32_t i = 0; i < samples->count; i++, ++*at) {
        unsigned width = *at % (WIDTHS + 1);
        const struct pt_log_sample *sample = &samples->items[i];
        assert_int_equal(sample->thread, width < 32 ? of_width(width) : 0);
        assert_int_equal(sample->node, width < 32 ? of_width(width) : 0);
        assert_int_equal(sample->labels, 3);
        assert_int_equal(sample->state, width < 32 ? of_width(width) : UINT32_MAX);
        assert_true(sample->count == of_width(width));
        assert_true(sample->cpu_ns == of_width(WIDTHS - width));
    }
}

/* Numbers of each width, with fields of a newer writer or without; at the end of a block they are read otherwise than
 * before it. */
TEST(samples_of_all_widths_are_read)
{
    AUTO_FIXTURE log;
    AUTO_BYTES payload = {0}, record = {0};
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    unsigned seen = 0, written = 0;
    const struct pt_segment_sink sink = {.data = &seen, .samples = see_widths};
    fixture_begin(&log);
    for (unsigned count = 1; count <= 3 * (WIDTHS + 1); count++) {
        payload.length = 0;
        fixture_varint(&payload, 1);
        fixture_varint(&payload, 1);
        for (unsigned i = 0; i < count; i++, written++) {
            unsigned width = written % (WIDTHS + 1);
            const uint64_t fields[] = {of_width(width), of_width(width), 3,
                                       of_width(width), of_width(width), of_width(WIDTHS - width)};
            record.length = 0;
            for (size_t j = 0; j < sizeof fields / sizeof fields[0]; j++)
                fixture_varint(&record, fields[j]);
            if (count % 2)
                fixture_append(&record, "\xff\xff", 2);
            fixture_varint(&payload, record.length);
            fixture_append(&payload, record.data, record.length);
        }
        fixture_block(&log, PP_BLOCK_SAMPLES, payload.data, payload.length);
    }
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, NULL, &segment, &sink), PT_READ_OK);
    assert_int_equal(segment.losses.damaged_records, 0);
    assert_int_equal(seen, written);
}

/* Many headers that look sound, each with a long payload and a wrong CRC: reading must stay linear. */
TEST(forged_headers_do_not_make_reading_slow)
{
    enum { SIZE = 8 << 20 };
    AUTO_FIXTURE log;
    struct seen seen;
    struct pt_read_losses losses;
    fixture_begin(&log);
    unsigned char *zeros = calloc(1, SIZE);
    fixture_append(&log.file, zeros, SIZE);
    free(zeros);
    for (size_t at = sizeof(struct pp_log_file_header); at + 32 < log.file.length; at += 16) {
        struct pp_log_block_header header = {PP_BLOCK_SAMPLES, SIZE / 4, 1, (uint32_t)(at / 16 % 4096)};
        memcpy(log.file.data + at, &header, sizeof header);
    }
    assert_int_equal(read_copy(log.file.data, log.file.length, &seen, &losses), PT_READ_OK);
    assert_int_equal(seen.samples, 0);
}

TEST(the_process_block_is_enough_to_know_the_run)
{
    AUTO_FIXTURE log;
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    fixture_example(&log, PID, BIAS);
    assert_int_equal(pt_segment_read_process(log.file.data, log.file.length / 2, &segment), PT_READ_OK);
    assert_true(segment.has_process && same_text(segment.process.run, "run-1"));
    assert_int_equal(segment.tables[PT_TABLE_STRINGS].end, 0);
}

TEST(handler_quantiles_are_limits_of_buckets)
{
    struct pt_accounting sum = {.handler_max_ns = 1000};
    assert_int_equal(pt_accounting_handler_quantile(&sum, 0.5), 1000);
    sum.handler_histogram[4] = 98;
    sum.handler_histogram[20] = 2;
    assert_int_equal(pt_accounting_handler_quantile(&sum, 0.5), pp_handler_bucket_limit(4));
    assert_int_equal(pt_accounting_handler_quantile(&sum, 0.99), 1000);
    sum.handler_histogram[PP_HANDLER_BUCKETS - 1] = 1000; /* the last one has no limit */
    sum.handler_max_ns = 20000000;
    assert_int_equal(pt_accounting_handler_quantile(&sum, 0.5), sum.handler_max_ns);
}
