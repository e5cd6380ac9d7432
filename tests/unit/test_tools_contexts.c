/* Contexts of samples: tasks in stacks, groups, selection. */
#include "profile_fixture.h"
#include "tools/query/group.h"
#include "tools/query/select.h"
#include <inttypes.h>

#define SAMPLE_NS 10000000u

static const char *const of_task[] = {"task", "child", "awaiter", "parent", "awaiter", "root", "endpoint", "/a", NULL};
static const char *const of_thread[] = {"awaiter", "parent", NULL};
static const char *const of_nothing[] = {"endpoint", "/b", "task", "child", NULL};

/* A service: a task below its loop, work that it gave to a thread, the loop itself, and code without tasks. Each has
 * one sample; the second stack of the task has two, of two endpoints. */
static struct pt_profile *service(const struct pt_load_request *request)
{
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", "one", "/srv", "3.13.1", "/usr/bin/python3", 0, 7, 0});
    uint32_t thread = fixture_thread(&log, 7, "MainThread"), pool = fixture_thread(&log, 8, "pool");
    uint32_t run = fixture_python(&log, fixture_code(&log, "run", "/srv/run.py", 1), 1);
    uint32_t leaf = fixture_python(&log, fixture_code(&log, "leaf", "/srv/leaf.py", 1), 1);
    uint32_t loop = fixture_node(&log, 0, run);
    uint32_t task = fixture_node(&log, loop, fixture_pseudo(&log, "[task]"));
    uint32_t own = fixture_node(&log, task, leaf), deep = fixture_node(&log, own, leaf);
    uint32_t labels = fixture_label_set(&log, of_task), other = fixture_label_set(&log, of_nothing);
    fixture_sample(&log, thread, own, labels, 0, 1, SAMPLE_NS);
    fixture_sample(&log, thread, deep, labels, 0, 1, SAMPLE_NS);
    fixture_sample(&log, thread, deep, other, 0, 1, SAMPLE_NS);
    fixture_sample(&log, thread, loop, 0, 0, 1, SAMPLE_NS);
    fixture_sample(&log, pool, fixture_node(&log, 0, leaf), fixture_label_set(&log, of_thread), 0, 1, SAMPLE_NS);
    fixture_sample(&log, pool, fixture_node(&log, 0, leaf), other, 0, 1, SAMPLE_NS);
    fixture_exit(&log);
    struct pt_profile *profile = profile_of(&log, request);
    assert_true(pt_select(profile));
    return profile;
}
#define SERVICE_NS (6 * SAMPLE_NS)

/* Appends the stack as "root;…;leaf". */
static void append_stack(struct pt_buffer *text, const struct pt_profile *profile, uint32_t node)
{
    if (!node)
        return;
    const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
    append_stack(text, profile, profile->nodes.items[node].parent);
    bool python = frame->kind == PP_FRAME_PYTHON;
    pt_buffer_format(text, "%s%s", text->length ? ";" : "",
                     pt_string(profile, python ? profile->functions.items[frame->subject].name : frame->subject));
}

/* Returns the CPU time of a stack. */
static uint64_t ns_of(const struct pt_profile *profile, const char *stack)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_buffer_text(&text, "");
        append_stack(&text, profile, profile->samples.items[i].node);
        ns += strcmp(text.data, stack) == 0 ? profile->samples.items[i].cpu_ns : 0;
    }
    return ns;
}

