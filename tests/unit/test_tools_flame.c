/* What the page of `pyprof flame` is given: the tree, the cells and their sums, escaping. */
#include "preload/common/pseudo_frames.h"
#include "profile_fixture.h"
#include "tools/log/cursor.h"
#include "tools/view/summary.h"
#include <inttypes.h>

static const struct pt_load_request with_times = {.timed = true};

#define BIAS   0x7f0000000000u
#define SECOND 1000000000u

/* A sample with an interval of its own. */
static void sample_at(struct fixture *log, uint64_t start, uint64_t wall, uint32_t node, uint64_t cpu_ns)
{
    const uint64_t sample[][FIXTURE_SAMPLE_FIELDS] = {{1, node, 0, PP_STATE_GIL_KNOWN, 1, cpu_ns}};
    fixture_samples_at(log, start, wall, sample, 1);
}

static struct pt_profile *example(uint64_t pid)
{
    struct fixture log;
    fixture_example(&log, pid, BIAS);
    struct pt_profile *profile = profile_of(&log, &with_times);
    return profile;
}

/* One function whose name is given, with samples in the seconds from 0 to count. */
static struct pt_profile *seconds_of(const char *name, unsigned count)
{
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", "instance", "/srv", "3.12.1", "/usr/bin/python3", 0, 7, SECOND});
    fixture_thread(&log, 7, "MainThread");
    uint32_t node = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, name, "/srv/app.py", 3), 3));
    for (unsigned i = 0; i < count; i++)
        sample_at(&log, (1000 + i) * (uint64_t)SECOND, SECOND, node, 1000003);
    struct pt_profile *profile = profile_of(&log, &with_times);
    return profile;
}

struct decoded {
    struct pt_buffer data;
    char *json;
    struct pt_cursor columns[12];
};

static struct decoded decode(const struct pt_flame *flame)
{
    struct decoded decoded = {0};
    pt_flame_encode(&decoded.data, flame);
    assert_memory_equal(decoded.data.data, "PYF1", 4);
    size_t at = 4;
    for (int i = -1; i < 12; i++) {
        const unsigned char *bytes = (const unsigned char *)decoded.data.data + at;
        uint32_t length = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        at += 4 + (size_t)length;
        assert_true(at <= decoded.data.length);
        if (i < 0)
            decoded.json = strndup((const char *)bytes + 4, length);
        else
            decoded.columns[i] = pt_cursor(bytes + 4, length);
    }
    assert_int_equal(at, decoded.data.length);
    return decoded;
}

static void free_decoded(struct decoded *decoded)
{
    free(decoded->json);
    pt_buffer_free(&decoded->data);
}

static uint64_t sum_of(struct pt_cursor column)
{
    uint64_t sum = 0;
    while (pt_left(&column))
        sum += pt_read_varint(&column);
    assert_false(column.bad);
    return sum;
}

/* The frame of this name; the test fails when there is none. */
static const struct pt_flame_frame *frame_named(const struct pt_flame *flame, const char *name)
{
    for (uint32_t i = 0; i < flame->frames.count; i++)
        if (strcmp(pt_string(flame->merged, flame->frames.items[i].name), name) == 0)
            return &flame->frames.items[i];
    fail_msg("no frame %s", name);
    return NULL;
}

TEST(totals_are_those_of_info)
{
    struct pt_profile *sides[] = {example(100)};
    AUTO_FLAME *flame = pt_flame_new(sides, 1, false);
    struct decoded decoded = decode(flame);
    struct pt_accounting sum = pt_summary_accounting(sides[0], PT_NONE);
    uint64_t cells = sum_of(decoded.columns[6]);
    assert_int_equal(cells, FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS);
    assert_int_equal(cells, sum.sampled_ns + sum.unsampled_ns + sum.lost_ns + sum.thread_exit_ns);
    assert_int_equal(sum_of(decoded.columns[5]), sum.samples);
    char key[80];
    snprintf(key, sizeof key, "\"cpu_ns\":%" PRIu64 ",", sum.cpu_ns);
    assert_non_null(strstr(decoded.json, key));
    snprintf(key, sizeof key, "\"difference_ns\":%" PRId64 ",", sum.difference_ns);
    assert_non_null(strstr(decoded.json, key));
    free_decoded(&decoded);
    pt_profile_free(sides[0]);
}

