/* The profile in memory: merging, sums, totals, collapsed stacks. */
#include "profile_fixture.h"
#include "tools/export/export.h"
#include "tools/view/summary.h"

static const struct pt_load_request with_times = {.timed = true};

#define BIAS 0x7f0000000000u

/* Two processes that loaded the same code at different addresses. */
static struct pt_profile *two_processes(void)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    struct fixture log;
    fixture_example(&log, 100, BIAS);
    add_log(profile, &log);
    fixture_example(&log, 200, BIAS + 0x123000);
    add_log(profile, &log);
    pt_profile_finish(profile);
    return profile;
}

TEST(sums_close)
{
    AUTO_PROFILE *profile = two_processes();
    struct pt_accounting sum = pt_profile_accounting(profile);
    assert_int_equal(pt_profile_cpu_ns(profile), 2 * (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS));
    assert_int_equal(pt_profile_cpu_ns(profile) + sum.own_ns + (uint64_t)sum.difference_ns, sum.cpu_ns);
    sum = pt_summary_accounting(profile, PT_NONE);
    assert_int_equal(sum.sampled_ns + sum.unsampled_ns + sum.lost_ns + sum.own_ns + sum.thread_exit_ns +
                         (uint64_t)sum.difference_ns,
                     sum.cpu_ns);
}

/* However the samples are kept. */
TEST(shares_are_of_one_sum)
{
    static const struct pt_load_request requests[] = {
        {.timed = true}, {.keep = PT_KEEP_STACKS}, {.keep = PT_KEEP_STACKS, .timed = true}};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct fixture log;
        fixture_example(&log, 100, BIAS);
        AUTO_PROFILE *profile = profile_of(&log, &requests[i]);
        struct pt_accounting sum = pt_profile_accounting(profile);
        assert_int_equal(pt_summary_program_ns(profile), sum.cpu_ns - sum.own_ns - (uint64_t)sum.difference_ns);
    }
}

TEST(processes_share_frames_and_stacks)
{
    AUTO_PROFILE *profile = two_processes();
    assert_int_equal(profile->processes.count, 2);
    assert_int_equal(profile->threads.count, 6); /* two and "(process)" each */
    assert_int_equal(profile->modules.count, 2);
    assert_int_equal(profile->functions.count, 2);
    assert_int_equal(profile->frames.count, 7);
    assert_int_equal(profile->nodes.count, 8);
    assert_string_equal(pt_string(profile, profile->processes.items[0].command_line),
                        "python app.py --name 'two words'");
}

TEST(segments_of_an_instance_are_one_process)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (uint64_t segment = 2; segment-- > 0;) {
        struct fixture log =
            fixture_of(&(struct fixture_process){"r", "same", "/", "3.12.0", "/bin/python", segment, 7, 0});
        uint32_t thread = fixture_thread(&log, 7, segment ? "renamed" : "first");
        fixture_sample(&log, thread, fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1, 10);
        fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, segment ? 20 : 10}, {0, 0}});
        add_log(profile, &log);
    }
    pt_profile_finish(profile);
    assert_int_equal(profile->processes.count, 1);
    assert_int_equal(profile->processes.items[0].segments, 2);
    assert_int_equal(profile->processes.items[0].accounting.cpu_ns, 20);
    assert_int_equal(profile->threads.count, 1);
    assert_int_equal(profile->samples.count, 1);
    assert_int_equal(profile->samples.items[0].cpu_ns, 20);
}

/* A thread that takes another name is one thread, unless its names are told apart: then so they are in all segments. */
TEST(names_of_a_thread_are_told_apart)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (uint64_t segment = 0; segment < 2; segment++) {
        struct fixture log =
            fixture_of(&(struct fixture_process){"r", "same", "/", "3.12.0", "/bin/python", segment, 7, 0});
        uint32_t node = fixture_node(&log, 0, fixture_pseudo(&log, "[gc]"));
        const char *names[] = {"own", "second", "third"};
        for (unsigned i = 0; i < 3; i++) {
            unsigned name = segment ? (3 - i) % 3 : i;
            uint32_t thread = fixture_thread_flags(&log, 7, names[name], name ? PP_THREAD_NAMED : 0);
            fixture_sample(&log, thread, node, 0, 0, 1, name + 1);
        }
        add_log(profile, &log);
    }
    pt_profile_finish(profile);
    assert_int_equal(profile->threads.count, 3);
    assert_int_equal(profile->samples.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        const char *name = pt_string(profile, profile->threads.items[profile->samples.items[i].thread].name);
        assert_int_equal(profile->samples.items[i].cpu_ns, *name == 'o' ? 2 : *name == 's' ? 4 : 6);
    }
}

