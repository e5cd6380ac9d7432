/* Samples of traces that were kept: which ones a request gets, their ids and times, and that no CPU time is there
 * twice. */
#include "profile_fixture.h"
#include "tools/model/traces.h"
#include "tools/query/group.h"
#include "tools/query/select.h"
#include <inttypes.h>

#define START_NS  1700000000000000000u
#define SECOND_NS 1000000000u
#define SAMPLE_NS 10000000u

static const char first_id[] = "0000000000000000abcdef0123456789", second_id[] = "0000000000000000abc0000000000001";
#define FIRST  0xabcdef0123456789u
#define SECOND 0xabc0000000000001u

static char said[512];

static void say(void *data, const char *text)
{
    (void)data;
    snprintf(said, sizeof said, "%s", text);
}

static const struct pt_messages messages = {.message = say};

/* One process: the first trace has five samples of two spans, in two threads, the second trace one. */
static void put_process(struct fixture *log, uint64_t pid, bool whole)
{
    char instance[16];
    snprintf(instance, sizeof instance, "%" PRIu64, pid);
    fixture_begin(log);
    fixture_process(log, &(struct fixture_process){"run", instance, "/srv", "3.13.1", "/usr/bin/python3", 0, pid, 0});
    uint32_t thread = fixture_thread(log, pid, "MainThread"), pool = fixture_thread(log, pid + 1, "pool");
    uint32_t leaf = fixture_python(log, fixture_code(log, "leaf", "/srv/leaf.py", 1), 1);
    uint32_t node = fixture_node(log, 0, leaf), deep = fixture_node(log, node, leaf);
    uint32_t own = fixture_label_set(log, (const char *const[]){"span", "GET /", "trace_id", "own", NULL});
    if (whole) {
        fixture_sample(log, thread, node, own, PP_STATE_GIL_KNOWN, 6, 6 * SAMPLE_NS);
        fixture_sample(log, thread, node, own, PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL, 2, 2 * SAMPLE_NS);
        fixture_sample(log, thread, deep, 0, 0, 3, 3 * SAMPLE_NS);
    }
    fixture_sample(log, pool, node, 0, 0, 2, 2 * SAMPLE_NS + 1);
    const struct fixture_traced samples[] = {
        {START_NS + SECOND_NS, SAMPLE_NS, FIRST, 1, thread, node, own, PP_STATE_GIL_KNOWN},
        {START_NS + 2 * SECOND_NS, SAMPLE_NS, FIRST, 1, thread, node, own, PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL},
        {START_NS + 2 * SECOND_NS + 1, SAMPLE_NS, FIRST, 1, thread, node, own, PP_STATE_GIL_KNOWN},
        {START_NS - SECOND_NS, SAMPLE_NS, FIRST, 2, thread, deep, 0, 0},
        {START_NS + 3 * SECOND_NS, SAMPLE_NS + 1, FIRST, 2, pool, node, 0, 0},
        {START_NS + 3 * SECOND_NS, SAMPLE_NS, SECOND, 3, pool, node, 0, 0},
    };
    fixture_traced(log, START_NS, samples, 6);
    fixture_exit(log);
}
#define PROCESS_NS (13 * SAMPLE_NS + 1)

static struct pt_profile *loaded(const struct pt_load_request *request, bool whole)
{
    struct pt_profile *profile = pt_profile_new(request);
    profile->run_start_unix_ns = START_NS;
    for (uint64_t pid = 7; pid <= 17; pid += 10) {
        struct fixture log;
        put_process(&log, pid, whole);
        add_log(profile, &log);
    }
    pt_profile_finish(profile);
    return profile;
}

static const char *trace_of(const struct pt_profile *profile, const struct pt_sample *sample)
{
    return pt_string(profile, pt_trace_ids_of(profile, sample).trace);
}

TEST(without_a_request_there_are_sums_only)
{
    for (enum pt_keep keep = PT_KEEP_SAMPLES; keep <= PT_KEEP_STACKS; keep++) {
        const struct pt_load_request request = {.keep = keep};
        AUTO_PROFILE *profile = loaded(&request, true);
        assert_int_equal(pt_profile_cpu_ns(profile), 2 * PROCESS_NS);
        assert_int_equal(profile->traces.count, 2);
        assert_string_equal(pt_string(profile, pt_costliest_trace(profile)->id), first_id);
        assert_int_equal(pt_costliest_trace(profile)->samples, 10);
        assert_int_equal(pt_costliest_trace(profile)->cpu_ns, 2 * (5 * SAMPLE_NS + 1));
        for (uint32_t i = 0; i < profile->samples.count; i++)
            assert_false(profile->samples.items[i].state & PT_STATE_TRACED);
    }
}

