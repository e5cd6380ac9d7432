/* Which runs are joined: those of processes that were started without PYPROF_RUN by a process that has a log. */
#include "profile_fixture.h"
#include "tools/load/load.h"
#include "tools/load/runs.h"

#define START_NS  1700000000000000000u
#define SECOND_NS 1000000000u /* fixture_exit says that a process ended so long after START_NS */
#define BOOT      "boot-1"
#define SPACE     "pid:[1]"

struct made {
    const char *run;
    uint64_t pid, ppid, start_ns, group;
    bool exits;
    const char *boot, *space; /* NULL: BOOT, SPACE */
};

void before_all(void)
{
    scratch_make();
    unsetenv("PYPROF_OUT");
    setenv("TMPDIR", scratch_path, 1);
}

static void write_log(const struct made *made)
{
    AUTO_FIXTURE log;
    char instance[64], name[96];
    snprintf(instance, sizeof instance, "%s-%u-%u", made->run, (unsigned)made->pid,
             (unsigned)(made->start_ns / 1000000));
    snprintf(name, sizeof name, "pyprof.out/%s.pyprof", instance);
    fixture_begin(&log);
    fixture_child(
        &log,
        &(struct fixture_process){
            .run = made->run, .instance = instance, .pid = made->pid, .start_unix_ns = START_NS + made->start_ns},
        &(struct fixture_origin){made->ppid, made->group, made->boot ? made->boot : BOOT,
                                 made->space ? made->space : SPACE});
    fixture_sample(&log, 0, fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1, 10);
    fixture_accounting(&log, (const struct fixture_account[]){
                                 {PP_ACCOUNT_END_UNIX_NS, START_NS + made->start_ns + SECOND_NS}, {0, 0}});
    if (made->exits)
        fixture_exit(&log);
    fixture_write(name, log.file.data, log.file.length);
}

static uint32_t processes(const char *run)
{
    const struct pt_load_request request = {.run = run};
    AUTO_PROFILE *profile = pt_load(&request);
    uint32_t count = profile ? profile->processes.count : 0;
    return count;
}

static uint32_t runs(void)
{
    const struct pt_load_request request = {.keep = PT_KEEP_SUMS};
    struct pt_profile *profile = pt_load(&request);
    uint32_t count;
    assert_non_null(profile);
    free(pt_runs_of(profile, &count));
    pt_profile_free(profile);
    return count;
}

#define LOG(id, number, parent, start, ...)                                                                            \
    {                                                                                                                  \
        .run = id, .pid = number, .ppid = parent, .start_ns = start, __VA_ARGS__                                       \
    }

/* Checks how many processes the latest run has, and how many runs there are. */
#define check(latest, all, ...) check_logs(latest, all, (const struct made[]){__VA_ARGS__, {.run = NULL}})
static void check_logs(uint32_t latest, uint32_t all, const struct made *made)
{
    assert_int_equal(system("rm -rf pyprof.out; mkdir pyprof.out"), 0);
    for (; made->run; made++)
        write_log(made);
    assert_int_equal(processes(NULL), latest);
    assert_int_equal(runs(), all);
}

TEST(a_child_belongs_to_the_run_of_its_parent)
{
    check(3, 1, LOG("aa", 10, 1, 0), LOG("bb", 11, 10, SECOND_NS), LOG("cc", 12, 10, 2 * SECOND_NS));
    assert_int_equal(processes("aa"), 3);
    assert_int_equal(processes("bb"), 1);
    assert_int_equal(processes("dd"), 0);
    /* The parent's end is after the child's start. */
    check(2, 1, LOG("aa", 10, 1, 0, .exits = true), LOG("bb", 11, 10, SECOND_NS / 2));
    /* Children of a child, with its run and with one of their own. */
    check(4, 1, LOG("aa", 10, 1, 0), LOG("bb", 11, 10, 1), LOG("bb", 12, 11, 2), LOG("cc", 13, 12, 3));
}

TEST(a_pid_that_was_used_again_is_no_parent)
{
    check(1, 2, LOG("aa", 10, 1, 0, .exits = true), LOG("bb", 11, 10, 2 * SECOND_NS));
    /* The later process with that pid is the parent. */
    check(2, 2, LOG("aa", 10, 1, 0), LOG("bb", 10, 1, SECOND_NS), LOG("cc", 11, 10, 2 * SECOND_NS));
    /* ... even if it has ended since. */
    check(1, 3, LOG("aa", 10, 1, 0), LOG("bb", 10, 1, SECOND_NS / 2, .exits = true), LOG("cc", 11, 10, 2 * SECOND_NS));
    /* It began after its supposed child. */
    check(1, 2, LOG("aa", 11, 10, 0), LOG("bb", 10, 1, SECOND_NS));
}

TEST(pids_of_other_machines_are_others)
{
    check(1, 2, LOG("aa", 10, 1, 0), LOG("bb", 11, 10, SECOND_NS, .boot = "boot-2"));
    check(1, 2, LOG("aa", 10, 1, 0), LOG("bb", 11, 10, SECOND_NS, .space = "pid:[2]"));
    check(1, 2, LOG("aa", 10, 1, 0, .boot = ""), LOG("bb", 11, 10, SECOND_NS, .boot = ""));
    check(2, 2, LOG("aa", 10, 1, 0, .space = "pid:[2]"), LOG("bb", 10, 1, 1), LOG("cc", 11, 10, SECOND_NS));
    assert_int_equal(processes("bb"), 2);
    /* Without a parent in this namespace. */
    check(1, 2, LOG("aa", 10, 1, 0), LOG("bb", 11, 0, SECOND_NS));
}

TEST(children_of_one_job_that_ran_at_once_are_one_run)
{
    check(2, 1, LOG("aa", 10, 5, 0, 4, .exits = true), LOG("bb", 11, 5, SECOND_NS / 2, 4, .exits = true));
    /* The second is there until the third begins, when the first has ended. */
    check(3, 1, LOG("aa", 10, 5, 0, 4, .exits = true), LOG("bb", 11, 5, SECOND_NS / 2, 4),
          LOG("cc", 12, 5, SECOND_NS / 2 + 1, 4));
    assert_int_equal(processes("aa"), 3);
    assert_int_equal(processes("cc"), 1);
    /* A child of the second. */
    check(3, 1, LOG("aa", 10, 5, 0, 4, .exits = true), LOG("bb", 11, 5, SECOND_NS / 2, 4),
          LOG("cc", 12, 11, SECOND_NS, 4));
}

TEST(other_children_of_a_parent_without_a_log_are_launches_of_their_own)
{
    /* One after the other, as a script runs commands; the first has ended, or was killed. */
    check(1, 2, LOG("aa", 10, 5, 0, 4, .exits = true), LOG("bb", 11, 5, 2 * SECOND_NS, 4));
    check(1, 2, LOG("aa", 10, 5, 0, 4), LOG("bb", 11, 5, 2 * SECOND_NS, 4));
    /* Jobs of an interactive shell, services of an init: groups of their own, or unknown ones. */
    check(1, 2, LOG("aa", 10, 5, 0, 10), LOG("bb", 11, 5, 1, 11));
    check(1, 2, LOG("aa", 10, 5, 0, 0), LOG("bb", 11, 5, 1, 0));
    check(1, 2, LOG("aa", 10, 5, 0, 4), LOG("bb", 11, 6, 1, 4));
    check(1, 2, LOG("aa", 10, 5, 0, 4), LOG("bb", 11, 5, 1, 4, .boot = "boot-2"));
    check(1, 2, LOG("aa", 10, 0, 0, 4), LOG("bb", 11, 0, 1, 4));
}
