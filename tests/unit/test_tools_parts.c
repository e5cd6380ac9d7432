/* Files that hold several segments one after the other; runs; two profiles side by side. */
#include "profile_fixture.h"
#include "tools/load/runs.h"
#include "tools/report/compare.h"

#define BIAS  0x7f0000000000u
#define WHOLE (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS)

static void append_example(struct fixture_bytes *bytes, uint64_t pid, size_t cut)
{
    AUTO_FIXTURE log;
    fixture_example(&log, pid, BIAS);
    fixture_append(bytes, log.file.data, log.file.length - cut);
}

static struct pt_profile *read_all(struct fixture_bytes *bytes, const char *only_run)
{
    static struct pt_load_request request;
    request.run = only_run;
    struct pt_profile *profile = pt_profile_new(&request);
    assert_int_equal(pt_profile_add_segment(profile, bytes->data, bytes->length, "parts"), PT_READ_OK);
    pt_profile_finish(profile);
    free(bytes->data);
    return profile;
}

TEST(parts_are_read_one_after_the_other)
{
    struct fixture_bytes bytes = {0};
    append_example(&bytes, 1, 0);
    append_example(&bytes, 2, 0);
    append_example(&bytes, 3, 0);
    AUTO_PROFILE *profile = read_all(&bytes, NULL);
    assert_int_equal(profile->processes.count, 3);
    assert_int_equal(pt_profile_cpu_ns(profile), 3 * WHOLE);
    assert_int_equal(profile->losses.damaged_blocks + profile->losses.truncated_bytes, 0);
}

/* As threads read them: each some of the processes. */
TEST(parts_that_were_read_apart_are_one_profile)
{
    struct fixture_bytes bytes[3] = {{0}};
    append_example(&bytes[0], 1, 0);
    append_example(&bytes[1], 2, 0);
    append_example(&bytes[1], 3, 0);
    append_example(&bytes[2], 3, 0);
    struct pt_profile *whole = read_all(&bytes[0], NULL), *part = read_all(&bytes[1], NULL),
                      *again = read_all(&bytes[2], NULL);
    uint32_t frames = whole->frames.count;
    assert_true(pt_profile_merge(whole, part, NULL, 0));
    assert_int_equal(whole->processes.count, 3);
    assert_int_equal(whole->frames.count, frames);
    assert_int_equal(pt_profile_cpu_ns(whole), 3 * WHOLE);
    /* Which of its segments are the same is not known any more. */
    assert_false(pt_profile_merge(whole, again, NULL, 0));
    assert_int_equal(pt_profile_cpu_ns(whole), 3 * WHOLE);
    pt_profile_free(whole);
    pt_profile_free(again);
}

/* A writer that was killed left half a block; what follows is whole. */
TEST(a_part_that_is_cut_short_costs_its_end_only)
{
    for (size_t cut = 1; cut < 60; cut++) {
        struct fixture_bytes bytes = {0};
        append_example(&bytes, 1, cut);
        append_example(&bytes, 2, 0);
        AUTO_PROFILE *profile = read_all(&bytes, NULL);
        assert_int_equal(profile->processes.count, 2);
        assert_true(profile->losses.truncated_bytes + profile->losses.damaged_bytes < 200);
        assert_true(pt_profile_cpu_ns(profile) >= 2 * FIXTURE_SAMPLES_NS);
        assert_int_equal(profile->processes.items[1].found_ns, FIXTURE_SAMPLES_NS);
    }
}

TEST(the_same_part_counts_once)
{
    struct fixture_bytes bytes = {0};
    append_example(&bytes, 1, 0);
    append_example(&bytes, 2, 0);
    append_example(&bytes, 1, 0);
    AUTO_PROFILE *profile = read_all(&bytes, NULL);
    assert_int_equal(profile->processes.count, 2);
    assert_int_equal(profile->losses.repeated_segments, 1);
    assert_int_equal(pt_profile_cpu_ns(profile), 2 * WHOLE);
}

TEST(foreign_bytes_behind_are_counted)
{
    struct fixture_bytes bytes = {0};
    append_example(&bytes, 1, 0);
    fixture_append(&bytes, "PYPROF\r\n\377\0\0\0\4\3\2\1 of a newer version", 36);
    AUTO_PROFILE *profile = read_all(&bytes, NULL);
    assert_int_equal(pt_profile_cpu_ns(profile), WHOLE);
    assert_true(profile->losses.damaged_bytes > 0);
}

