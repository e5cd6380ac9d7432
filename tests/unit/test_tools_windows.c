/* Adjoining windows hold everything once, of whole logs and of those that grow. */
#include "log_fixture.h"
#include "random.h"
#include "tools/load/load.h"
#include "tools/load/windows.h"
#include "tools/model/selection.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define S         1000000000ull
#define START_NS  (1700000000 * S)
#define PROCESSES 3
#define INTERVALS 40

static char *const paths[] = {"logs"};

void before_each(void)
{
    scratch_make();
    mkdir("logs", 0700);
}

void after_each(void)
{
    scratch_remove();
}

struct log {
    struct fixture fixture;
    uint32_t thread, nodes[2];
    uint64_t until, sampled, pid;
    char path[64];
};

static void write_log(const struct log *log)
{
    fixture_write(log->path, log->fixture.file.data, log->fixture.file.length);
}

static void begin_log(struct log *log, uint64_t pid)
{
    char instance[32];
    memset(log, 0, sizeof *log);
    snprintf(instance, sizeof instance, "instance-%u", (unsigned)pid);
    snprintf(log->path, sizeof log->path, "logs/%u-%llu-1.pyprof", (unsigned)pid, START_NS);
    const struct fixture_process process = {
        .run = "run", .instance = instance, .pid = pid, .python_version = "3.12.1", .start_unix_ns = START_NS};
    fixture_begin(&log->fixture);
    fixture_process(&log->fixture, &process);
    log->thread = fixture_thread(&log->fixture, pid, "MainThread");
    for (int i = 0; i < 2; i++) {
        uint32_t code = fixture_code(&log->fixture, i ? "odd" : "even", "/srv/app.py", 10);
        log->nodes[i] = fixture_node(&log->fixture, 0, fixture_python(&log->fixture, code, 11));
    }
    log->until = START_NS;
    log->pid = pid;
}

/* An interval that follows the one before it. */
static void add_interval(struct log *log, uint64_t wall_ns, uint64_t cpu_ns)
{
    const uint64_t samples[][FIXTURE_SAMPLE_FIELDS] = {{log->thread, log->nodes[0], 0, 0, 3, cpu_ns},
                                                       {log->thread, log->nodes[1], 0, 0, 1, cpu_ns / 3 + 1}};
    fixture_samples_at(&log->fixture, log->until, wall_ns, samples, 2);
    log->until += wall_ns;
    log->sampled += cpu_ns + cpu_ns / 3 + 1;
}

static void account(struct log *log, uint64_t pending_ns, bool ends)
{
    const struct fixture_account sums[] = {{PP_ACCOUNT_END_UNIX_NS, log->until},
                                           {PP_ACCOUNT_CPU_NS, log->sampled + pending_ns},
                                           {PP_ACCOUNT_SAMPLED_NS, log->sampled},
                                           {PP_ACCOUNT_PENDING_NS, pending_ns},
                                           {0, 0}};
    struct fixture_bytes end = {0};
    fixture_accounting(&log->fixture, sums);
    fixture_varint(&end, log->until);
    fixture_varint(&end, PP_END_EXIT);
    if (ends)
        fixture_block(&log->fixture, PP_BLOCK_END, end.data, end.length);
    free(end.data);
}

/* CPU time of a profile, which is freed; of the function `odd` alone, and of all. */
struct sums {
    uint64_t odd, all;
};

static struct sums sums_of(struct pt_profile *profile)
{
    struct sums sums = {0, 0};
    for (uint32_t i = 0; profile && i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[sample->node].frame];
        sums.all += sample->cpu_ns;
        if (frame->kind == PP_FRAME_PYTHON &&
            strcmp(pt_string(profile, profile->functions.items[frame->subject].name), "odd") == 0)
            sums.odd += sample->cpu_ns;
    }
    pt_profile_free(profile);
    return sums;
}

static struct sums loaded(uint64_t from, uint64_t to)
{
    struct pt_load_request request = {
        .paths = paths, .path_count = 1, .all = true, .select = {.from.unix_ns = from, .to.unix_ns = to}};
    return sums_of(pt_load(&request));
}

