/* A compacted segment says what the segment has said, but for when. */
#include "profile_fixture.h"
#include "random.h"
#include "tools/base/gzip.h"
#include "tools/compact/compact.h"
#include "tools/compact/compact_segment.h"
#include "tools/model/http_requests.h"
#include "tools/sent/state.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define S        1000000000ull
#define MINUTE   (60 * S)
#define HOUR     (60 * MINUTE)
#define START_NS (1700000000 * S)

/* Called when the file that takes the place of another one is written. */
static void (*when_written)(void);

int fdatasync(int descriptor)
{
    void (*now)(void) = when_written;
    when_written = NULL;
    if (now)
        now();
    return descriptor < 0 ? -1 : 0;
}

void before_each(void)
{
    scratch_make();
}

/* An hour and a half of a process: threads that are renamed, labels, requests, what was waited for, pauses, a clock
 * that is set back. */
static void write_log(struct fixture *log)
{
    const struct fixture_process process = {
        .run = "run", .instance = "instance", .pid = 100, .python_version = "3.12.1", .start_unix_ns = START_NS};
    static const char *const endpoints[] = {"/cart", "/login"};
    uint32_t threads[3], nodes[20], labels[2], strings[2];
    uint64_t now = START_NS, sampled = 0;
    fixture_begin(log);
    fixture_process(log, &process);
    for (uint32_t i = 0; i < 3; i++)
        threads[i] = fixture_thread(log, 100 + i, i ? "worker" : "MainThread");
    for (uint32_t i = 0; i < 2; i++) {
        labels[i] = fixture_labels(log, "endpoint", endpoints[i]);
        strings[i] = fixture_string(log, endpoints[i]);
    }
    for (uint32_t i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        uint32_t code = fixture_code(log, name, "/srv/app.py", 10 + i);
        nodes[i] = fixture_node(log, i % 5 ? nodes[i - 1] : 0, fixture_python(log, code, 11 + i));
    }
    for (uint32_t i = 0; i < 5400; i++) {
        uint64_t wall = i % 997 == 5 ? 90 * S : S, samples[6][FIXTURE_SAMPLE_FIELDS];
        for (int k = 0; k < 6; k++) {
            const uint64_t one[] = {threads[random_below(3)],
                                    nodes[random_below(20)],
                                    random_below(3) ? labels[random_below(2)] : 0,
                                    random_below(2) ? PP_STATE_GIL_KNOWN : 0,
                                    1 + random_below(3),
                                    random_below(200000000)};
            memcpy(samples[k], one, sizeof one);
            sampled += one[5];
        }
        AUTO_BYTES payload = {0}, record = {0};
        fixture_varint(&payload, now);
        fixture_varint(&payload, wall);
        fixture_varint(&record, nodes[random_below(20)]);
        fixture_varint(&record, 3);
        fixture_varint(&payload, record.length);
        fixture_append(&payload, record.data, record.length);
        fixture_block(log, PP_BLOCK_WAITS, payload.data, payload.length);
        fixture_samples_at(log, now, wall, (const uint64_t(*)[FIXTURE_SAMPLE_FIELDS])samples, 6);
        payload.length = record.length = 0;
        fixture_varint(&payload, now);
        fixture_varint(&payload, wall);
        fixture_varint(&record, strings[i % 2]);
        for (int k = 0; k < 3; k++)
            fixture_varint(&record, 1 + random_below(1000));
        for (int k = 0; k < PP_HANDLER_BUCKETS; k++)
            fixture_varint(&record, random_below(4));
        fixture_varint(&payload, record.length);
        fixture_append(&payload, record.data, record.length);
        fixture_block(log, PP_BLOCK_REQUESTS, payload.data, payload.length);
        now += wall;
        now += i == 1000 ? HOUR / 4 : 0;
        now -= i == 3000 ? HOUR / 8 : 0;
        if (i == 2222) { /* thread 2 gets another name */
            struct fixture_bytes again = {0}, fields = {0};
            uint32_t name = fixture_string(log, "renamed");
            fixture_varint(&again, threads[1]);
            fixture_varint(&fields, 101);
            fixture_varint(&fields, name);
            fixture_varint(&fields, 0);
            fixture_varint(&fields, 0);
            fixture_varint(&again, fields.length);
            fixture_append(&again, fields.data, fields.length);
            fixture_block(log, PP_BLOCK_THREADS, again.data, again.length);
            free(again.data);
            free(fields.data);
            fixture_notice(log, 1, "something");
        }
        const struct fixture_account sums[] = {{PP_ACCOUNT_END_UNIX_NS, now},
                                               {PP_ACCOUNT_CPU_NS, sampled + 1000},
                                               {PP_ACCOUNT_SAMPLED_NS, sampled},
                                               {PP_ACCOUNT_PENDING_NS, 1000},
                                               {0, 0}};
        fixture_accounting(log, sums);
    }
    fixture_exit(log);
}

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pt_sample));
}

static uint32_t first_two(const char *text)
{
    return *text ? (uint32_t)(uint8_t)text[0] << 8 | (uint8_t)text[1] : 0;
}