/* A segment with 10 ns of samples, of which the process had 10 less than `number` segments make, and 3 pending. */
static void add_part(struct pt_profile *profile, uint64_t number)
{
    AUTO_BYTES earlier = {0};
    struct fixture log = fixture_of(&(struct fixture_process){"r", "same", "/", "3.12.0", "/bin/python", number, 7, 0});
    const struct fixture_account before[] = {{PP_ACCOUNT_CPU_NS, 12 * number + 3},
                                             {PP_ACCOUNT_SAMPLED_NS, 10 * number},
                                             {PP_ACCOUNT_PENDING_NS, 3},
                                             {PP_ACCOUNT_OWN_NS, 2 * number},
                                             {PP_ACCOUNT_SAMPLES, number}};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        fixture_varint(&earlier, before[i].key);
        fixture_varint(&earlier, 1);
        fixture_varint(&earlier, before[i].value);
    }
    if (number)
        fixture_block(&log, PP_BLOCK_EARLIER, earlier.data, earlier.length);
    fixture_sample(&log, fixture_thread(&log, 7, "t"), fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1,
                   10);
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 12 * (number + 1) + 3},
                                                              {PP_ACCOUNT_SAMPLED_NS, 10 * (number + 1)},
                                                              {PP_ACCOUNT_PENDING_NS, 3},
                                                              {PP_ACCOUNT_OWN_NS, 2 * (number + 1)},
                                                              {PP_ACCOUNT_SAMPLES, number + 1},
                                                              {0, 0}});
    add_log(profile, &log);
}

/* Whichever parts are there, in whatever order: the sums are those of what is left, and the rest is named. */
TEST(sums_close_where_parts_are_missing)
{
    enum { PARTS = 6 };
    for (unsigned there = 1; there < 1u << PARTS; there++) {
        for (int backwards = 0; backwards < 2; backwards++) {
            AUTO_PROFILE *profile = pt_profile_new(NULL);
            uint64_t left = 0, last = 0;
            for (unsigned i = 0; i < PARTS; i++) {
                unsigned part = backwards ? PARTS - 1 - i : i;
                if (!(there >> part & 1))
                    continue;
                add_part(profile, part);
                left++;
                last = part > last ? part : last;
            }
            pt_profile_finish(profile);
            struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
            assert_int_equal(sum.cpu_ns, 12 * left + 3);
            assert_int_equal(sum.sampled_ns, 10 * left);
            assert_int_equal(sum.own_ns, 2 * left);
            assert_int_equal(sum.unsampled_ns, 3);
            assert_int_equal(sum.samples, left);
            assert_int_equal(pt_profile_cpu_ns(profile), 10 * left + 3);
            assert_int_equal(pt_summary_missing_ns(profile, PT_NONE), 12 * (last + 1 - left));
        }
    }
}

TEST(interpreters_may_come_later)
{
    static const char versions[] = "3.8.18, 3.12.0";
    struct fixture_bytes later = {0};
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (uint64_t pid = 1; pid <= 2; pid++) {
        struct fixture log =
            fixture_of(&(struct fixture_process){"r", pid == 1 ? "one" : "two", "/", "3.12.0", "/bin/x", 0, pid, 0});
        fixture_sample(&log, fixture_thread(&log, pid, "t"), 0, 0, 0, 1, 10);
        fixture_varint(&later, PP_PROCESS_PYTHON_VERSION);
        fixture_varint(&later, sizeof versions - 1);
        fixture_append(&later, versions, sizeof versions - 1);
        if (pid == 2)
            fixture_block(&log, PP_BLOCK_PROCESS, later.data, later.length);
        fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 10}, {0, 0}});
        later.length = 0;
        add_log(profile, &log);
    }
    free(later.data);
    assert_int_equal(profile->processes.items[1].pid, 2); /* what the later block does not have stays */
    uint32_t count, *found = pt_summary_versions(profile, PT_NONE, &count);
    assert_int_equal(count, 2);
    assert_string_equal(pt_string(profile, found[0]), "3.12.0");
    assert_string_equal(pt_string(profile, found[1]), "3.8.18");
    free(found);
    found = pt_summary_versions(profile, 0, &count);
    assert_int_equal(count, 1);
    free(found);
    found = pt_summary_versions(profile, 1, &count);
    assert_int_equal(count, 2);
    assert_string_equal(pt_string(profile, found[0]), "3.8.18");
    free(found);
}