TEST(frames_have_kinds_and_modules)
{
    struct pt_profile *sides[] = {example(100)};
    AUTO_FLAME *flame = pt_flame_new(sides, 1, false);
    const struct pt_flame_frame *frame = frame_named(flame, "main");
    assert_int_equal(frame->kind, PT_KIND_APPLICATION);
    assert_string_equal(pt_string(flame->merged, frame->module), "app");
    assert_string_equal(pt_string(flame->merged, frame->file), "app.py");
    assert_string_equal(pt_string(flame->merged, frame->path), "/srv/app/app.py");
    assert_int_equal(frame->line, 10);
    frame = frame_named(flame, "fib");
    assert_int_equal(frame->kind, PT_KIND_PACKAGE);
    assert_string_equal(pt_string(flame->merged, frame->module), "numbers");
    frame = frame_named(flame, "_start");
    assert_int_equal(frame->kind, PT_KIND_INTERPRETER);
    frame = frame_named(flame, "sum_squares");
    assert_int_equal(frame->kind, PT_KIND_NATIVE);
    assert_string_equal(pt_string(flame->merged, frame->module), "libfoo.so");
    frame = frame_named(flame, "[unsampled]");
    assert_int_equal(frame->kind, PT_KIND_PSEUDO);
    pt_profile_free(sides[0]);
}

TEST(two_sides_share_the_tree)
{
    struct pt_profile *sides[] = {example(100), example(200)};
    struct pt_flame *one = pt_flame_new(sides, 1, false), *two = pt_flame_new(sides, 2, false);
    struct decoded decoded = decode(two);
    assert_int_equal(two->frames.count, one->frames.count);
    assert_int_equal(two->merged->nodes.count, one->merged->nodes.count);
    assert_int_equal(sum_of(decoded.columns[6]), 2 * (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS));
    assert_int_equal(two->buckets, 0); /* two runs have no time in common */
    assert_non_null(strstr(decoded.json, "{\"side\":1,"));
    assert_non_null(strstr(decoded.json, "{\"process\":1,"));
    free_decoded(&decoded);
    pt_flame_free(one);
    pt_flame_free(two);
    pt_profile_free(sides[0]);
    pt_profile_free(sides[1]);
}

TEST(buckets_are_few_and_keep_the_sum)
{
    static const unsigned lengths[] = {1, 3, 399, 401, 1777};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct pt_profile *sides[] = {seconds_of("f", lengths[i])};
        AUTO_FLAME *flame = pt_flame_new(sides, 1, false);
        struct decoded decoded = decode(flame);
        assert_true(flame->buckets >= 1 && flame->buckets <= 400);
        if (lengths[i] < 400)
            assert_int_equal(flame->buckets, lengths[i]);
        assert_int_equal(sum_of(decoded.columns[6]), (uint64_t)lengths[i] * 1000003);
        assert_int_equal(sum_of(decoded.columns[5]), lengths[i]);
        for (struct pt_cursor buckets = decoded.columns[4]; pt_left(&buckets);)
            assert_true(pt_read_varint(&buckets) < flame->buckets);
        free_decoded(&decoded);
        pt_profile_free(sides[0]);
    }
}

/* A thread that is always busy, in intervals of all lengths: no bucket has more than its width, all have as much. */
TEST(cpu_is_spread_over_its_interval)
{
    static const uint64_t walls[] = {SECOND,     130000000, 130000000, 20000000, SECOND, 5730000000u,
                                     1070000000, 300000000, SECOND,    SECOND,   9000001};
    uint64_t now = 1000 * (uint64_t)SECOND, buckets[400] = {0};
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", "instance", "/srv", "3.12.1", "/usr/bin/python3", 0, 7, SECOND});
    fixture_thread(&log, 7, "MainThread");
    uint32_t node = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "f", "/srv/app.py", 3), 3));
    for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        sample_at(&log, now, walls[i], node, walls[i]);
        now += walls[i];
    }
    AUTO_PROFILE *profile = profile_of(&log, &with_times);
    AUTO_FLAME *flame = pt_flame_new(&profile, 1, false);
    assert_int_equal(flame->buckets, (now - 1000 * (uint64_t)SECOND) / SECOND);
    for (uint32_t i = 0; i < flame->merged->samples.count; i++)
        buckets[flame->merged->samples.items[i].interval] += flame->merged->samples.items[i].cpu_ns;
    for (uint32_t i = 0; i < flame->buckets; i++)
        assert_in_range(buckets[i], flame->bucket_ns - 2 * flame->buckets, flame->bucket_ns);
    assert_int_equal(pt_profile_cpu_ns(flame->merged), pt_profile_cpu_ns(profile));
}

