/* Contexts of samples: tasks in stacks. */
#include "log_fixture.h"
#include "tools/profile/select.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLE_NS 10000000u

static const char *const of_task[] = {"task", "child", "awaiter", "parent", "awaiter", "root", "endpoint", "/a", NULL};
static const char *const of_thread[] = {"awaiter", "parent", NULL};
static const char *const of_nothing[] = {"endpoint", "/b", "task", "child", NULL};

/* A service: a task below its loop, work that it gave to a thread, the loop itself, and code without tasks. Each has
 * one sample; the second stack of the task has two, of two endpoints. */
static struct pt_profile *service(const struct pt_load_request *request)
{
    struct fixture log;
    fixture_begin(&log);
    fixture_process(&log, &(struct fixture_process){"run", "one", "/srv", "3.13.1", "/usr/bin/python3", 0, 7, 0});
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
    struct pt_profile *profile = pt_profile_new(request);
    assert_int_equal(pt_profile_add_segment(profile, log.file.data, log.file.length, "service"), PT_READ_OK);
    pt_profile_finish(profile);
    fixture_end(&log);
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
        struct pt_buffer text = {0};
        pt_buffer_text(&text, "");
        append_stack(&text, profile, profile->samples.items[i].node);
        ns += strcmp(text.data, stack) == 0 ? profile->samples.items[i].cpu_ns : 0;
        pt_buffer_free(&text);
    }
    return ns;
}

static void tasks_are_in_stacks(void **state)
{
    (void)state;
    for (enum pt_keep keep = PT_KEEP_SAMPLES; keep <= PT_KEEP_STACKS; keep++) {
        const struct pt_load_request request = {.keep = keep};
        struct pt_profile *profile = service(&request);
        assert_int_equal(ns_of(profile, "[loop];[task root];[task parent];[task child];leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[loop];[task root];[task parent];[task child];leaf;leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[loop];[task child];leaf;leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "[task parent];leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "leaf"), SAMPLE_NS);
        assert_int_equal(ns_of(profile, "run"), SAMPLE_NS);
        assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
        pt_profile_free(profile);
    }
}

static void without_awaiters_the_task_stays(void **state)
{
    (void)state;
    const struct pt_load_request request = {.keep = PT_KEEP_STACKS, .select.no_awaiters = true};
    struct pt_profile *profile = service(&request);
    assert_int_equal(ns_of(profile, "[loop];[task child];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "[loop];[task child];leaf;leaf"), 2 * SAMPLE_NS);
    assert_int_equal(ns_of(profile, "leaf"), 2 * SAMPLE_NS);
    assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
    pt_profile_free(profile);
}

static void with_all_native_code_the_loop_is_whole(void **state)
{
    (void)state;
    const struct pt_load_request request = {.select.native = PT_NATIVE_ALL};
    struct pt_profile *profile = service(&request);
    assert_int_equal(ns_of(profile, "run;[task root];[task parent];[task child];leaf"), SAMPLE_NS);
    assert_int_equal(ns_of(profile, "run;[task child];leaf;leaf"), SAMPLE_NS);
    assert_int_equal(pt_profile_cpu_ns(profile), SERVICE_NS);
    pt_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_in_stacks),
        cmocka_unit_test(without_awaiters_the_task_stays),
        cmocka_unit_test(with_all_native_code_the_loop_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
