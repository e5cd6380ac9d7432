/* Many bytes of logs are read by several threads, and go on being read as they grow. */
#include "log_fixture.h"
#include "tools/load/follow.h"
#include "tools/load/growing_file.h"
#include "tools/load/parts.h"
#include "unit.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#define LOGS      3
#define PADDING   ((PT_PARTS_FROM + LOGS - 1) / LOGS)
#define TYPE      900 /* of a block that no reader knows: it makes a log long */
#define START_NS  1700000000000000000u
#define FIRST_NS  1000
#define SECOND_NS 30000

static atomic_uint threads_made;

/* Counts the threads that the tools make. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&threads_made, 1);
    return real(thread, attributes, start, argument);
}

void before_each(void)
{
    scratch_make();
}

struct log {
    struct fixture fixture;
    uint32_t thread, node, label;
    const char *path;
    size_t written;
};

/* Writes what the log has got since the last time. */
static void write_on(struct log *log)
{
    FILE *file = fopen(log->path, log->written ? "ab" : "wb");
    const struct fixture_bytes *bytes = &log->fixture.file;
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data + log->written, 1, bytes->length - log->written, file),
                     bytes->length - log->written);
    assert_int_equal(fclose(file), 0);
    log->written = bytes->length;
}

/* Ids mean something else in each log. */
static void begin_log(struct log *log, const char *path, uint32_t number, const char *instance, uint64_t segment)
{
    void *padding = calloc(1, PADDING);
    assert_non_null(padding);
    *log = (struct log){.path = path};
    struct fixture *fixture = &log->fixture;
    fixture_begin(fixture);
    fixture_process(
        fixture, &(struct fixture_process){"run", instance, "/", "3.12.1", "/python", segment, 1 + number, START_NS});
    for (uint32_t i = 0; i < number; i++)
        fixture_node(fixture, 0, fixture_python(fixture, fixture_code(fixture, "unused", "/a.py", i), i));
    log->thread = fixture_thread(fixture, 1 + number, instance);
    log->label = fixture_labels(fixture, "endpoint", instance);
    log->node = fixture_node(fixture, 0, fixture_python(fixture, fixture_code(fixture, "shared", "/a.py", 7), 8));
    fixture_sample(fixture, log->thread, log->node, log->label, 0, 1, FIRST_NS);
    fixture_block(fixture, TYPE, padding, PADDING);
    free(padding);
    write_on(log);
}

static void end_log(struct log *log)
{
    struct fixture *fixture = &log->fixture;
    uint32_t below = fixture_python(fixture, fixture_code(fixture, "late", "/a.py", 9), 9);
    fixture_sample(fixture, log->thread, log->node, log->label, 0, 1, SECOND_NS);
    fixture_sample(fixture, log->thread, fixture_node(fixture, log->node, below), 0, 0, 1, SECOND_NS);
    fixture_accounting(fixture, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 2 * SECOND_NS}, {0, 0}});
    fixture_exit(fixture);
    write_on(log);
}

/* CPU time of a function, and of it with the thread's name as its endpoint. */
static uint64_t ns_of(const struct pt_profile *profile, const char *function, const char *thread, bool labelled)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[sample->node].frame];
        const struct pt_label *label = &profile->labels.items[profile->label_sets.items[sample->labels].first];
        bool is = strcmp(pt_string(profile, profile->functions.items[frame->subject].name), function) == 0;
        is &= sample->thread == PT_NONE ||
              strcmp(pt_string(profile, profile->threads.items[sample->thread].name), thread) == 0;
        is &= !labelled || strcmp(pt_string(profile, label->value), thread) == 0;
        sum += is ? sample->cpu_ns : 0;
    }
    return sum;
}

static const char *const paths[LOGS] = {"1-a.pyprof", "2-b.pyprof", "3-c.pyprof"}, *const names[LOGS] = {"a", "b", "c"};

static struct pt_follow *follow_all(uint64_t keep_ns)
{
    static char *const here[] = {scratch_path};
    return pt_follow_new(&(struct pt_load_request){.paths = here, .path_count = 1, .all = true}, keep_ns);
}

