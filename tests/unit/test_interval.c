/* Flushes: a segment that is full gives way to another that can be read by itself, a write that fails is counted, what
 * was said on stderr stands in the log. */
#include "preload/base/config.h"
#include "preload/base/process.h"
#include "preload/capture/capture.h"
#include "preload/capture/slot_memory.h"
#include "preload/flush/drain.h"
#include "preload/flush/interval.h"
#include "preload/log/tables.h"
#include "preload/modules/modules.h"
#include "preload/threads/registry.h"
#include "unit.h"

#define TABLES_MAX ((size_t)384 << 10)

static bool tables_full(const struct pp_tables *tables)
{
    return tables->arena.mapped > TABLES_MAX;
}

/* A real segment takes more stacks than a test has the time for. */
#define pp_tables_full tables_full
#include "preload/flush/write_interval.c"

#include <dirent.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>

#define MS     1000000u
#define FRAMES 40u

static char program[4096];
static struct pp_slot *slot;
static uint64_t used_ns;

void before_all(void)
{
    assert_true(readlink("/proc/self/exe", program, sizeof program - 16) > 0);
    strcpy(strrchr(program, '/'), "/../pyprof");
    pp_modules_refresh();
    pp_process_begins();
}

void before_each(void)
{
    scratch_make();
    setenv("TMPDIR", scratch_path, 1);
    snprintf(pp_config.out, sizeof pp_config.out, "%s/out", scratch_path);
    strcpy(pp_config.run, "0123456789abcdef0123456789abcdef");
    pp_config.period_ns = 10 * MS;
    pp_interval_after_fork(); /* nothing of the test before */
    pp_interval_start();
    slot = pp_slot_claim();
    assert_true(slot && pp_slot_memory_begin(slot));
    pp_slot_memory_end(slot);
    atomic_store(&slot->tid, pp_sys_gettid());
    pp_slot_become(slot, PP_SLOT_LIVE);
    used_ns = 0;
}

void after_each(void)
{
    pp_slot_become(slot, PP_SLOT_ENDED);
    pp_slot_release(slot);
}

static uint64_t address; /* of the last frame; 0: none yet */

/* A sample of 1 ms whose frames are in no earlier one: libc's code has room for all that is asked for. */
static void put_sample(void)
{
    if (!address)
        address = (uintptr_t)gnu_get_libc_version;
    size_t size = sizeof(struct pp_record_sample) + FRAMES * sizeof(uint64_t);
    struct pp_record_sample *sample = pp_ring_reserve(&slot->ring, (uint32_t)size, PP_RECORD_SAMPLE);
    assert_non_null(sample);
    struct pp_record header = sample->header;
    memset(sample, 0, size);
    sample->header = header;
    sample->cpu_previous_ns = used_ns;
    sample->cpu_ns = used_ns += MS;
    sample->time = pp_module_time_now();
    sample->native_frames = FRAMES;
    uint64_t *native = (uint64_t *)(sample + 1);
    for (unsigned i = 0; i < FRAMES; i++)
        native[i] = ++address;
    pp_ring_commit(&slot->ring, sample);
}

static void put_samples(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put_sample();
}

static unsigned list_files(char names[][PP_PATH_MAX + 300], unsigned most)
{
    DIR *directory = opendir(pp_config.out);
    unsigned count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && count < most)
            snprintf(names[count++], sizeof *names, "%s/%s", pp_config.out, entry->d_name);
    closedir(directory);
    return count;
}

/* What the shell command prints, as a number. */
static unsigned long long number_of(const char *command, const char *path)
{
    char line[8192];
    unsigned long long number = 0;
    snprintf(line, sizeof line, command, program, path);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%llu", &number), 1);
    assert_int_equal(pclose(pipe), 0);
    return number;
}

#define SAMPLES_OF "'%s' export '%s' --format collapsed --unit samples | awk '{ n += $NF } END { print n + 0 }'"
#define NAMED_OF(frame)                                                                                                \
    "'%s' export '%s' --format collapsed --unit samples | awk '/" frame "/ { n += $NF } END { print n + 0 }'"
#define NOISE_OF "'%s' export '%s' --format collapsed --unit samples 2>&1 >/dev/null | wc -c"

TEST(a_full_segment_gives_way_to_one_that_stands_alone)
{
    static char names[16][PP_PATH_MAX + 300];
    const unsigned per_flush = 20, flushes = 12;
    for (unsigned i = 0; i < flushes; i++) {
        put_samples(per_flush);
        pp_interval_flush(0, i + 1 == flushes);
        /* half a segment's worth comes with one flush at most */
        assert_true(pp_interval.tables.arena.mapped <= TABLES_MAX + ((size_t)1 << 20));
    }
    unsigned files = list_files(names, 16);
    assert_true(files >= 3 && files < flushes);
    assert_int_equal(segment.number, files);
    unsigned long long sum = 0;
    for (unsigned i = 0; i < files; i++) {
        unsigned long long samples = number_of(SAMPLES_OF, names[i]);
        assert_true(samples > 0 && samples % per_flush == 0);
        assert_int_equal(number_of(NOISE_OF, names[i]), 0);
        sum += samples;
    }
    assert_int_equal(sum, per_flush * flushes);
    assert_int_equal(number_of(SAMPLES_OF, pp_config.out), sum);
    assert_int_equal(pp_interval.account.lost_ns, 0);
}