TEST(a_trace_has_its_samples_and_their_times)
{
    static const uint64_t times[] = {START_NS + SECOND_NS, START_NS + 2 * SECOND_NS, START_NS + 2 * SECOND_NS + 1,
                                     START_NS - SECOND_NS, START_NS + 3 * SECOND_NS};
    for (enum pt_keep keep = PT_KEEP_SAMPLES; keep <= PT_KEEP_STACKS; keep++) {
        const struct pt_load_request request = {
            .keep = keep, .traces = PT_TRACES_ONLY, .select.trace = "0000000000000000ABCDe", .messages = &messages};
        AUTO_PROFILE *profile = loaded(&request, true);
        assert_true(pt_select(profile));
        assert_true(profile->selected);
        assert_int_equal(profile->whole_ns, 2 * PROCESS_NS);
        assert_int_equal(profile->samples.count, 10);
        assert_int_equal(pt_profile_cpu_ns(profile), 2 * (5 * SAMPLE_NS + 1));
        for (uint32_t i = 0; i < 10; i++) {
            const struct pt_sample *sample = &profile->samples.items[i];
            assert_string_equal(trace_of(profile, sample), first_id);
            assert_true(pt_sample_unix_ns(profile, sample) == times[i % 5]);
            assert_int_equal(sample->count, 1);
            const char *span = pt_string(profile, pt_trace_ids_of(profile, sample).span);
            assert_string_equal(span, i % 5 < 3 ? "0000000000000001" : "0000000000000002");
        }
    }
}

TEST(an_id_must_be_of_one_trace)
{
    static const struct {
        const char *id, *said;
    } wrong[] = {
        {"0000000000000000abc", "2 traces begin with it"},
        {"abc", "none of the 2 traces that were kept"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct pt_load_request request = {
            .traces = PT_TRACES_ONLY, .select.trace = wrong[i].id, .messages = &messages};
        AUTO_PROFILE *profile = loaded(&request, true);
        assert_false(pt_select(profile));
        assert_non_null(strstr(said, wrong[i].said));
    }
    assert_null(strstr(said, first_id));
}

TEST(a_profile_without_traces_says_so)
{
    const struct pt_load_request request = {.traces = PT_TRACES_ONLY, .by = "trace", .messages = &messages};
    struct fixture log = fixture_of(&(struct fixture_process){"run", "one", "/srv", NULL, NULL, 0, 7, 0});
    AUTO_PROFILE *profile = profile_of(&log, &request);
    assert_false(pt_select(profile));
    assert_non_null(strstr(said, "PYPROF_TRACES=0.01"));
}

TEST(traces_are_selected_like_all_samples)
{
    static const struct {
        struct pt_selection select;
        uint32_t samples;
    } wanted[] = {
        {{.from.of_run_ns = 2 * SECOND_NS}, 8},
        {{.from.of_run_ns = 2 * SECOND_NS, .to.of_run_ns = 3 * SECOND_NS}, 4},
        {{.to.of_run_ns = 3 * SECOND_NS}, 8},
        {{.pid = "17"}, 6},
        {{.thread = "7"}, 4},
        {{.thread = "pool"}, 4},
        {{.not_thread = "pool"}, 8},
        {{.focus = "^span=GET /$"}, 6},
        {{.focus = "trace_id=0000000000000000abc0"}, 2},
        {{.trace = second_id}, 2},
        {{.trace = second_id, .pid = "7"}, 1},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct pt_load_request request = {.traces = PT_TRACES_ONLY, .select = wanted[i].select};
        AUTO_PROFILE *profile = loaded(&request, true);
        assert_true(pt_select(profile));
        if (profile->samples.count != wanted[i].samples)
            fail_msg("%zu: %" PRIu32 " samples", i, profile->samples.count);
    }
}

TEST(traces_are_a_group)
{
    const struct pt_load_request request = {.traces = PT_TRACES_ONLY, .by = "trace"};
    AUTO_PROFILE *profile = loaded(&request, true);
    uint64_t ns[2] = {0, 0};
    assert_true(pt_select(profile));
    struct pt_group group = pt_group_by(profile, "trace");
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        bool second = strcmp(pt_string(profile, pt_group_value(&group, sample)), second_id) == 0;
        assert_string_equal(pt_string(profile, pt_group_value(&group, sample)), trace_of(profile, sample));
        ns[second] += sample->cpu_ns;
    }
    assert_int_equal(ns[0], 2 * (5 * SAMPLE_NS + 1));
    assert_int_equal(ns[1], 2 * SAMPLE_NS);
    pt_group_free(&group);
}

