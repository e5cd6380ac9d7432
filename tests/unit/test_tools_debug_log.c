/* `pyprof debug-log`: every block of a log is there with what its ids mean, and what is damaged is named. */
#include "profile_fixture.h"
#include "tools/report/debug_log.h"

#define PID  100
#define BIAS 0x7f0000000000u

static char *printed(const void *data, size_t size, enum pt_read_result expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    void *copy = malloc(size ? size : 1); /* so that a sanitizer sees any byte too much */
    memcpy(copy, data, size);
    assert_int_equal(pt_debug_log(out, copy, size), expected);
    fclose(out);
    free(copy);
    return text;
}

static unsigned times(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

TEST(every_block_is_printed_with_its_ids_resolved)
{
    static const char *const expected[] = {
        "0: segment\n16: PROCESS (1), block 0, ",
        "path \"/srv/venv/lib/libfoo.so\" text 0x7f0000101000",
        "\"fib\" file \"/srv/venv/lib/python3.11/site-packages/numbers/fib.py\" first line 3\n",
        "thread 2 tid 101 \"worker;1\" start ",
        "labels 1 \"endpoint\"=\"/index\"\n",
        /* a sample: its thread, its label set, and its stack from the innermost frame on */
        "  3 samples 30000000 ns state 0x12 thread 1 tid 100 \"MainThread\" labels 1 \"endpoint\"=\"/index\" node 5: "
        "\"sum_squares\"+0x10 at 0x7f0000102000 module 2 < \"fib\" code 2 line 5:7 to 5:20 < \"fib\" code 2 line 4 < "
        "\"main\" code 1 line 12 < \"_start\"+0x4 at 0x7f0000001234 module 1\n",
        " trace 00000000000000000000000000000001 span 0000000000000002 thread 1 ",
        "severity 0 \"only information\"\n",
        "  pending_ns 7000000\n",
        "  difference_ns -1000\n",
        " reason 1\n",
        "UNKNOWN (99), block ",
    };
    AUTO_FIXTURE log;
    fixture_example(&log, PID, BIAS);
    fixture_block(&log, 99, "new", 3);
    PT_AUTO_FREE char *text = printed(log.file.data, log.file.length, PT_READ_OK);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (!strstr(text, expected[i]))
            fail_msg("no '%s' in\n%s", expected[i], text);
    assert_int_equal(times(text, ", block "), log.sequence);
    assert_int_equal(times(text, "missing") + times(text, "cannot be read"), 0);
}

/* Without the block that defines it an id is said to be missing, and the bytes that could not be read have a place. */
TEST(what_is_damaged_is_named_and_the_rest_is_printed)
{
    AUTO_FIXTURE log = fixture_of(&(struct fixture_process){"run-1", "instance-1", "/", NULL, "/bin/app", 0, PID, 0});
    uint32_t thread = fixture_thread(&log, PID, "MainThread");
    size_t start = log.file.length;
    uint32_t frame = fixture_pseudo(&log, "[gone]"); /* a string's block and a frame's */
    size_t size = log.file.length - start;
    fixture_sample(&log, thread, fixture_node(&log, 0, frame), 0, 0, 1, 1000);
    memset(log.file.data + start, 0, size);
    char *text = printed(log.file.data, log.file.length, PT_READ_OK), place[64];
    snprintf(place, sizeof place, "\n%zu: %zu bytes cannot be read\n", start, size);
    if (!strstr(text, place) || !strstr(text, "\"MainThread\" node 1: (frame 1 is missing)\n"))
        fail_msg("no '%s' in\n%s", place, text);
    free(text);
    for (size_t cut = 0; cut < log.file.length; cut++)
        free(printed(log.file.data, cut, cut < 8 ? PT_READ_NOT_A_PROFILE : PT_READ_OK));
}

TEST(segments_one_after_the_other_and_blocks_that_were_read_before)
{
    struct fixture log, again, other;
    fixture_example(&log, PID, BIAS);
    fixture_example(&again, PID, BIAS);
    fixture_example(&other, PID + 1, BIAS);
    fixture_append(&log.file, again.file.data + sizeof(struct pp_log_file_header),
                   again.file.length - sizeof(struct pp_log_file_header));
    fixture_append(&log.file, other.file.data, other.file.length);
    PT_AUTO_FREE char *text = printed(log.file.data, log.file.length, PT_READ_OK);
    assert_int_equal(times(text, ": segment\n"), 2);
    assert_int_equal(times(text, ", block "), 2 * log.sequence + other.sequence);
    assert_int_equal(times(text, "\"only information\""), 2);
    assert_int_equal(times(text, "cannot be read"), 0);
    fixture_end(&log);
    fixture_end(&again);
    fixture_end(&other);
}
