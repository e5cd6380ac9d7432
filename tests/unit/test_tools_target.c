/* Whose processes `pyprof top PID` shows. */
#include "profile_fixture.h"
#include "tools/load/follow.h"
#include "tools/top/target.h"

#define TEXT(text) ((struct pt_text){(text), strlen(text)})

static struct pt_target new_target(uint64_t pid)
{
    struct pt_target target = {.pid = (int)pid, .since_unix_ns = 100, .boot_id = pt_strdup("boot")};
    target.family.items = pt_grow(NULL, &target.family.capacity, 1, sizeof *target.family.items);
    target.family.items[target.family.count++] = (struct pt_relative){.pid = pid};
    return target;
}

static bool wants(struct pt_target *target, uint64_t pid, uint64_t ppid, const char *texts[4])
{
    const struct pt_log_process process = {.pid = pid,
                                           .ppid = ppid,
                                           .start_unix_ns = 200,
                                           .run = TEXT(texts[0]),
                                           .instance = TEXT(texts[1]),
                                           .parent_instance = TEXT(texts[2]),
                                           .host = TEXT(texts[3]),
                                           .boot_id = TEXT("boot")};
    return pt_target_wants(target, &process);
}
#define WANTS(target, pid, ppid, ...) wants(target, pid, ppid, (const char *[4]){__VA_ARGS__})

/* The same small pids on every side. */
TEST(containers_with_one_directory_are_told_apart)
{
    for (int same_host = 0; same_host < 2; same_host++) {
        const char *other = same_host ? "a" : "b";
        struct pt_target target = new_target(1);
        assert_true(WANTS(&target, 1, 0, "run-a", "a1", "", "a"));
        assert_false(WANTS(&target, 1, 0, "run-b", "b1", "", other));
        assert_false(WANTS(&target, 7, 1, "run-b", "b7", "b1", other));
        assert_true(WANTS(&target, 7, 1, "run-a", "a7", "a1", "a"));
        assert_false(WANTS(&target, 8, 7, "run-b", "b8", "b7", other));
        assert_true(WANTS(&target, 8, 7, "run-a", "a8", "", "a"));        /* that lost sight of its parent */
        assert_true(WANTS(&target, 7, 1, "run-a", "a7-exec", "", "a"));   /* another image */
        assert_true(WANTS(&target, 2, 1, "run-a", "deep", "a8", "else")); /* forked into namespaces of its own */
        pt_target_free(&target);
    }
}

TEST(of_another_boot_or_older_is_none)
{
    struct pt_target target = new_target(1);
    struct pt_log_process process = {.pid = 1, .start_unix_ns = 200, .boot_id = TEXT("other"), .instance = TEXT("x")};
    assert_false(pt_target_wants(&target, &process));
    process.boot_id = TEXT("boot");
    process.start_unix_ns = 99;
    assert_false(pt_target_wants(&target, &process));
    process.start_unix_ns = 200;
    assert_true(pt_target_wants(&target, &process));
    pt_target_free(&target);
}

static void write_log(uint64_t pid, uint64_t ppid)
{
    char name[128], instance[16];
    AUTO_FIXTURE log;
    snprintf(instance, sizeof instance, "i%d", (int)pid);
    snprintf(name, sizeof name, "%d-1.pyprof", (int)pid);
    fixture_begin(&log);
    fixture_child(&log, &(struct fixture_process){.run = "r", .instance = instance, .pid = pid, .start_unix_ns = 200},
                  &(struct fixture_origin){.ppid = ppid});
    fixture_sample(&log, fixture_thread(&log, pid, "t"), fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1,
                   10);
    fixture_write(name, log.file.data, log.file.length);
}

/* 5 is the parent of 40, that of 30, that of 2; 6 and its child 3 are others. 40 comes last. */
TEST(children_are_found_whose_logs_come_before_their_parents)
{
    static const uint64_t pids[][2] = {{2, 30}, {3, 6}, {30, 40}, {5, 1}, {6, 1}, {40, 5}};
    char *arguments[] = {scratch_path, NULL};
    scratch_make();
    struct pt_target target = new_target(5);
    target.request.paths = arguments;
    target.request.path_count = 1;
    target.request.all = true;
    target.request.wants = pt_target_wants;
    target.request.wants_context = &target;
    struct pt_follow *follow = pt_follow_new(&target.request, 0);
    for (size_t i = 0; i < 5; i++)
        write_log(pids[i][0], pids[i][1]);
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(follow->profile->processes.count, 1);
    write_log(pids[5][0], pids[5][1]);
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(follow->profile->processes.count, 4);
    assert_int_equal(pt_profile_cpu_ns(follow->profile), 40);
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(pt_profile_cpu_ns(follow->profile), 40);
    assert_int_equal(follow->profile->losses.repeated_segments, 0);
    pt_follow_free(follow);
    pt_target_free(&target);
}