/* Numbers follow the order in which things were first needed: in their place comes what they mean. */
static void name_all(struct pt_profile *profile)
{
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        struct pt_sample *sample = &profile->samples.items[i];
        const struct pt_thread *thread = &profile->threads.items[sample->thread];
        const struct pt_label_set *set = &profile->label_sets.items[sample->labels];
        const char *name = pt_string(profile, thread->name);
        sample->thread = pt_hash_bytes(name, strlen(name)) + (uint32_t)thread->tid;
        sample->node = profile->frames.items[profile->nodes.items[sample->node].frame].line;
        sample->labels = set->count ? first_two(pt_string(profile, profile->labels.items[set->first].value)) : 0;
    }
    for (uint32_t i = 0; i < profile->requests.count; i++)
        profile->requests.items[i].endpoint = first_two(pt_string(profile, profile->requests.items[i].endpoint));
}

enum way { WHOLE, PIECEWISE, BY_WINDOWS, WAYS };

/* All that the bytes say, in an order of its own. */
static struct pt_profile *read_log(const void *data, size_t size, enum way way)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    if (way != WHOLE) {
        struct pt_growing *growing = pt_growing_new(profile, "log");
        struct pt_growing_part part = {.counts = true};
        uint64_t end = 0, until = START_NS;
        for (size_t length = 0; length < size && way == PIECEWISE;) {
            length = length + 5000 < size ? length + 5000 : size;
            assert_int_equal(pt_growing_read(growing, (const char *)data + end, length - end, &end, NULL), PT_READ_OK);
        }
        for (; way == BY_WINDOWS && (until == START_NS || pt_growing_later(growing)); until += 11 * MINUTE) {
            part.until_unix_ns = part.compacted_until_unix_ns = until;
            assert_int_equal(pt_growing_read(growing, (const char *)data + end, size - end, &end, &part), PT_READ_OK);
        }
        pt_growing_add(growing);
        pt_growing_free(growing);
    } else {
        assert_int_equal(pt_profile_add_segment(profile, data, size, "log"), PT_READ_OK);
    }
    pt_profile_finish(profile);
    name_all(profile);
    qsort(profile->samples.items, profile->samples.count, sizeof(struct pt_sample), by_all);
    return profile;
}

static void assert_says_the_same(const struct pt_buffer *bytes, const struct pt_profile *whole, enum way way)
{
    AUTO_PROFILE *profile = read_log(bytes->data, bytes->length, way);
    assert_int_equal(profile->losses.damaged_blocks + profile->losses.damaged_records, 0);
    assert_int_equal(profile->losses.missing_blocks + profile->losses.unknown_blocks, 0);
    assert_int_equal(profile->samples.count, whole->samples.count);
    assert_memory_equal(profile->samples.items, whole->samples.items, whole->samples.count * sizeof(struct pt_sample));
    assert_int_equal(profile->requests.count, whole->requests.count);
    for (uint32_t i = 0; i < whole->requests.count; i++)
        assert_memory_equal(&profile->requests.items[i], &whole->requests.items[i], sizeof *whole->requests.items);
    const struct pt_process *a = profile->processes.items, *b = whole->processes.items;
    assert_memory_equal(&a->accounting, &b->accounting, sizeof a->accounting);
    assert_int_equal(a->end_unix_ns, b->end_unix_ns);
    assert_int_equal(a->notices.count, b->notices.count);
    assert_true(a->ended && b->ended && profile->waits == whole->waits);
}

static bool compact(const void *data, size_t size, uint64_t bin_ns, struct pt_buffer *bytes, const char **why)
{
    struct pt_segment segment;
    bool good = pt_segment_read(data, size, NULL, &segment, NULL) == PT_READ_OK &&
                pt_compact_segment(data, &segment, bin_ns, bytes, why);
    pt_segment_free(&segment);
    return good;
}

static struct pt_buffer compacted(const void *data, size_t size, uint64_t bin_ns)
{
    struct pt_buffer bytes = {0};
    const char *why = NULL;
    if (!compact(data, size, bin_ns, &bytes, &why))
        fail_msg("%s", why);
    return bytes;
}

TEST(every_sum_stays_whatever_the_intervals)
{
    AUTO_FIXTURE log;
    write_log(&log);
    AUTO_PROFILE *whole = read_log(log.file.data, log.file.length, WHOLE);
    PT_AUTO_BUFFER minutes = compacted(log.file.data, log.file.length, MINUTE);
    PT_AUTO_BUFFER hours = compacted(minutes.data, minutes.length, HOUR);
    PT_AUTO_BUFFER at_once = compacted(log.file.data, log.file.length, HOUR);
    for (enum way way = 0; way < WAYS; way++) {
        assert_says_the_same(&minutes, whole, way);
        assert_says_the_same(&hours, whole, way);
        assert_says_the_same(&at_once, whole, way);
    }
    assert_true(5 * minutes.length < log.file.length);
    assert_true(4 * hours.length < minutes.length);
}

