/* A profile of stacks only says what the whole one says of stacks, and of threads' sums; samples are decoded as they
 * were written, whatever their length. */
#include "log_fixture.h"
#include "random.h"
#include "tools/export/export.h"
#include "tools/profile/merge.h"
#include "tools/view/gil_gc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES   300u
#define THREADS 5u
#define ROUNDS  10u
#define SAMPLES 4000u /* in a block: enough for rows */

static void append_sample(struct fixture_bytes *payload, const uint64_t fields[6])
{
    struct fixture_bytes record = {0};
    for (int i = 0; i < 6; i++)
        fixture_varint(&record, fields[i]);
    fixture_varint(payload, record.length);
    fixture_append(payload, record.data, record.length);
    free(record.data);
}

/* Nodes and threads that are there, that are not, and now and then one that gets another meaning on the way. */
static void add_samples(struct fixture *log)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, 1700000000000000000u);
    fixture_varint(&payload, 1000000000u);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const uint64_t fields[] = {random_below(THREADS + 2),
                                   random_below(random_below(20) ? NODES : 100000),
                                   random_below(8) ? 0 : random_below(3),
                                   random_below(20) ? 9 * random_below(3) : random_below(1000),
                                   random_below(3),
                                   (uint64_t)random_below(1u << 31) >> random_below(32)};
        append_sample(&payload, fields);
    }
    fixture_block(log, PP_BLOCK_SAMPLES, payload.data, payload.length);
    free(payload.data);
}

static void define_again(struct fixture *log, uint32_t node, uint32_t frame)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, node);
    fixture_varint(&payload, 1 + random_below(node));
    fixture_varint(&payload, frame);
    fixture_block(log, PP_BLOCK_NODES, payload.data, payload.length);
    free(payload.data);
}

static void write_log(struct fixture *log, uint64_t pid)
{
    char text[32];
    fixture_begin(log);
    snprintf(text, sizeof text, "instance-%u", (unsigned)pid);
    fixture_process(log, &(struct fixture_process){.run = "r", .instance = text, .pid = pid});
    uint32_t module = fixture_module(log, "/lib/libpython3.so", 0, 0x1000, 0x9000, PP_MODULE_PYTHON, NULL, 0);
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "function_%u", (unsigned)((i + pid) % 20));
        fixture_python(log, fixture_code(log, text, "x.py", 1), 2);
        fixture_native(log, module, 0x1000 + i * 16, i ? text : "gc_collect_main", 0);
    }
    fixture_labels(log, "endpoint", "/");
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i < THREADS)
            fixture_thread(log, pid * 10 + i, "worker");
        for (uint32_t j = 0; j < NODES / ROUNDS; j++)
            fixture_node(log, random_below(log->nodes + 1), 1 + random_below(log->frames));
        add_samples(log);
        if (i % 3 == 2)
            define_again(log, 1 + random_below(log->nodes), 1 + random_below(log->frames));
    }
}

static void add(struct pt_profile *profile, const struct fixture *log)
{
    assert_int_equal(pt_profile_add_segment(profile, log->file.data, log->file.length, "x"), PT_READ_OK);
}

static char *exported(struct pt_profile *profile, pt_exporter *write, bool samples)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    write(profile, &(struct pt_export_options){.lines = true, .samples = samples}, out);
    fclose(out);
    return text;
}

static bool is_same_thread(const struct pt_thread *a, const struct pt_thread *b)
{
    return a->process == b->process && a->tid == b->tid;
}