TEST(intervals_stay_apart_on_demand)
{
    AUTO_PROFILE *profile = pt_profile_new(&with_times);
    struct fixture log;
    fixture_example(&log, 100, BIAS);
    add_log(profile, &log);
    assert_int_equal(profile->intervals.count, 2);
    assert_int_equal(profile->samples.items[0].interval, 1);
}

TEST(cpu_time_outlives_lost_definitions)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    log.nodes = 5;
    uint32_t orphan = fixture_node(&log, 3, 99);
    fixture_sample(&log, 12, orphan, 34, 0, 1, 10);
    fixture_sample(&log, 12, 40, 0, 0, 1, 10);
    add_log(profile, &log);
    assert_int_equal(pt_profile_cpu_ns(profile), 20);
    const struct pt_view_options options = {.only_process = PT_NONE, .only_thread = PT_NONE};
    AUTO_VIEW *view = pt_view_new(profile, &options);
    assert_int_equal(view->nodes.items[0].total_ns, 20);
    assert_int_equal(view->nodes.count, 3);
}

/* Of two runs with a gap between; in the first, processes overlap. */
TEST(time_without_a_process_does_not_count)
{
    static const uint64_t lives[][2] = {{1000, 1010}, {10, 30}, {15, 20}, {25, 40}};
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (uint64_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        char instance[] = {(char)('a' + i), 0};
        struct fixture log = fixture_of(
            &(struct fixture_process){.run = "r", .instance = instance, .pid = i + 1, .start_unix_ns = lives[i][0]});
        fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_END_UNIX_NS, lives[i][1]}, {0, 0}});
        add_log(profile, &log);
    }
    pt_profile_finish(profile);
    assert_int_equal(pt_profile_accounting(profile).wall_ns, 30 + 10);
}

static const struct pt_total *total_of(const struct pt_profile *profile, const struct pt_total *totals, uint32_t count,
                                       const char *text)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(pt_string(profile, totals[i].text), text) == 0)
            return &totals[i];
    return NULL;
}

TEST(recursion_counts_once)
{
    AUTO_PROFILE *profile = two_processes();
    const struct pt_view_options options = {.only_process = 1, .only_thread = PT_NONE};
    AUTO_VIEW *view = pt_view_new(profile, &options);
    uint32_t count;
    PT_AUTO_FREE struct pt_total *totals = pt_view_totals(profile, view, &count);
    const struct pt_total *fib = total_of(profile, totals, count, "fib (numbers/fib.py:3)");
    assert_non_null(fib);
    assert_int_equal(fib->self_ns, 40000000);
    assert_int_equal(fib->total_ns, 70000000);
    assert_int_equal(fib->total_count, 7);
    const struct pt_total *root = total_of(profile, totals, count, "_start (python)");
    assert_int_equal(root->total_ns, 95000000);
    assert_int_equal(root->self_ns, 0);
    assert_ptr_equal(fib, &totals[0]);
    assert_non_null(total_of(profile, totals, count, "0x3456 (libfoo.so)"));
    assert_non_null(total_of(profile, totals, count, "[unsampled]"));
}

static char *export_text(struct pt_profile *profile, const struct pt_export_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    pt_export_collapsed(profile, options, out);
    fclose(out);
    return text;
}

TEST(collapsed_stacks_are_sorted_and_summed)
{
    AUTO_PROFILE *profile = two_processes();
    PT_AUTO_FREE char *text = export_text(profile, &(struct pt_export_options){0});
    assert_string_equal(text,
                        "[unsampled] 24000000\n"
                        "_start (python);main (app.py:10) 20000000\n"
                        "_start (python);main (app.py:10);0x3456 (libfoo.so) 30000000\n"
                        "_start (python);main (app.py:10);fib (numbers/fib.py:3) 40000000\n"
                        "_start (python);main (app.py:10);fib (numbers/fib.py:3);fib (numbers/fib.py:3) 40000000\n"
                        "_start (python);main (app.py:10);fib (numbers/fib.py:3);fib (numbers/fib.py:3);"
                        "sum_squares (libfoo.so) 60000000\n");
}