TEST(tasks_are_in_stacks)
{
    for (enum pt_keep keep = PT_KEEP_SAMPLES; keep <= PT_KEEP_STACKS; keep++) {
        const struct pt_load_request request = {.keep = keep};
        AUTO_PROFILE *profile = service(&request);
        assert_int_equal(ns_of(profile, "[loop];[task root];[task parent];[task child];leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[loop];[task root];[task parent];[task child];leaf;leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[loop];[task child];leaf;leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[task parent];leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "run"), SAMPLE_NS);
        assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
    }
}

TEST(without_awaiters_the_task_stays)
{
    const struct pt_load_request request = {.keep = PT_KEEP_STACKS, .select.no_awaiters = true};
    AUTO_PROFILE *profile = service(&request);
    assert_int_equal(ns_of(profile, "[loop];[task child];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "[loop];[task child];leaf;leaf"), 2 * SAMPLE_NS);
    assert_int_equal(ns_of(profile, "leaf"), 2 * SAMPLE_NS);
    assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
}

TEST(with_all_native_code_the_loop_is_whole)
{
    const struct pt_load_request request = {.select.native = PT_NATIVE_ALL};
    AUTO_PROFILE *profile = service(&request);
    assert_int_equal(ns_of(profile, "run;[task root];[task parent];[task child];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "run;[task child];leaf;leaf"), SAMPLE_NS);
    assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
}

static uint64_t ns_of_value(const struct pt_profile *profile, const struct pt_group *group, const char *value)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t string = pt_group_value(group, &profile->samples.items[i]);
        if (string ? strcmp(pt_string(profile, string), value) == 0 : !*value)
            ns += profile->samples.items[i].cpu_ns;
    }
    return ns;
}

/* CPU of values, in samples; the last value is "", what has none. */
TEST(groups)
{
    static const struct {
        const char *by;
        struct {
            const char *value;
            uint64_t samples;
        } values[4];
    } wanted[] = {
        {"endpoint", {{"/a", 2}, {"/b", 2}, {"", 2}}},
        {"task", {{"child", 4}, {"parent", 1}, {"", 1}}}, /* parent gave work to a thread */
        {"thread", {{"MainThread", 4}, {"pool", 2}, {"", 0}}},
        {"package", {{"run", 1}, {"leaf", 5}, {"", 0}}},
        {"label:awaiter", {{"parent", 3}, {"", 3}}},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct pt_load_request request = {.keep = PT_KEEP_STACKS, .by = wanted[i].by};
        AUTO_PROFILE *profile = service(&request);
        struct pt_group group = pt_group_by(profile, wanted[i].by);
        uint64_t sum = 0;
        for (size_t j = 0; j < 4 && wanted[i].values[j].value; j++) {
            uint64_t ns = ns_of_value(profile, &group, wanted[i].values[j].value);
            assert_int_equal(ns, wanted[i].values[j].samples * SAMPLE_NS);
            sum += ns;
        }
        assert_int_equal(sum, SERVICE_NS);
        pt_group_free(&group);
    }
}

TEST(values_are_roots)
{
    const struct pt_load_request request = {.keep = PT_KEEP_STACKS, .by = "endpoint", .by_roots = true};
    AUTO_PROFILE *profile = service(&request);
    assert_int_equal(ns_of(profile, "/a;[loop];[task root];[task parent];[task child];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "/b;[loop];[task child];leaf;leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "/b;leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "(none);[task parent];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "(none);run"), SAMPLE_NS);
    assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
}

TEST(contexts_select)
{
    static const struct {
        struct pt_selection select;
        uint64_t samples;
    } wanted[] = {
        {{.focus = "endpoint=/a"}, 2},
        {{.focus = "^task=child$"}, 4},
        {{.ignore = "awaiter=parent"}, 3},
        {{.focus = "\\[task parent\\]"}, 3},
        {{.focus = "child|run", .ignore = "endpoint=/b"}, 3},
        {{.not_thread = "pool"}, 4},
        {{.not_thread = "7"}, 2},
        {{.thread = "o", .not_thread = "Main"}, 2},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct pt_load_request request = {.keep = PT_KEEP_STACKS, .select = wanted[i].select};
        AUTO_PROFILE *profile = service(&request);
        if (pt_profile_cpu_ns(profile) != wanted[i].samples * SAMPLE_NS)
            fail_msg("%zu: %" PRIu64 " ns", i, pt_profile_cpu_ns(profile));
    }
}

TEST(profiles_that_are_merged_keep_contexts)
{
    static const struct pt_load_request request = {.keep = PT_KEEP_STACKS};
    for (int keep = PT_KEEP_SAMPLES; keep <= PT_KEEP_STACKS; keep++) {
        struct pt_load_request kept = request;
        kept.keep = (enum pt_keep)keep;
        struct pt_profile *one = service(&kept), *other = pt_profile_new(&kept);
        struct fixture log;
        fixture_example(&log, 100, 0);
        add_log(other, &log);
        /* Numbers change: the example has label sets of its own. */
        assert_true(pt_profile_merge(other, one, NULL, 0));
        struct pt_group group = pt_group_by(other, "endpoint");
        assert_int_equal(ns_of_value(other, &group, "/a"), 2 * SAMPLE_NS);
        pt_group_free(&group);
        pt_profile_free(other);
    }
}