TEST(names_are_only_text)
{
    static const char name[] = "</script><b a='\"x\"'>&\\ \xe2\x80\xae\xe2\x80\xa8 \xf0\x9f\x90\x8d <!--";
    struct pt_profile *sides[] = {seconds_of(name, 1)};
    AUTO_FLAME *flame = pt_flame_new(sides, 1, false);
    frame_named(flame, name);
    /* In the page between head and tail there is base64 and nothing else. */
    PT_AUTO_FREE char *page = NULL;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    pt_flame_write(flame, out);
    fclose(out);
    assert_true(size > pt_page_head_size + pt_page_tail_size);
    assert_memory_equal(page, pt_page_head, pt_page_head_size);
    assert_memory_equal(page + size - pt_page_tail_size, pt_page_tail, pt_page_tail_size);
    page[size - pt_page_tail_size] = '\0';
    const char *data = page + pt_page_head_size;
    assert_int_equal(strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n"), strlen(data));
    pt_profile_free(sides[0]);
}

/* Names with what separates them from their place. */
TEST(places_are_cut_off_at_the_end)
{
    struct pt_profile *sides[] = {seconds_of("f (app.py:3) (app.py:3)", 1)};
    AUTO_FLAME *flame = pt_flame_new(sides, 1, false);
    assert_string_equal(pt_string(flame->merged, flame->frames.items[0].text), "f (app.py:3) (app.py:3) (app.py:3)");
    assert_string_equal(pt_string(flame->merged, flame->frames.items[0].name), "f (app.py:3) (app.py:3)");
    pt_profile_free(sides[0]);
}

TEST(times_out_of_reach_do_no_harm)
{
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", "instance", "/srv", "3.12.1", "/usr/bin/python3", 0, 7, SECOND});
    fixture_thread(&log, 7, "MainThread");
    uint32_t node = fixture_node(&log, 0, fixture_pseudo(&log, "[gc]"));
    static const uint64_t times[][2] = {{0, 5}, {UINT64_MAX, UINT64_MAX}, {SECOND, UINT64_MAX},
                                        {5, 0}, {SECOND, SECOND},         {UINT64_MAX / 4 - 1, UINT64_MAX / 4 - 1}};
    const size_t count = sizeof times / sizeof times[0];
    for (size_t i = 0; i < count; i++)
        sample_at(&log, times[i][0], times[i][1], node, 1000);
    AUTO_PROFILE *profile = profile_of(&log, &with_times);
    AUTO_FLAME *flame = pt_flame_new(&profile, 1, false);
    struct decoded decoded = decode(flame);
    assert_int_equal(sum_of(decoded.columns[6]), 1000 * count);
    assert_true(flame->buckets <= 400);
    free_decoded(&decoded);
}

/* Returns whether the page's own literal is, or begins, a pseudo-frame's name. */
static bool is_known_pseudo(const char *text, size_t length)
{
    static const char *const known[] = {
        PP_PSEUDO_NOT_SELECTED, "[data-frame]", /* a selector of CSS */
    };
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= strlen(known[i]) == length && memcmp(known[i], text, length) == 0;
    return found;
}

/* The page groups by pseudo-frames as the tools do: their names are those of pseudo_frames.h. */
TEST(page_has_the_names_of_pseudo_frames)
{
    PT_AUTO_FREE char *page = strndup((const char *)pt_page_tail, pt_page_tail_size);
    unsigned literals = 0;
    for (const char *at = page; (at = strstr(at, "\"[")); at++) {
        size_t length = strcspn(at + 1, "\"");
        if (at[2] < 'a' || at[2] > 'z')
            continue;
        literals++;
        if (!is_known_pseudo(at + 1, length))
            fail_msg("the page has %.*s, and pseudo_frames.h has not", (int)length, at + 1);
    }
    assert_true(literals > 1);
}