static void assert_sums_are(struct sums sums, struct sums wanted)
{
    assert_int_equal(sums.odd, wanted.odd);
    assert_int_equal(sums.all, wanted.all);
}

static struct sums sum(struct sums a, struct sums b)
{
    return (struct sums){a.odd + b.odd, a.all + b.all};
}

static uint64_t random_until(uint64_t limit)
{
    return ((uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX)) % limit;
}

/* Intervals of all lengths, of several processes. */
static uint64_t write_logs(void)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct log log;
        begin_log(&log, 100 + i);
        for (int k = 0; k < INTERVALS; k++)
            add_interval(&log, 1 + random_until(3 * S), random_until(900000007));
        account(&log, 5000000 + i, true);
        write_log(&log);
        end = log.until > end ? log.until : end;
        fixture_end(&log.fixture);
    }
    return end;
}

TEST(adjoining_times_of_logs_add_up_exactly)
{
    uint64_t end = write_logs() + 1;
    struct sums whole = loaded(0, 0);
    for (int i = 0; i < 20; i++) {
        uint64_t a = START_NS + random_until(end - START_NS), b = a + 1 + random_until(end - a),
                 c = b + 1 + random_until(10 * S);
        assert_sums_are(sum(loaded(a, b), loaded(b, c)), loaded(a, c));
        assert_sums_are(sum(sum(loaded(0, a), loaded(a, b)), loaded(b, 0)), whole);
    }
}

TEST(windows_of_logs_are_what_loading_their_times_gives)
{
    struct pt_load_request request = {.paths = paths, .path_count = 1};
    uint64_t end = write_logs() + 1, from = START_NS + S / 3;
    struct pt_windows *windows = pt_windows_new(&request, from);
    for (uint64_t to; from < end; from = to) {
        to = from + 7 * S;
        assert_sums_are(sums_of(pt_windows_next(windows, to)), loaded(from, to));
    }
    assert_null(pt_windows_next(windows, from + S));
    pt_windows_free(windows);
}

TEST(a_window_has_its_own_time_and_the_sums_of_its_processes)
{
    struct pt_load_request request = {.paths = paths, .path_count = 1, .select = {.pid = "101"}};
    uint64_t start, end;
    write_logs();
    struct pt_windows *windows = pt_windows_new(&request, 0);
    struct pt_profile *profile = pt_windows_next(windows, START_NS + 5 * S);
    assert_non_null(profile);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        assert_int_equal(profile->processes.items[profile->threads.items[profile->samples.items[i].thread].process].pid,
                         101);
    pt_profile_free(profile);
    profile = pt_windows_next(windows, START_NS + 20 * S);
    assert_non_null(profile);
    pt_profile_span(profile, &start, &end);
    pt_selected_window(profile, &start, &end);
    assert_int_equal(start, START_NS + 5 * S);
    assert_int_equal(end, START_NS + 20 * S);
    assert_int_equal(profile->whole_ns, pt_profile_cpu_ns(profile));
    pt_profile_free(profile);
    pt_windows_free(windows);
}

/* What is written late is in the next window, and nothing is there twice. */
TEST(windows_of_a_log_that_grows)
{
    struct pt_load_request request = {.paths = paths, .path_count = 1};
    struct log log;
    struct pt_windows *windows = pt_windows_new(&request, 0);
    assert_null(pt_windows_next(windows, START_NS));
    begin_log(&log, 100);
    struct sums given = {0};
    for (int i = 0; i < 30; i++) {
        add_interval(&log, i % 7 == 3 ? 40 * S : S, 12345678 + (uint64_t)i);
        account(&log, 1000, i == 29);
        if (i % 3 == 0)
            write_log(&log);
        given = sum(given, sums_of(pt_windows_next(windows, log.until - S / 4)));
    }
    write_log(&log);
    given = sum(given, sums_of(pt_windows_next(windows, log.until)));
    given = sum(given, sums_of(pt_windows_next(windows, log.until + 1)));
    assert_int_equal(given.all, log.sampled + 1000);
    assert_sums_are(given, loaded(0, 0));
    fixture_end(&log.fixture);
    pt_windows_free(windows);
}
