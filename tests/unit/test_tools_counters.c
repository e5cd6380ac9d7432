/* The counters of `pyprof serve` go on when their reader begins again, and what they take does not grow with the
 * processes that have ended. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "log_fixture.h"
#include "tools/serve/counters.h"
#include "unit.h"

#define NS_PER_S  UINT64_C(1000000000)
#define WALL_NS   (NS_PER_S / 100)
#define SAMPLE_NS 1000
#define CPU_NS    1500
#define OLD_S     600 /* nothing was written for so long */
#define SPARE     200 /* what the reader may have learnt when it begins again */
#define STEPS     ROUNDS(400, 60)
#define ENDPOINTS (PT_MOST_ENDPOINTS + 20)

void before_each(void)
{
    scratch_make();
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct process {
    struct fixture fixture;
    char path[32];
    uint32_t thread, node;
    uint64_t sampled, at_ns;
};

static void begin_process(struct process *process, unsigned pid, unsigned number, uint64_t at_ns)
{
    char instance[16];
    snprintf(instance, sizeof instance, "%u-%u", pid, number);
    *process = (struct process){.at_ns = at_ns};
    snprintf(process->path, sizeof process->path, "%u-%u.pyprof", pid, number);
    fixture_begin(&process->fixture);
    fixture_process(&process->fixture,
                    &(struct fixture_process){"run", instance, "/", "3.12.1", "/python", 0, pid, at_ns});
    process->thread = fixture_thread(&process->fixture, pid, "MainThread");
    process->node = fixture_node(
        &process->fixture, 0, fixture_python(&process->fixture, fixture_code(&process->fixture, "f", "/a.py", 1), 1));
}

/* Writes one more interval, of which the endpoint has all. */
static void work(struct process *process, const char *endpoint)
{
    struct fixture *fixture = &process->fixture;
    uint32_t labels = fixture_labels(fixture, "endpoint", endpoint);
    const uint64_t sample[][FIXTURE_SAMPLE_FIELDS] = {{process->thread, process->node, labels, 0, 1, SAMPLE_NS}};
    fixture_samples_at(fixture, process->at_ns, WALL_NS, sample, 1);
    process->at_ns += WALL_NS;
    process->sampled++;
    fixture_accounting(fixture, (const struct fixture_account[]){{PP_ACCOUNT_END_UNIX_NS, process->at_ns},
                                                                 {PP_ACCOUNT_CPU_NS, CPU_NS * process->sampled},
                                                                 {PP_ACCOUNT_SAMPLES, process->sampled},
                                                                 {0, 0}});
    fixture_write(process->path, fixture->file.data, fixture->file.length);
}

static void end_process(struct process *process, bool old)
{
    fixture_exit(&process->fixture);
    fixture_write(process->path, process->fixture.file.data, process->fixture.file.length);
    struct timespec when = {.tv_sec = (time_t)(now_ns() / NS_PER_S) - OLD_S};
    if (old)
        assert_int_equal(utimensat(AT_FDCWD, process->path, (const struct timespec[]){when, when}, 0), 0);
    fixture_end(&process->fixture);
}

static void read_now(struct pt_counters *counters)
{
    if (counters->read_ns)
        counters->read_ns -= 2 * NS_PER_S;
    pt_counters_read(counters);
}

static uint64_t endpoint_ns(const struct pt_counters *counters)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counters->endpoints.count; i++)
        sum += counters->endpoints.items[i].cpu_ns;
    return sum;
}

TEST(counters_go_on_when_their_reader_begins_again)
{
    struct pt_counters counters = {0};
    struct process lasting, brief;
    uint64_t most = 0, written = 0;
    pt_counters_begin(&counters, scratch_path, SPARE);
    begin_process(&lasting, (unsigned)getpid(), 0, now_ns());
    for (unsigned i = 1; i <= STEPS; i++) {
        work(&lasting, i % 2 ? "/even" : "/odd");
        begin_process(&brief, 1u << 30, i, now_ns());
        work(&brief, "/brief");
        written += 2;
        read_now(&counters);
        end_process(&brief, true);
        read_now(&counters);
        assert_int_equal(endpoint_ns(&counters), written * SAMPLE_NS);
        assert_int_equal(counters.sum.cpu_ns, written * CPU_NS);
        assert_int_equal(counters.sum.samples, written);
        most = counters.processes.count > most ? counters.processes.count : most;
    }
    assert_true(counters.begins > 3);
    assert_true(most < STEPS / 2);
    pt_counters_free(&counters);
    fixture_end(&lasting.fixture);
}

/* Prometheus adds up what a counter has when it starts again. */
TEST(what_was_before_is_in_no_counter)
{
    struct pt_counters counters = {0};
    struct process process;
    begin_process(&process, (unsigned)getpid(), 0, now_ns() - OLD_S * NS_PER_S);
    work(&process, "/before");
    pt_counters_begin(&counters, scratch_path, SPARE);
    read_now(&counters);
    assert_int_equal(counters.endpoints.count, 0);
    assert_int_equal(counters.sum.cpu_ns, 0);
    assert_int_equal(counters.processes.items[0].last.cpu_ns, CPU_NS);
    process.at_ns = now_ns();
    work(&process, "/after");
    read_now(&counters);
    assert_int_equal(counters.endpoints.count, 1);
    assert_string_equal(counters.endpoints.items[0].endpoint, "/after");
    assert_int_equal(endpoint_ns(&counters), SAMPLE_NS);
    assert_int_equal(counters.sum.cpu_ns, CPU_NS);
    assert_int_equal(counters.processes.items[0].last.cpu_ns, 2 * CPU_NS);
    pt_counters_free(&counters);
    fixture_end(&process.fixture);
}

TEST(endpoints_are_bounded_and_none_is_lost)
{
    struct pt_counters counters = {0};
    struct process process;
    pt_counters_begin(&counters, scratch_path, 0);
    begin_process(&process, (unsigned)getpid(), 0, now_ns());
    fixture_write("1-empty.pyprof", "", 0); /* of a process that was killed at once: it can be read */
    for (unsigned i = 0; i < ENDPOINTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "/item/%u", i);
        work(&process, name);
    }
    read_now(&counters);
    assert_int_equal(counters.endpoints.count, PT_MOST_ENDPOINTS + 1);
    assert_int_equal(endpoint_ns(&counters), ENDPOINTS * SAMPLE_NS);
    PT_AUTO_BUFFER text = {0};
    pt_counters_metrics(&counters, &text);
    assert_non_null(strstr(text.data, "{endpoint=\"(others)\"} 0.000020000\n"));
    assert_non_null(strstr(text.data, "\npyprof_unreadable_files 0\n"));
    pt_counters_free(&counters);
    fixture_end(&process.fixture);
}