static void assert_same(struct pt_profile *stacks, struct pt_profile *whole)
{
    for (int threads = 0; threads < 2; threads++) {
        struct pt_states *sums = pt_states_by(stacks, threads), *wanted = pt_states_by(whole, threads);
        uint32_t count = threads ? whole->threads.count : whole->processes.count;
        assert_int_equal(threads ? stacks->threads.count : stacks->processes.count, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t other = 0; /* threads may have come in another order */
            while (threads && !is_same_thread(&stacks->threads.items[other], &whole->threads.items[i]))
                other++;
            assert_memory_equal(&sums[threads ? other : i], &wanted[i], sizeof *sums);
        }
        free(sums);
        free(wanted);
    }
    for (uint32_t process = 0; process <= whole->processes.count; process++) {
        uint32_t which = process < whole->processes.count ? process : PT_NONE;
        struct pt_states sum = pt_states_of(stacks, which), wanted = pt_states_of(whole, which);
        assert_memory_equal(&sum, &wanted, sizeof sum);
    }
    for (uint32_t process = 0; process < whole->processes.count; process++) {
        assert_int_equal(stacks->processes.items[process].found_ns, whole->processes.items[process].found_ns);
        assert_int_equal(stacks->processes.items[process].samples, whole->processes.items[process].samples);
    }
    assert_int_equal(pt_profile_cpu_ns(stacks), pt_profile_cpu_ns(whole));
    pt_states_add_gc_frames(stacks);
    pt_states_add_gc_frames(whole);
    pt_exporter *const all[] = {pt_export_collapsed, pt_export_pstats, pt_export_callgrind, pt_export_svg};
    for (size_t i = 0; i < 2 * sizeof all / sizeof all[0]; i++) {
        char *text = exported(stacks, all[i / 2], i % 2), *wanted = exported(whole, all[i / 2], i % 2);
        assert_string_equal(text, wanted);
        free(text);
        free(wanted);
    }
}

static void stacks_only_says_the_same(void **state)
{
    (void)state;
    struct fixture logs[3];
    struct pt_profile *whole = pt_profile_new(), *stacks = pt_profile_new(), *part = pt_profile_new();
    stacks->stacks_only = part->stacks_only = true;
    for (uint32_t i = 0; i < 3; i++) {
        if (i < 2)
            write_log(&logs[i], i + 1);
        else
            fixture_example(&logs[i], i + 1, 0x7f0000000000u);
        add(whole, &logs[i]);
        add(i ? part : stacks, &logs[i]);
        fixture_end(&logs[i]);
    }
    assert_true(whole->samples.count > 2 * stacks->samples.count);
    assert_true(pt_profile_merge(stacks, part));
    pt_profile_finish(stacks);
    pt_profile_finish(whole);
    assert_same(stacks, whole);
    pt_profile_free(stacks);
    pt_profile_free(whole);
}

struct seen {
    uint64_t (*wanted)[6];
    uint32_t count;
};

static void see(void *context, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    (void)segment;
    struct seen *seen = context;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct pt_log_sample *item = &samples->items[i];
        const uint64_t fields[] = {item->thread, item->node, item->labels, item->state, item->count, item->cpu_ns};
        assert_memory_equal(fields, seen->wanted[seen->count++], sizeof fields);
    }
}

/* Fields of all lengths, in every place, up to the very end of the payload. */
static void samples_are_decoded_as_written(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static uint64_t wanted[COUNT][6];
    struct fixture log;
    struct fixture_bytes payload = {0};
    struct pt_segment segment;
    struct seen seen = {.wanted = wanted};
    const struct pt_segment_sink sink = {.context = &seen, .samples = see};
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
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, &segment, &sink), PT_READ_OK);
    assert_int_equal(seen.count, COUNT);
    assert_int_equal(segment.losses.damaged_records, 0);
    pt_segment_free(&segment);
    fixture_end(&log);
    free(payload.data);
}

/* The length is what counts: what stands behind the fields in a record is of a newer writer, what is missing is damage.
 */
static void records_end_where_they_say(void **state)
{
    (void)state;
    static uint64_t wanted[][6] = {{1, 2, 3, 4, 5, 6}, {1, 300, 0, 1, 1, 10000000}, {7, 7, 7, 7, 7, 7}};
    struct fixture log;
    struct fixture_bytes payload = {0};
    struct pt_segment segment;
    struct seen seen = {.wanted = wanted};
    const struct pt_segment_sink sink = {.context = &seen, .samples = see};
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
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, &segment, &sink), PT_READ_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(segment.losses.damaged_records, 62);
    pt_segment_free(&segment);
    fixture_end(&log);
    free(payload.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_only_says_the_same),
        cmocka_unit_test(samples_are_decoded_as_written),
        cmocka_unit_test(records_end_where_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