TEST(collapsed_stacks_tell_apart_what_is_asked_for)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    struct fixture log;
    fixture_example(&log, 100, BIAS);
    add_log(profile, &log);
    PT_AUTO_FREE char *text = export_text(
        profile, &(struct pt_export_options){.samples = true, .lines = true, .threads = true, .processes = true});
    assert_string_equal(
        text,
        "process 100 python app.py --name 'two words';thread MainThread (100);_start (python);main (app.py:12) 1\n"
        "process 100 python app.py --name 'two words';thread MainThread (100);_start (python);main (app.py:12);"
        "fib (numbers/fib.py:4);fib (numbers/fib.py:5) 2\n"
        "process 100 python app.py --name 'two words';thread MainThread (100);_start (python);main (app.py:12);"
        "fib (numbers/fib.py:4);fib (numbers/fib.py:5);sum_squares (libfoo.so) 3\n"
        "process 100 python app.py --name 'two words';thread worker:1 (101);_start (python);main (app.py:12);"
        "0x3456 (libfoo.so) 1\n"
        "process 100 python app.py --name 'two words';thread worker:1 (101);_start (python);main (app.py:12);"
        "fib (numbers/fib.py:4) 2\n");
}

TEST(separators_within_names_are_replaced)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    uint32_t code = fixture_code(&log, "a;b\nc", "x;y.py", 0);
    fixture_sample(&log, 0, fixture_node(&log, 0, fixture_python(&log, code, 0)), 0, 0, 1, 10);
    fixture_sample(&log, 0, 0, 0, 0, 1, 5);
    add_log(profile, &log);
    PT_AUTO_FREE char *text = export_text(profile, &(struct pt_export_options){0});
    assert_string_equal(text, "[no stack] 5\na:b c (x:y.py) 10\n");
}

TEST(nothing_sampled_is_no_problem)
{
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    AUTO_PROFILE *profile = profile_of(&log, NULL);
    assert_int_equal(profile->processes.count, 1);
    char *text = export_text(profile, &(struct pt_export_options){0});
    assert_string_equal(text, "");
    free(text);
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    pt_export_pprof(profile, &(struct pt_export_options){0}, out);
    fclose(out);
    assert_true(size > 0);
    free(text);
}

TEST(deep_stacks_are_no_problem)
{
    enum { DEPTH = 20000 };
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    uint32_t frame = fixture_pseudo(&log, "[deep]"), node = 0;
    for (int i = 0; i < DEPTH; i++)
        node = fixture_node(&log, node, frame);
    fixture_sample(&log, 0, node, 0, 0, 1, 10);
    add_log(profile, &log);
    const struct pt_view_options options = {.only_process = PT_NONE, .only_thread = PT_NONE};
    AUTO_VIEW *view = pt_view_new(profile, &options);
    uint32_t count;
    PT_AUTO_FREE struct pt_total *totals = pt_view_totals(profile, view, &count);
    assert_int_equal(count, 1);
    assert_int_equal(totals[0].total_ns, 10);
}

static void collect(void *data, const char *text)
{
    strcat(data, text);
    strcat(data, "\n");
}

TEST(warnings_are_said)
{
    char text[2000] = "";
    AUTO_PROFILE *profile = two_processes();
    pt_summary_warnings(profile, PT_NONE, collect, text);
    assert_non_null(strstr(text, "11.0 % of the CPU (0.02 s) was not sampled"));
    assert_non_null(strstr(text, "PYPROF_CLOCK=perf"));
    assert_non_null(strstr(text, "only 18 samples"));
    assert_null(strstr(text, "do not close"));
    assert_null(strstr(text, "only information"));
}

/* Warnings that differ in figures only are one. */
TEST(alike_warnings_are_one)
{
    char text[2000] = "";
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (uint64_t pid = 1; pid <= 2; pid++) {
        char instance[] = {(char)('a' + pid), 0};
        struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = instance, .pid = pid});
        fixture_notice(&log, 1, "samples cost 2.50 %: 50 of 100");
        fixture_notice(&log, 1, pid == 1 ? "another" : "samples cost 12 %: 25 of 100");
        add_log(profile, &log);
    }
    pt_summary_warnings(profile, PT_NONE, collect, text);
    assert_non_null(strstr(text, "process 2 and 1 more: samples cost 12 %: 25 of 100; the last of 3 like this\n"));
    assert_non_null(strstr(text, "process 1: another\n"));
    assert_null(strstr(text, "2.50"));
    *text = 0;
    pt_summary_warnings(profile, 0, collect, text);
    assert_non_null(strstr(text, "samples cost 2.50 %: 50 of 100\nanother\n"));
    *text = 0;
    pt_summary_warnings(profile, 1, collect, text);
    assert_non_null(strstr(text, "samples cost 12 %: 25 of 100; the last of 2 like this\n"));
    assert_null(strstr(text, "2.50"));
}