/* Returns the CPU time and the count of single samples, or of sums. */
static uint64_t ns_of(const struct pt_profile *profile, bool traced, uint64_t *count)
{
    uint64_t ns = 0;
    *count = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        if (!(sample->state & PT_STATE_TRACED) == traced)
            continue;
        ns += sample->cpu_ns;
        *count += sample->count;
    }
    return ns;
}

TEST(apart_the_sum_is_the_same)
{
    const struct pt_load_request request = {.traces = PT_TRACES_APART}, twice = {.traces = PT_TRACES_BESIDE};
    AUTO_PROFILE *profile = loaded(&request, true), *beside = loaded(&twice, true);
    uint64_t count;
    assert_int_equal(ns_of(profile, true, &count), 2 * (6 * SAMPLE_NS + 1));
    assert_int_equal(count, 12);
    assert_int_equal(ns_of(profile, false, &count), 2 * 7 * SAMPLE_NS);
    assert_int_equal(count, 14);
    assert_int_equal(pt_profile_cpu_ns(profile), 2 * PROCESS_NS);
    assert_int_equal(ns_of(beside, true, &count), 2 * (6 * SAMPLE_NS + 1));
    assert_int_equal(ns_of(beside, false, &count), 2 * PROCESS_NS);
}

/* As after damage: single samples are no more than the sums that are left. */
TEST(without_its_sums_a_sample_has_nothing)
{
    const struct pt_load_request request = {.traces = PT_TRACES_APART};
    AUTO_PROFILE *profile = loaded(&request, false);
    uint64_t count;
    assert_int_equal(ns_of(profile, true, &count), 2 * (2 * SAMPLE_NS + 1));
    assert_int_equal(count, 4);
    assert_int_equal(ns_of(profile, false, &count), 0);
    assert_int_equal(count, 0);
}

TEST(merged_profiles_have_the_traces_of_both)
{
    const struct pt_load_request request = {.traces = PT_TRACES_APART};
    struct pt_profile *into = pt_profile_new(&request), *from = pt_profile_new(&request);
    struct fixture log;
    uint64_t count;
    fixture_example(&log, 100, 0);
    add_log(into, &log);
    put_process(&log, 7, true);
    add_log(from, &log);
    assert_true(pt_profile_merge(into, from, NULL, 0));
    pt_profile_finish(into);
    assert_int_equal(into->traces.count, 3);
    assert_int_equal(ns_of(into, true, &count), 6 * SAMPLE_NS + 1 + 30000000);
    assert_int_equal(count, 7);
    assert_int_equal(pt_profile_cpu_ns(into), PROCESS_NS + FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS);
    for (uint32_t i = 0; i < into->samples.count; i++)
        if (into->samples.items[i].state & PT_STATE_TRACED)
            assert_int_equal(strlen(trace_of(into, &into->samples.items[i])), 32);
    pt_profile_free(into);
}

TEST(a_malformed_record_is_counted)
{
    /* start 0; a record without its ids, and one that is longer than the block */
    static const unsigned char payload[] = {0, 7, 2, 0, 0, 0, 0, 5, 9, 200, 1};
    PT_AUTO(pt_segment_free) struct pt_segment segment;
    AUTO_FIXTURE log;
    fixture_begin(&log);
    fixture_block(&log, PP_BLOCK_TRACES, payload, sizeof payload);
    assert_int_equal(pt_segment_read(log.file.data, log.file.length, NULL, &segment, NULL), PT_READ_OK);
    assert_int_equal(segment.losses.damaged_records, 2);
    assert_int_equal(segment.losses.unknown_blocks, 0);
}
