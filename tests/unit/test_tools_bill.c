/* What `pyprof run` appends to a log: one whole block to a complete log, or nothing. */
#include "profile_fixture.h"
#include "tools/load/files.h"
#include "tools/load/load.h"
#include "tools/run/summary.h"
#include "tools/view/summary.h"
#include <signal.h>
#include <sys/resource.h>

#define BILLED_NS 123456789u

static char path[] = "log.pyprof";

void before_all(void)
{
    scratch_make();
}

/* Writes a log of so much CPU time but for its last bytes, and returns its size. */
static size_t write_log_of(uint64_t cpu_ns, bool exits, size_t cut)
{
    struct fixture log =
        fixture_of(&(struct fixture_process){.run = "run", .instance = "one", .pid = 7, .start_unix_ns = 1});
    fixture_sample(&log, 0, fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1, 10);
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, cpu_ns}, {0, 0}});
    if (exits)
        fixture_exit(&log);
    size_t size = log.file.length - cut;
    fixture_write(path, log.file.data, size);
    fixture_end(&log);
    return size;
}

static size_t write_log(bool exits, size_t cut)
{
    return write_log_of(10, exits, cut);
}

static size_t size_now(void)
{
    size_t size;
    free(pt_read_file(path, SIZE_MAX - 1, &size));
    return size;
}

static bool append(enum pt_alive alive)
{
    return pt_bill_append(&(struct pt_file){.path = path, .alive = alive}, BILLED_NS);
}

static void assert_billed(uint64_t billed_ns)
{
    char *paths[] = {path};
    AUTO_PROFILE *profile = pt_load(&(struct pt_load_request){.paths = paths, .path_count = 1});
    assert_non_null(profile);
    assert_int_equal(pt_summary_billed_ns(profile), billed_ns);
    const struct pt_read_losses none = {0};
    assert_memory_equal(&profile->losses, &none, sizeof none);
}

TEST(is_appended_to_a_complete_log)
{
    write_log(true, 0);
    assert_true(append(PT_ALIVE_UNKNOWN));
    assert_billed(BILLED_NS);
    write_log(false, 0); /* killed */
    assert_true(append(PT_ALIVE_NO));
    assert_billed(BILLED_NS);
}

/* As where a worker was not waited for: that is no bill of the whole run. */
TEST(is_not_shown_where_the_profile_has_more)
{
    write_log_of(BILLED_NS, true, 0);
    assert_true(append(PT_ALIVE_UNKNOWN));
    assert_billed(BILLED_NS);
    write_log_of(BILLED_NS + 1, true, 0);
    assert_true(append(PT_ALIVE_UNKNOWN));
    assert_billed(0);
}

struct member {
    uint64_t cpu_ns, billed_ns;
};

/* Returns what the report says was billed to a run of these processes. */
static uint64_t billed_of(const struct member *members, size_t count)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    uint32_t run = pt_intern_text(profile, "run");
    for (size_t i = 0; i < count; i++) {
        char instance[] = {(char)('a' + i), 0};
        uint32_t number = pt_add_process(profile, pt_intern_text(profile, instance));
        struct pt_process *process = &profile->processes.items[number];
        process->run = run;
        process->pid = 10 + i;
        process->ppid = 8 + i; /* a program without Python is between them */
        process->accounting.cpu_ns = members[i].cpu_ns;
        process->run_billed_ns = members[i].billed_ns;
    }
    uint64_t billed_ns = pt_summary_billed_ns(profile);
    return billed_ns;
}
#define BILLED_OF(...)                                                                                                 \
    billed_of((const struct member[]){__VA_ARGS__},                                                                    \
              sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

TEST(is_shown_whatever_was_waited_for)
{
    assert_int_equal(BILLED_OF({20, BILLED_NS}, {30, 0}), BILLED_NS);
    assert_int_equal(BILLED_OF({20, BILLED_NS}, {BILLED_NS, 0}), 0);
}

TEST(is_the_largest_of_runs_within_each_other)
{
    assert_int_equal(BILLED_OF({20, BILLED_NS}, {30, 50}), BILLED_NS);
    assert_int_equal(BILLED_OF({20, 50}, {30, BILLED_NS}), BILLED_NS);
}

TEST(is_not_appended_where_more_may_follow)
{
    size_t size = write_log(false, 0);
    assert_false(append(PT_ALIVE_YES));
    assert_false(append(PT_ALIVE_UNKNOWN));
    assert_int_equal(size_now(), size);
    assert_billed(0);
}

TEST(is_not_appended_to_half_a_block)
{
    size_t size = write_log(false, 3);
    assert_false(append(PT_ALIVE_NO));
    assert_int_equal(size_now(), size);
}

/* As on a disk that becomes full: a part could be written. */
TEST(leaves_nothing_of_a_part)
{
    size_t size = write_log(true, 0);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){size + 5, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool appended = append(PT_ALIVE_NO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(appended);
    assert_int_equal(size_now(), size);
    assert_billed(0);
}