/* CPU time of the only thread with this name. */
static uint64_t ns_of_thread(const struct pt_profile *profile, const char *name)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++)
        if (strcmp(pt_string(profile, profile->threads.items[i].name), name) == 0)
            sum += profile->threads.items[i].states.cpu_ns;
    return sum;
}

TEST(logs_grow_that_threads_have_read)
{
    struct log logs[LOGS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (uint32_t i = 0; i < LOGS; i++)
        begin_log(&logs[i], paths[i], i, names[i], 0);
    struct pt_follow *follow = follow_all(UINT64_MAX);
    threads_made = 0;
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(threads_made, processors < LOGS ? processors - 1 : LOGS - 1);
    assert_int_equal(follow->read, follow->size);
    for (int grown = 0; grown < 2; grown++) {
        const struct pt_profile *profile = follow->profile;
        assert_int_equal(profile->processes.count, LOGS);
        for (uint32_t i = 0; i < LOGS; i++) {
            assert_int_equal(ns_of(profile, "shared", names[i], true), FIRST_NS + grown * SECOND_NS);
            assert_int_equal(ns_of(profile, "late", names[i], false), grown * SECOND_NS);
            assert_int_equal(ns_of_thread(profile, names[i]), FIRST_NS + 2 * grown * SECOND_NS);
            assert_int_equal(profile->processes.items[i].found_ns, FIRST_NS + 2 * grown * SECOND_NS);
            assert_int_equal(profile->processes.items[i].ended, grown);
        }
        for (uint32_t i = 0; i < LOGS && !grown; i++)
            end_log(&logs[i]);
        assert_true(pt_follow_read(follow, UINT64_MAX));
    }
    assert_int_equal(threads_made, processors < LOGS ? processors - 1 : LOGS - 1);
    /* As `cat` puts another one after it. */
    struct fixture other;
    fixture_example(&other, 9, 0x7f0000000000u);
    fixture_append(&logs[0].fixture.file, other.file.data, other.file.length);
    write_on(&logs[0]);
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(follow->profile->processes.count, LOGS + 1);
    assert_int_equal(follow->profile->processes.items[LOGS].found_ns, FIXTURE_SAMPLES_NS);
    assert_int_equal(follow->unusable, 0);
    fixture_end(&other);
    pt_follow_free(follow);
    for (uint32_t i = 0; i < LOGS; i++)
        fixture_end(&logs[i].fixture);
}

/* As compact replaces it, when a part of it was read. */
TEST(a_log_that_is_replaced_in_the_middle_is_read_to_its_end)
{
    enum { BLOCKS = 40, BYTES = 1 << 20 };
    static char block[BYTES / 2];
    struct log log;
    struct pt_follow *follow;
    begin_log(&log, paths[0], 0, names[0], 0);
    for (int i = 0; i < BLOCKS; i++)
        fixture_block(&log.fixture, TYPE, block, sizeof block);
    end_log(&log);
    for (uint64_t ns = 10000;; ns *= 2) { /* until it ends in the middle */
        follow = follow_all(UINT64_MAX);
        if (!pt_follow_read(follow, ns) && follow->read)
            break;
        pt_follow_free(follow);
        assert_true(ns < UINT64_C(10000000000));
    }
    fixture_write("other", log.fixture.file.data, log.fixture.file.length);
    assert_int_equal(rename("other", paths[0]), 0);
    while (!pt_follow_read(follow, UINT64_MAX))
        ;
    assert_int_equal(ns_of(follow->profile, "shared", "a", true), FIRST_NS + SECOND_NS);
    assert_int_equal(ns_of(follow->profile, "late", "a", false), SECOND_NS);
    pt_follow_free(follow);
    fixture_end(&log.fixture);
}

/* Nothing in the files' names says that they are of one process. */
TEST(parts_of_one_process_count_once)
{
    static const char *const renamed[] = {"x.pyprof", "y.pyprof", "z.pyprof"};
    struct log logs[LOGS];
    for (uint32_t i = 0; i < LOGS; i++)
        begin_log(&logs[i], renamed[i], 1, "a", i ? i - 1 : 0);
    struct pt_follow *follow = follow_all(0);
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(follow->profile->processes.count, 1);
    assert_int_equal(ns_of_thread(follow->profile, "a"), 2 * FIRST_NS);
    assert_int_equal(ns_of(follow->profile, "shared", "a", true), 2 * FIRST_NS);
    pt_follow_free(follow);
    for (uint32_t i = 0; i < LOGS; i++)
        fixture_end(&logs[i].fixture);
}

#define SPAN_NS   UINT64_C(1000000000)
#define INTERVALS 20

static void write_intervals(struct log *log)
{
    begin_log(log, paths[0], 0, names[0], 0);
    for (uint64_t i = 0; i < INTERVALS; i++) {
        const uint64_t sample[1][FIXTURE_SAMPLE_FIELDS] = {{log->thread, log->node, 0, 0, 1, SECOND_NS}};
        fixture_samples_at(&log->fixture, START_NS + i * SPAN_NS, SPAN_NS, sample, 1);
    }
    write_on(log);
}

/* When another file takes the log's place: before directories are read, or after the log was found in them. */
enum when { BEFORE, MEANWHILE };

static bool is_endless;

static void replace(void)
{
    assert_int_equal(rename("other", paths[0]), 0);
    if (!is_endless)
        return;
    assert_int_equal(unlink(paths[0]), 0);
    assert_int_equal(symlink("/dev/zero", paths[0]), 0);
}

static bool begin_log_file(void *data, const struct stat *status, struct pt_growing_file *source)
{
    bool is_log = strstr(source->path, paths[0]) != NULL;
    assert_true(!data && status);
    if (!is_log)
        replace();
    return is_log;
}

static void leave_samples(void *data)
{
    assert_null(data);
}

/* Reads the first half of the log. */
static struct pt_follow *read_half(struct log *log)
{
    write_intervals(log);
    struct pt_follow *follow = follow_all(0);
    follow->begin = begin_log_file;
    follow->took = leave_samples;
    follow->until_unix_ns = START_NS + INTERVALS / 2 * SPAN_NS + 1;
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_int_equal(ns_of(follow->profile, "shared", "a", false), FIRST_NS + INTERVALS / 2 * SECOND_NS);
    assert_true(pt_follow_next(follow));
    return follow;
}

static void read_rest(struct pt_follow *follow, enum when when, const void *data, size_t length)
{
    fixture_write("other", data, length);
    if (when == BEFORE)
        replace();
    else
        fixture_write(paths[1], "", 0);
    follow->until_unix_ns = UINT64_MAX;
    assert_true(pt_follow_read(follow, UINT64_MAX));
    if (when == MEANWHILE)
        assert_int_equal(unlink(paths[1]), 0);
}

/* As pushers read it, window by window. */
TEST(a_log_of_which_the_rest_is_for_later_may_be_replaced)
{
    for (enum when when = BEFORE; when <= MEANWHILE; when++) {
        struct log log;
        struct pt_follow *follow = read_half(&log);
        read_rest(follow, when, "short", 5);
        assert_int_equal(ns_of(follow->profile, "shared", "a", false), FIRST_NS + INTERVALS * SECOND_NS);
        assert_false(pt_follow_is_stale(follow, UINT32_MAX));
        pt_follow_free(follow);
        fixture_end(&log.fixture);
    }
}

TEST(of_a_log_that_was_replaced_before_it_was_opened_again_nothing_counts_twice)
{
    int held[150], count = 150;
    struct fixture other;
    for (int i = 0; i < count; i++)
        held[i] = open("/dev/null", O_RDONLY);
    fixture_example(&other, 9, 0x7f0000000000u);
    alarm(60);
    for (int way = 0; way < 3; way++) {
        struct log log;
        struct pt_follow *follow = read_half(&log);
        const struct fixture_bytes *bytes = way ? &log.fixture.file : &other.file;
        is_endless = way == 2;
        read_rest(follow, MEANWHILE, bytes->data, bytes->length);
        assert_int_equal(ns_of(follow->profile, "shared", "a", false), FIRST_NS + INTERVALS / 2 * SECOND_NS);
        assert_int_equal(pt_follow_is_stale(follow, UINT32_MAX), way < 2);
        pt_follow_free(follow);
        fixture_end(&log.fixture);
        assert_int_equal(unlink(paths[0]), 0);
    }
    is_endless = false;
    alarm(0);
    fixture_end(&other);
    for (int i = 0; i < count; i++)
        close(held[i]);
}

static bool begin_any(void *data, const struct stat *status, struct pt_growing_file *source)
{
    assert_true(!data && status && source);
    return true;
}

static uint32_t as_the_first(void *data, uint32_t process)
{
    assert_true(!data && process < LOGS);
    return 0;
}

/* As pushers read the workers of one service: what their ids mean, and their labels, are told apart, processes are not.
 */
TEST(alike_processes_are_counted_as_one)
{
    struct log logs[LOGS];
    for (uint32_t i = 0; i < LOGS; i++)
        begin_log(&logs[i], paths[i], i, names[i], 0);
    for (int alike = 0; alike < 2; alike++) {
        struct pt_follow *follow = follow_all(0);
        follow->request.timed = false;
        follow->request.whole = true;
        follow->request.counted_as = alike ? as_the_first : NULL;
        follow->begin = begin_any;
        follow->took = leave_samples;
        assert_true(pt_follow_read(follow, UINT64_MAX));
        const struct pt_profile *profile = follow->profile;
        bool counted[LOGS] = {false};
        assert_int_equal(profile->samples.count, LOGS);
        for (uint32_t i = 0; i < LOGS; i++) {
            const struct pt_sample *sample = &profile->samples.items[i];
            const struct pt_label *label = &profile->labels.items[profile->label_sets.items[sample->labels].first];
            uint32_t log = (uint32_t)*pt_string(profile, label->value) - 'a';
            uint32_t process = profile->threads.items[sample->thread].process;
            assert_true(log < LOGS && !counted[log]);
            counted[log] = true;
            assert_int_equal(sample->cpu_ns, FIRST_NS);
            assert_string_equal(pt_string(profile, profile->processes.items[process].instance), names[alike ? 0 : log]);
            assert_int_equal(sample->node, profile->samples.items[0].node);
        }
        pt_follow_free(follow);
    }
    for (uint32_t i = 0; i < LOGS; i++)
        fixture_end(&logs[i].fixture);
}

#define SETS 1500 /* of labels: more than are summed up before samples are taken */

static struct pt_follow *all_known;
static unsigned times_taken;

static void take_when_all_are_known(void *data)
{
    uint32_t count;
    assert_null(data);
    assert_int_equal(all_known->profile->processes.count, LOGS);
    free(pt_take_samples(all_known->profile, &count));
    times_taken++;
}

/* The service of a worker may be that of its parent, whose log is read after its own. */
TEST(samples_are_taken_when_all_processes_are_known)
{
    struct log logs[LOGS];
    for (uint32_t i = 0; i < LOGS; i++)
        begin_log(&logs[i], paths[i], i, names[i], 0);
    for (uint32_t i = 0; i < SETS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        uint32_t label = fixture_labels(&logs[0].fixture, "endpoint", name);
        fixture_sample(&logs[0].fixture, logs[0].thread, logs[0].node, label, 0, 1, SECOND_NS);
    }
    write_on(&logs[0]);
    struct pt_follow *follow = all_known = follow_all(0);
    follow->request.timed = false;
    follow->request.whole = true;
    follow->begin = begin_any;
    follow->took = take_when_all_are_known;
    assert_true(pt_follow_read(follow, UINT64_MAX));
    assert_true(times_taken > 1);
    pt_follow_free(follow);
    for (uint32_t i = 0; i < LOGS; i++)
        fixture_end(&logs[i].fixture);
}