static void append_run(struct fixture_bytes *bytes, const char *run, const char *instance, uint64_t start, uint64_t ns)
{
    AUTO_FIXTURE log = fixture_of(&(struct fixture_process){run, instance, "/", "3.12.1", "/python", 0, start, start});
    uint32_t thread = fixture_thread(&log, start, "t");
    uint32_t code = fixture_code(&log, "moved", "/srv/app.py", (uint32_t)start);
    uint32_t node = fixture_node(&log, 0, fixture_python(&log, code, (uint32_t)start + 1));
    fixture_sample(&log, thread, node, 0, 0, 1, ns);
    fixture_sample(&log, thread, fixture_node(&log, node, fixture_pseudo(&log, instance)), 0, 0, 1, 1000);
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, ns + 1000}, {0, 0}});
    fixture_append(bytes, log.file.data, log.file.length);
}

TEST(runs_are_listed_newest_first)
{
    struct fixture_bytes bytes = {0};
    append_run(&bytes, "aa", "1", 10, 100);
    append_run(&bytes, "bb", "2", 30, 200);
    append_run(&bytes, "aa", "3", 20, 400);
    AUTO_PROFILE *profile = read_all(&bytes, NULL);
    uint32_t count;
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &count);
    assert_int_equal(count, 2);
    assert_string_equal(pt_string(profile, runs[0].run), "bb");
    assert_int_equal(runs[1].processes, 2);
    assert_int_equal(runs[1].cpu_ns, 2500);
    assert_int_equal(runs[1].start_unix_ns, 10);
}

TEST(one_run_of_a_merged_file)
{
    struct fixture_bytes bytes = {0};
    append_run(&bytes, "aa", "1", 10, 100);
    append_run(&bytes, "bb", "2", 30, 200);
    AUTO_PROFILE *profile = read_all(&bytes, "b");
    assert_int_equal(profile->processes.count, 1);
    assert_int_equal(pt_profile_cpu_ns(profile), 1200);
}

/* A function that has moved within its file is the same; what is on one side only counts 0 on the other. */
TEST(functions_are_compared)
{
    struct fixture_bytes before = {0}, after = {0};
    append_run(&before, "aa", "1", 10, 1000);
    append_run(&after, "bb", "2", 30, 3000);
    struct pt_side sides[2] = {pt_side_of(read_all(&before, NULL)), pt_side_of(read_all(&after, NULL))};
    struct pt_comparison comparison = pt_comparison_of(sides, PT_COMPARE_SHARE, NULL, false);
    const struct pt_compared *functions = comparison.functions;
    assert_int_equal(comparison.function_count, 3);
    assert_string_equal(functions[0].text, "1"); /* 50 % and 0 %; "moved" has 50 % and 75 % */
    assert_int_equal(functions[0].self.ns[1], 0);
    uint64_t sums[2] = {0, 0};
    for (uint32_t i = 0; i < comparison.function_count; i++) {
        if (strncmp(functions[i].text, "moved", 5) == 0) {
            assert_int_equal(functions[i].self.ns[0], 1000);
            assert_int_equal(functions[i].self.ns[1], 3000);
            assert_int_equal(functions[i].total.ns[1], 4000);
        }
        sums[0] += functions[i].self.ns[0];
        sums[1] += functions[i].self.ns[1];
    }
    assert_int_equal(sums[0], sides[0].whole_ns);
    assert_int_equal(sums[1], sides[1].whole_ns);
    assert_int_equal(comparison.file_count, 1);
    assert_int_equal(comparison.files[0].self.ns[1], 3000);
    pt_comparison_free(&comparison);
    uint32_t count;
    struct pt_compared *all = pt_compare_stacks(sides, false, &count);
    assert_int_equal(count, 3);
    assert_string_equal(all[0].text, "moved (/srv/app.py)");
    assert_int_equal(all[0].self.ns[0], 1000);
    assert_int_equal(all[0].self.ns[1], 3000);
    pt_compared_stacks_free(all, count);
    pt_profile_free(sides[0].profile);
    pt_profile_free(sides[1].profile);
}
