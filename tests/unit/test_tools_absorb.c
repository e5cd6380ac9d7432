/* Reading in parts gives what reading one after the other gives; our CRC is zlib's. */
#include "log_fixture.h"
#include "tools/export/export.h"
#include "tools/log/crc.h"
#include "tools/profile/merge.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#define BIAS 0x7f0000000000u

static void add_example(struct pt_profile *profile, uint64_t pid)
{
    struct fixture log;
    fixture_example(&log, pid, BIAS + (pid << 24));
    fixture_notice(&log, 1, "a notice");
    assert_int_equal(pt_profile_add_segment(profile, log.file.data, log.file.length, "x"), PT_READ_OK);
    fixture_end(&log);
}

/* A process with a function, a label and an interval that the example does not have. */
static void add_other(struct pt_profile *profile, uint64_t pid)
{
    struct fixture log;
    fixture_begin(&log);
    fixture_process(&log, &(struct fixture_process){"run-1", "other", "/", "3.13.0", "/python", 0, pid, 0});
    uint32_t thread = fixture_thread(&log, pid, "MainThread");
    uint32_t node = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "other", "/x.py", 1), 2));
    fixture_sample(&log, thread, node, fixture_labels(&log, "endpoint", "/other"), 0, 1, 1234567);
    assert_int_equal(pt_profile_add_segment(profile, log.file.data, log.file.length, "x"), PT_READ_OK);
    fixture_end(&log);
}

static struct pt_profile *new_profile(bool intervals)
{
    struct pt_profile *profile = pt_profile_new();
    profile->keep_intervals = intervals;
    return profile;
}

static char *exported(struct pt_profile *profile, pt_exporter *write, size_t *size)
{
    static char *text;
    static size_t length;
    FILE *out = open_memstream(&text, &length);
    write(profile, &(struct pt_export_options){.lines = true, .threads = true, .processes = true}, out);
    fclose(out);
    *size = length;
    return text;
}

static void parts_make_the_same_whole(void **state)
{
    (void)state;
    for (int intervals = 0; intervals < 2; intervals++) {
        struct pt_profile *whole = new_profile(intervals), *first = new_profile(intervals),
                          *second = new_profile(intervals);
        add_example(whole, 1);
        add_example(whole, 2);
        add_other(whole, 3);
        add_example(first, 1);
        add_example(second, 2);
        add_other(second, 3);
        assert_true(pt_profile_merge(first, second));
        pt_profile_finish(whole);
        pt_profile_finish(first);
        assert_int_equal(first->strings.count, whole->strings.count);
        assert_int_equal(first->samples.count, whole->samples.count);
        assert_int_equal(first->processes.items[1].notices.count, 2);
        for (size_t i = 0; i < pt_format_count; i++) {
            size_t size, wanted_size;
            char *text = exported(first, pt_formats[i].write, &size),
                 *wanted = exported(whole, pt_formats[i].write, &wanted_size);
            assert_int_equal(size, wanted_size);
            assert_memory_equal(text, wanted, size);
            free(text);
            free(wanted);
        }
        pt_profile_free(whole);
        pt_profile_free(first);
    }
}

static void a_process_in_both_is_refused(void **state)
{
    (void)state;
    struct pt_profile *first = new_profile(false), *second = new_profile(false);
    add_example(first, 1);
    add_other(second, 3);
    add_example(second, 1);
    assert_false(pt_profile_merge(first, second));
    assert_int_equal(pt_profile_cpu_ns(first), FIXTURE_SAMPLES_NS);
    pt_profile_free(first);
    pt_profile_free(second);
}

/* So many that memory is freed on the way. */
static void many_samples_keep_their_order(void **state)
{
    (void)state;
    const uint32_t count = 300001;
    struct pt_profile *first = new_profile(false), *second = new_profile(false);
    add_example(first, 1);
    add_other(second, 3);
    uint32_t before = first->samples.count;
    struct pt_sample sample = second->samples.items[0];
    for (uint32_t i = 1; i < count; i++) {
        sample.cpu_ns = i;
        pt_append_sample(second, &sample);
    }
    assert_true(pt_profile_merge(first, second));
    assert_int_equal(first->samples.count, before + count);
    for (uint32_t i = 1; i < count; i++) {
        assert_int_equal(first->samples.items[before + i].cpu_ns, i);
        assert_int_equal(first->samples.items[before + i].node, first->samples.items[before].node);
    }
    pt_profile_free(first);
}

static void crc_is_that_of_zlib(void **state)
{
    (void)state;
    enum { SIZE = 3000 };
    unsigned char data[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * i >> 3 ^ i);
    for (size_t length = 0; length < 400; length++)
        for (size_t at = 0; at < 20; at++)
            assert_int_equal(pt_crc32(0x12345678u * (uint32_t)at, data + at, length),
                             crc32(0x12345678u * (uint32_t)at, data + at, (uInt)length));
    assert_int_equal(pt_crc32(0, data, SIZE), crc32(0, data, SIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_same_whole),
        cmocka_unit_test(a_process_in_both_is_refused),
        cmocka_unit_test(many_samples_keep_their_order),
        cmocka_unit_test(crc_is_that_of_zlib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