/* What was loaded since the modules were read is no code of a JIT. */
TEST(code_that_was_loaded_since_has_its_module)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    address = (uintptr_t)dlsym(library, "__ctype_get_mb_cur_max");
    put_sample();
    pp_drain(false);
    address = 0;
    pp_interval_flush(0, PP_END_EXIT);
    assert_int_equal(number_of(NAMED_OF("libBrokenLocale"), pp_config.out), 1);
    assert_int_equal(number_of(NAMED_OF("\\[jit"), pp_config.out), 0);
    dlclose(library);
}

/* Only closed segments are compacted. */
TEST(a_segment_of_six_hours_gives_way_to_another)
{
    static char names[4][PP_PATH_MAX + 300];
    put_samples(5);
    pp_interval_flush(0, PP_END_NOT);
    assert_true(segment.open);
    segment_since_ns -= SEGMENT_NS;
    put_samples(5);
    pp_interval_flush(0, PP_END_NOT);
    assert_false(segment.open);
    put_samples(5);
    pp_interval_flush(0, PP_END_NOT);
    assert_true(segment.open);
    assert_int_equal(list_files(names, 4), 2);
    assert_int_equal(number_of(SAMPLES_OF, pp_config.out), 15);
    assert_int_equal(pp_interval.account.lost_ns, 0);
}

/* What waits for a stack refers to threads and nodes of the segment: it gets a place before that ends. */
TEST(nothing_waits_across_segments)
{
    struct pp_ended_thread ended = {.kind = 1, .cpu_ns = 2 * MS, .tail_ns = 2 * MS, .thread = 1};
    put_sample();
    pp_interval_flush(0, false);
    assert_true(pp_short_threads_end(&ended, pp_config.period_ns, 4 * MS));
    pp_interval.account.exited_cpu_ns += ended.cpu_ns;
    uint64_t before = pp_interval.account.unsampled_ns;
    while (segment.open) {
        put_samples(50);
        pp_interval_flush(0, false);
    }
    assert_int_equal(segment.number, 1);
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
    assert_int_equal(pp_interval.account.unsampled_ns - before, 2 * MS);
    assert_int_equal(pp_interval.account.lost_ns, 0);
}

TEST(what_could_not_be_written_is_lost_and_says_so)
{
    static char names[16][PP_PATH_MAX + 300];
    char out[PP_PATH_MAX];
    put_samples(10);
    pp_interval_flush(0, false);
    assert_int_equal(pp_interval.account.samples, 10);
    /* the file is gone, and a file stands where the directory was, and another where its substitute would be */
    assert_int_equal(list_files(names, 16), 1);
    assert_int_equal(unlink(names[0]), 0);
    assert_int_equal(rmdir(pp_config.out), 0);
    snprintf(out, sizeof out, "%s/pyprof-%u", scratch_path, (unsigned)geteuid());
    assert_int_equal(close(creat(pp_config.out, 0600)) | close(creat(out, 0600)), 0);
    uint64_t sampled = pp_interval.account.sampled_ns;
    put_samples(20);
    pp_interval_flush(0, false);
    assert_int_equal(pp_interval.account.samples, 10);
    assert_int_equal(pp_interval.account.lost_samples, 20);
    assert_int_equal(pp_interval.account.sampled_ns, sampled);
    assert_int_equal(pp_interval.account.lost_ns, 20 * MS);
    assert_int_equal(pp_interval.account.reasons[PP_REASON_WRITE_FAILED], 1);
    /* the place is there again, but its time has not come */
    assert_int_equal(unlink(pp_config.out), 0);
    put_samples(5);
    pp_interval_flush(0, false);
    assert_int_equal(pp_interval.account.lost_samples, 25);
    segment.retry_at_ns = 0;
    put_samples(7);
    pp_interval_flush(0, true);
    assert_int_equal(pp_interval.account.samples, 17);
    assert_int_equal(pp_interval.account.lost_samples, 25);
    assert_int_equal(list_files(names, 16), 1);
    assert_int_equal(number_of(NOISE_OF, names[0]), 0);
    assert_int_equal(number_of("'%s' export '%s' --format collapsed --unit ns | awk '/lost/ { n += $NF } "
                               "END { print n + 0 }'",
                               names[0]),
                     25 * MS);
    assert_int_equal(number_of("grep -c 'cannot write profile to' <'%2$s' # %1$s", names[0]), 1);
}