TEST(intervals_are_as_long_as_asked_for)
{
    static const struct pt_load_request timed = {.timed = true};
    AUTO_FIXTURE log;
    write_log(&log);
    PT_AUTO_BUFFER minutes = compacted(log.file.data, log.file.length, MINUTE);
    AUTO_PROFILE *profile = pt_profile_new(&timed);
    assert_int_equal(pt_profile_add_segment(profile, minutes.data, minutes.length, "log"), PT_READ_OK);
    assert_in_range(profile->intervals.count, 90, 130);
    for (uint32_t i = 1; i < profile->intervals.count; i++)
        assert_true(profile->intervals.items[i].wall_ns <= MINUTE + 90 * S);
    assert_int_equal(profile->processes.items[0].compacted_ns, MINUTE);
}

TEST(damaged_files_are_left_and_a_cut_block_is_not_damage)
{
    AUTO_FIXTURE log;
    PT_AUTO_BUFFER bytes = {0};
    const char *why;
    fixture_example(&log, 100, 0);
    for (size_t at = sizeof(struct pp_log_file_header); at < log.file.length; at += 3) {
        log.file.data[at] ^= 0x41;
        AUTO_PROFILE *profile = read_log(log.file.data, log.file.length, WHOLE);
        bool said = profile->losses.damaged_blocks || profile->losses.damaged_bytes;
        if (said)
            assert_false(compact(log.file.data, log.file.length, MINUTE, &bytes, &why));
        log.file.data[at] ^= 0x41;
        pt_buffer_clear(&bytes);
    }
    assert_true(compact(log.file.data, log.file.length - 3, MINUTE, &bytes, &why));
    struct fixture_bytes twice = {0};
    for (int i = 0; i < 2; i++)
        fixture_append(&twice, log.file.data, log.file.length);
    assert_false(compact(twice.data, twice.length, MINUTE, &bytes, &why));
    free(twice.data);
}

/* What a DEFLATED block has that it must not have costs that block, and no memory. */
TEST(forged_blocks_are_damage)
{
    static char zeros[8 << 20];
    const char *const texts[] = {zeros, "no blocks"};
    const size_t lengths[] = {sizeof zeros, 9};
    for (int i = 0; i < 3; i++) {
        AUTO_FIXTURE log;
        unsigned char deflated[1 << 16];
        uLongf length = sizeof deflated;
        fixture_example(&log, 100, 0);
        if (i < 2)
            assert_int_equal(compress(deflated, &length, (const Bytef *)texts[i], lengths[i]), Z_OK);
        fixture_block(&log, PP_BLOCK_DEFLATED, deflated, i < 2 ? length : 100);
        AUTO_PROFILE *profile = read_log(log.file.data, log.file.length, WHOLE);
        assert_int_equal(profile->losses.damaged_blocks, 1);
        assert_int_equal(pt_profile_cpu_ns(profile), FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS);
    }
}

#define LOG   "100-1700000000000000000-0123abcd.pyprof"
#define STATE "push-0123abcd.state"

/* Writes a state by which the server has what ended so long ago. */
static void write_state(const char *name, uint64_t ago_ns)
{
    struct pt_push_state state = {.target = "otlp+http://a"};
    PT_AUTO_BUFFER text = {0};
    state.until_unix_ns = state.success_unix_ns = pt_clock_ns(CLOCK_REALTIME) - ago_ns;
    pt_push_state_append(&text, &state);
    fixture_write(name, text.data, text.length);
}

static struct pt_compacted compact_here(void)
{
    const uint64_t now = pt_clock_ns(CLOCK_REALTIME);
    const struct timespec times[] = {{0, UTIME_OMIT}, {(time_t)((now - 2 * HOUR) / S), 0}};
    struct pt_compacted compacted;
    assert_int_equal(utimensat(AT_FDCWD, LOG, times, 0), 0);
    assert_true(pt_compact(scratch_path, now, NULL, &compacted));
    assert_int_equal(compacted.files + compacted.unsent, 1);
    return compacted;
}

static void begin_to_push(void)
{
    write_state(STATE, 3 * HOUR);
}

TEST(what_no_state_of_a_pusher_says_was_sent_stays)
{
    AUTO_FIXTURE log;
    write_log(&log);
    fixture_write(LOG, log.file.data, log.file.length);
    for (uint64_t ago = 3 * HOUR; ago < 1000 * HOUR; ago *= 10) {
        write_state(STATE, ago);
        assert_int_equal(compact_here().unsent, 1);
    }
    assert_int_equal(rename(STATE, STATE ".before"), 0); /* its pusher was killed when it wrote the next */
    struct pt_compacted compacted = compact_here();
    assert_true(compacted.unsent == 1 && !compacted.unreadable);
    assert_string_equal(compacted.state, STATE);
    write_state(STATE, 0);
    assert_int_equal(truncate(STATE, 20), 0);
    compacted = compact_here();
    assert_true(compacted.unsent == 1 && compacted.unreadable);
    assert_string_equal(compacted.state, STATE);
    assert_int_equal(unlink(STATE), 0);
    assert_int_equal(unlink(STATE ".before"), 0);
    when_written = begin_to_push;
    assert_int_equal(compact_here().unsent, 1);
    write_state(STATE, 0);
    write_state(STATE ".before", 3 * HOUR);
    assert_int_equal(compact_here().files, 1);
}
