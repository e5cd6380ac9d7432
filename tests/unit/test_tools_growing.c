/* Logs that are read while they grow, and text of theirs on a terminal. */
#include "profile_fixture.h"
#include "tools/base/terminal_text.h"
#include <locale.h>

#define BIAS 0x7f0000000000u

/* Reads a file that grows by so many bytes at a time, each piece from memory of its own, so that nothing can refer to
 * what was read earlier. */
static struct pt_profile *read_growing(const struct fixture_bytes *file, size_t piece, uint64_t timed_from_ns)
{
    static struct pt_load_request request = {.timed = true};
    request.timed_from_ns = timed_from_ns;
    struct pt_profile *profile = pt_profile_new(&request);
    struct pt_growing *growing = pt_growing_new(profile, "growing");
    uint64_t before = 0, end = 0;
    for (size_t length = 0; length < file->length;) {
        length = length + piece < file->length ? length + piece : file->length;
        for (bool again = true; again;) {
            size_t size = length - (size_t)(before + end);
            unsigned char *copy = malloc(size + 1);
            assert_non_null(copy);
            memcpy(copy, file->data + before + end, size);
            uint64_t had = end;
            assert_int_equal(pt_growing_read(growing, copy, size, &end, NULL), PT_READ_OK);
            again = end && pt_segment_begins(copy + (end - had), size - (size_t)(end - had));
            free(copy);
            if (!again)
                break;
            pt_growing_add(growing);
            pt_growing_free(growing);
            growing = pt_growing_new(profile, "growing");
            before += end;
            end = 0;
        }
    }
    pt_growing_add(growing);
    pt_growing_free(growing);
    pt_profile_close_sums(profile);
    return profile;
}

static void append_example(struct fixture_bytes *bytes, uint64_t pid, size_t cut)
{
    AUTO_FIXTURE log;
    fixture_example(&log, pid, BIAS);
    fixture_append(bytes, log.file.data, log.file.length - cut);
}

static uint32_t functions_named(const struct pt_profile *profile, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->functions.count; i++)
        count += strcmp(pt_string(profile, profile->functions.items[i].name), name) == 0;
    return count;
}

TEST(pieces_of_any_size_say_what_the_whole_says)
{
    AUTO_BYTES file = {0};
    append_example(&file, 1, 0);
    append_example(&file, 2, 0);
    for (size_t piece = 1; piece <= file.length + 1; piece += piece < 70 ? 1 : 31) {
        AUTO_PROFILE *profile = read_growing(&file, piece, 0);
        assert_int_equal(profile->processes.count, 2);
        assert_int_equal(pt_profile_cpu_ns(profile), 2 * FIXTURE_SAMPLES_NS);
        assert_int_equal(pt_profile_accounting(profile).pending_ns, 2 * FIXTURE_PENDING_NS);
        assert_true(profile->processes.items[0].ended && profile->processes.items[1].ended);
        assert_int_equal(profile->losses.damaged_blocks + profile->losses.damaged_records, 0);
        assert_int_equal(profile->losses.missing_blocks + profile->losses.truncated_bytes, 0);
        assert_int_equal(functions_named(profile, "fib"), 1);
        assert_int_equal(functions_named(profile, "main"), 1);
    }
}

/* A file of `cat`, whose first part was cut when its process was killed. */
TEST(a_cut_part_does_not_hide_the_next_one)
{
    for (size_t cut = 0; cut < 60; cut++) {
        struct fixture_bytes file = {0};
        append_example(&file, 1, cut);
        append_example(&file, 2, 0);
        AUTO_PROFILE *profile = read_growing(&file, 97, 0);
        assert_int_equal(profile->processes.count, 2);
        assert_int_equal(profile->processes.items[1].found_ns, FIXTURE_SAMPLES_NS);
        assert_int_equal(pt_profile_cpu_ns(profile), 2 * FIXTURE_SAMPLES_NS);
        free(file.data);
    }
}

TEST(damage_costs_what_it_hits)
{
    struct fixture_bytes whole = {0};
    append_example(&whole, 1, 0);
    size_t length = whole.length;
    append_example(&whole, 2, 0);
    /* Not in the file's header: what comes after that is no profile. */
    for (size_t at = sizeof(struct pp_log_file_header); at < length; at++) {
        struct fixture_bytes file = {0};
        fixture_append(&file, whole.data, whole.length);
        file.data[at] ^= 0x41;
        AUTO_PROFILE *profile = read_growing(&file, 53, 0);
        uint64_t ns = pt_profile_cpu_ns(profile);
        assert_true(ns >= FIXTURE_SAMPLES_NS && ns <= 2 * FIXTURE_SAMPLES_NS);
        free(file.data);
    }
    free(whole.data);
}

TEST(old_samples_lose_interval_and_thread)
{
    struct fixture_bytes file = {0};
    append_example(&file, 1, 0);
    for (int old = 0; old < 2; old++) {
        AUTO_PROFILE *profile = read_growing(&file, file.length, old ? UINT64_MAX : 1);
        uint64_t threads_ns = 0;
        assert_true(profile->samples.count > 0);
        for (uint32_t i = 0; i < profile->samples.count; i++) {
            assert_int_equal(profile->samples.items[i].interval == 0, old);
            assert_int_equal(profile->samples.items[i].thread == PT_NONE, old);
        }
        for (uint32_t i = 0; i < profile->threads.count; i++)
            threads_ns += profile->threads.items[i].states.cpu_ns;
        assert_int_equal(pt_profile_cpu_ns(profile), FIXTURE_SAMPLES_NS);
        assert_int_equal(threads_ns, FIXTURE_SAMPLES_NS);
    }
    free(file.data);
}

static void check_text(const char *text, uint32_t columns, const char *wanted)
{
    PT_AUTO_BUFFER shown = {0};
    pt_shown_text(&shown, text, columns);
    assert_string_equal(shown.length ? shown.data : "", wanted);
}

TEST(names_cannot_command_the_terminal)
{
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    check_text("plain", 0, "plain");
    check_text("plain", 5, "plain");
    check_text("plain", 4, "pla\xe2\x80\xa6");
    check_text("plain", 1, "\xe2\x80\xa6");
    check_text("a\033[2Jb\r\n\x7f", 0, "a?[2Jb???");
    check_text("a\xc2\x9b"
               "31mb",
               0, "a?31mb"); /* CSI in one character */
    check_text("x\xe2\x80\xae"
               "evil",
               0, "x?evil");                                               /* right to left from here on */
    check_text("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97"); /* two columns each */
    check_text("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\xe2\x80\xa6");
    check_text("\xe6\xbc", 0, "??"); /* cut */
    check_text("\xff\x80", 0, "??");
}
