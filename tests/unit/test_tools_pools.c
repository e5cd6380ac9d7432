/* CPU of threads without Python under what the main thread waited in. */
#include "profile_fixture.h"
#include "tools/query/select.h"

#define START_NS 1700000000000000000u
#define WALL_NS  1000000000u

static void put_waits(struct fixture *log, uint64_t start_ns, const uint32_t (*waits)[2], unsigned count)
{
    AUTO_BYTES payload = {0};
    fixture_varint(&payload, start_ns);
    fixture_varint(&payload, WALL_NS);
    for (unsigned i = 0; i < count; i++) {
        struct fixture_bytes record = {0};
        fixture_varint(&record, waits[i][0]);
        fixture_varint(&record, waits[i][1]);
        fixture_varint(&payload, record.length);
        fixture_append(&payload, record.data, record.length);
        free(record.data);
    }
    fixture_block(log, PP_BLOCK_WAITS, payload.data, payload.length);
}

/* Three intervals: in the first the main thread waits in f (2 of 4 observations), in g (1), and runs (1); the second
 * has no observations, the third has waits of another time. */
static struct pt_profile *pool(bool join, enum pt_keep keep, bool timed)
{
    static struct pt_load_request request;
    request = (struct pt_load_request){.keep = keep, .select.join_pools = join, .timed = timed};
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", "one", "/srv", "3.13.1", "/usr/bin/python3", 0, 7, START_NS});
    uint32_t thread = fixture_thread_flags(&log, 7, "MainThread", PP_THREAD_MAIN);
    uint32_t worker = fixture_thread(&log, 8, "polars-0"), python = fixture_thread(&log, 9, "Thread-1");
    uint32_t f = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "f", "/srv/a.py", 1), 1));
    uint32_t g = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "g", "/srv/a.py", 9), 9));
    uint32_t native = fixture_native(&log, 0, 0x1000, "work", 0), in_g = fixture_node(&log, g, native);
    uint32_t work = fixture_node(&log, 0, native);
    uint32_t unsampled = fixture_node(&log, 0, fixture_pseudo(&log, "[unsampled]"));
    put_waits(&log, START_NS, (const uint32_t[][2]){{f, 2}, {0, 1}, {g, 1}}, 3);
    const uint64_t first[][FIXTURE_SAMPLE_FIELDS] = {{worker, work, 0, 0, 10, 1001},
                                                     {worker, unsampled, 0, 0, 0, 50},
                                                     {thread, work, 0, 0, 1, 7},
                                                     {python, in_g, 0, 0, 1, 9}};
    fixture_samples_at(&log, START_NS, WALL_NS, first, 4);
    const uint64_t second[][FIXTURE_SAMPLE_FIELDS] = {{worker, work, 0, 0, 3, 300}};
    fixture_samples_at(&log, START_NS + WALL_NS, WALL_NS, second, 1);
    put_waits(&log, START_NS + 5 * (uint64_t)WALL_NS, (const uint32_t[][2]){{f, 1}}, 1);
    fixture_samples_at(&log, START_NS + 2 * (uint64_t)WALL_NS, WALL_NS, second, 1);
    fixture_exit(&log);
    struct pt_profile *profile = pt_profile_new(&request);
    add_log(profile, &log);
    assert_int_equal(profile->losses.damaged_records, 0);
    pt_profile_finish(profile);
    assert_true(pt_select(profile));
    return profile;
}
#define POOL_NS (1001u + 50 + 7 + 9 + 300 + 300)

static void append_stack(struct pt_buffer *text, const struct pt_profile *profile, uint32_t node)
{
    if (!node)
        return;
    const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
    append_stack(text, profile, profile->nodes.items[node].parent);
    uint32_t name = frame->kind == PP_FRAME_PYTHON   ? profile->functions.items[frame->subject].name
                    : frame->kind == PP_FRAME_NATIVE ? frame->symbol
                                                     : frame->subject;
    pt_buffer_format(text, "%s%s", text->length ? ";" : "", pt_string(profile, name));
}

struct sums {
    uint64_t count, ns;
};

static struct sums sums_of(const struct pt_profile *profile, const char *stack)
{
    struct sums sums = {0, 0};
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        PT_AUTO_BUFFER text = {0};
        pt_buffer_text(&text, "");
        append_stack(&text, profile, sample->node);
        if (strcmp(text.data, stack) == 0) {
            sums.count += sample->count;
            sums.ns += sample->cpu_ns;
        }
    }
    return sums;
}

TEST(parts_sum_up)
{
    for (int i = 0; i < 4; i++) {
        enum pt_keep keep = i & 1 ? PT_KEEP_STACKS : PT_KEEP_SAMPLES;
        AUTO_PROFILE *profile = pool(true, keep, i & 2);
        struct sums f = sums_of(profile, "f;[native threads meanwhile];work");
        struct sums g = sums_of(profile, "g;[native threads meanwhile];work"), rest = sums_of(profile, "work");
        assert_in_range(f.ns, 500, 501);
        assert_in_range(g.ns, 250, 251);
        assert_int_equal(f.ns + g.ns + rest.ns, 1001 + 7 + 300 + 300);
        assert_int_equal(f.count + g.count + rest.count, 10 + 1 + 3 + 3);
        assert_in_range(f.count, 5, 6);
        assert_int_equal(sums_of(profile, "[unsampled]").ns, 50);
        assert_int_equal(sums_of(profile, "g;work").ns, 9);
        if (i < 3) /* of stacks with times, when threads were busy is there, too */
            assert_int_equal(pt_profile_cpu_ns(profile), POOL_NS);
    }
}

TEST(not_unless_asked)
{
    AUTO_PROFILE *profile = pool(false, PT_KEEP_STACKS, false);
    assert_true(profile->waits);
    assert_int_equal(sums_of(profile, "work").ns, 1001 + 7 + 300 + 300);
}
