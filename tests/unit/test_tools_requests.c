/* Counted requests: read, merged, selected, and what is said of them. */
#include "profile_fixture.h"
#include "random.h"
#include "tools/model/http_requests.h"
#include "tools/report/compare.h"
#include "tools/report/request_columns.h"
#include <math.h>

#define S UINT64_C(1000000000)

/* Adds a block of one record: `fast` requests of the first bucket and `slow` ones of the 41st, 2 ms each, and one whose
 * time is not known. */
static void put(struct fixture *log, uint64_t start_ns, uint32_t endpoint, uint64_t fast, uint64_t slow)
{
    AUTO_BYTES payload = {0}, record = {0};
    fixture_varint(&record, endpoint);
    fixture_varint(&record, fast + slow + 1);
    fixture_varint(&record, fast + slow);
    fixture_varint(&record, fast * 10000 + slow * 2000000);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        fixture_varint(&record, i == 0 ? fast : i == 28 ? slow : 0);
    fixture_varint(&record, 7); /* of a newer writer */
    fixture_varint(&payload, start_ns);
    fixture_varint(&payload, S);
    fixture_varint(&payload, record.length);
    fixture_append(&payload, record.data, record.length);
    fixture_block(log, PP_BLOCK_REQUESTS, payload.data, payload.length);
}

static void add_segment(struct pt_profile *profile, uint64_t segment, const char *instance)
{
    struct fixture log =
        fixture_of(&(struct fixture_process){"run", instance, "/", "3.13.1", "python3", segment, 7, 0});
    uint32_t first = fixture_string(&log, segment ? "/b" : "/a"), second = fixture_string(&log, segment ? "/a" : "/b");
    put(&log, 10 * S * (segment + 1), segment ? second : first, 90, 10);
    put(&log, 10 * S * (segment + 1), segment ? first : second, 1, 0);
    put(&log, 10 * S * (segment + 1), 0, 0, 0);
    add_log(profile, &log);
    assert_int_equal(profile->losses.damaged_records, 0);
}

static struct pt_request_sums of(const struct pt_profile *profile, const char *endpoint, uint32_t process)
{
    struct pt_request_sums *all = pt_requests_by(profile, PT_COUNTED_BY, process), found = {0};
    assert_non_null(all);
    for (uint32_t i = 0; i < profile->strings.count; i++)
        if (strcmp(pt_string(profile, i), endpoint) == 0)
            found = all[i];
    free(all);
    return found;
}

TEST(sums_are_of_all_segments_and_processes)
{
    struct pt_profile *profile = pt_profile_new(NULL), *second = pt_profile_new(NULL);
    add_segment(profile, 0, "one");
    add_segment(profile, 1, "one");
    add_segment(second, 0, "two");
    assert_true(pt_profile_merge(profile, second, NULL, 0));
    struct pt_request_sums a = of(profile, "/a", PT_NONE);
    assert_int_equal(a.count, 3 * 101);
    assert_int_equal(a.measured, 3 * 100);
    assert_int_equal(a.cpu_ns, 3 * (90 * 10000 + 10 * 2000000));
    assert_int_equal(of(profile, "/a", 1).count, 101);
    assert_int_equal(of(profile, "/b", PT_NONE).count, 3 * 2);
    assert_int_equal(of(profile, "", PT_NONE).count, 3);
    assert_null(pt_requests_by(profile, "task", PT_NONE));
    pt_profile_free(profile);
}

TEST(time_and_processes_select)
{
    const struct pt_load_request parts[] = {
        {.select.from.of_run_ns = 15 * S},
        {.select.from.of_run_ns = 10 * S + S / 2, .select.to.of_run_ns = 15 * S},
        {.select.pid = "8"},
        {.select.thread = "7"},
        {.keep = PT_KEEP_STACKS, .select.focus = "x"},
        {.traces = PT_TRACES_ONLY},
    };
    static const uint64_t counts[] = {101, 50, 0, 0, 0, 0};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        AUTO_PROFILE *profile = pt_profile_new(&parts[i]);
        add_segment(profile, 0, "one");
        add_segment(profile, 1, "one");
        assert_int_equal(pt_has_requests(profile), counts[i] > 0);
        if (counts[i])
            assert_in_range(of(profile, "/a", PT_NONE).count, counts[i], counts[i] + 1);
    }
}

/* The first request that is counted ends the start. */
TEST(requests_are_after_the_start)
{
    const struct pt_load_request first = {.keep = PT_KEEP_SUMS, .ready = true};
    const struct pt_load_request parts[] = {{.select.from.ready = true}, {.select.to.ready = true}};
    for (unsigned i = 0; i < 2; i++) {
        AUTO_PROFILE *earlier = pt_profile_new(&first), *profile = pt_profile_new(&parts[i]);
        add_segment(earlier, 0, "one");
        profile->earlier = earlier;
        add_segment(profile, 0, "one");
        assert_int_equal(pt_has_requests(profile), !i);
    }
}

TEST(what_was_not_selected_has_no_endpoint)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    add_segment(profile, 0, "one");
    assert_true(pt_has_requests(profile));
    profile->processes.items[0].accounting.not_selected_ns = 1;
    assert_false(pt_has_requests(profile));
}

TEST(what_is_cut_is_counted_as_damage)
{
    AUTO_FIXTURE whole;
    fixture_begin(&whole);
    put(&whole, 10 * S, 1, 90, 10);
    size_t header = sizeof(struct pp_log_file_header) + sizeof(struct pp_log_block_header);
    size_t length = whole.file.length - header, times = 7; /* bytes of the start and the length of the interval */
    for (size_t cut = 1; cut < length; cut++) {
        AUTO_PROFILE *profile = pt_profile_new(NULL);
        struct fixture log = fixture_of(&(struct fixture_process){"run", "one", "/", "3.13.1", "python3", 0, 7, 0});
        fixture_string(&log, "/a");
        fixture_block(&log, PP_BLOCK_REQUESTS, whole.file.data + header, cut);
        put(&log, 10 * S, 1, 90, 10);
        add_log(profile, &log);
        assert_true(profile->losses.damaged_records <= 1);
        assert_true(cut < 2 * times || profile->losses.damaged_records == 1);
        assert_int_equal(of(profile, "/a", PT_NONE).count, 101);
    }
}

TEST(quantiles_are_within_their_bucket)
{
    struct pt_request_sums sums = {.measured = 100};
    assert_int_equal(pt_requests_quantile(&(struct pt_request_sums){0}, 0.5), 0);
    sums.buckets[0] = 90;
    sums.buckets[28] = 10;
    assert_in_range(pt_requests_quantile(&sums, 0.45), pp_request_bucket_limit(0) / 2 - 1,
                    pp_request_bucket_limit(0) / 2 + 1);
    assert_in_range(pt_requests_quantile(&sums, 0.99), pp_request_bucket_limit(27), pp_request_bucket_limit(28));
    sums.buckets[PP_HANDLER_BUCKETS - 1] = 1000; /* no upper limit */
    assert_int_equal(pt_requests_quantile(&sums, 0.99), pp_request_bucket_limit(PP_HANDLER_BUCKETS - 2));
}

TEST(what_is_no_endpoint_has_no_time_per_request)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    uint32_t a = pt_intern_text(profile, "/a"), other = pt_intern_text(profile, "(other)");
    assert_true(pt_cpu_per_request(profile, a, 100, 4) == 25);
    assert_true(pt_cpu_per_request(profile, a, 100, 0) == 0);
    assert_true(pt_cpu_per_request(profile, 0, 100, 4) == 0);
    assert_true(pt_cpu_per_request(profile, other, 100, 4) == 0);
    assert_true(pt_cpu_per_request(profile, pt_intern_text(profile, PP_UNKNOWN_ROUTE), 100, 4) == 0);
}

TEST(durations_have_three_digits)
{
    static const struct {
        double ns;
        const char *text;
    } all[] = {{0, "0.00 \u00b5s"},  {999, "1.00 \u00b5s"}, {153000, "153 \u00b5s"}, {999600, "1.00 ms"},
               {9994000, "9.99 ms"}, {99960000, "100 ms"},  {1234567890, "1.23 s"},  {123456789012, "123 s"}};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_append_duration(&text, all[i].ns);
        assert_string_equal(text.data, all[i].text);
    }
}

TEST(means_are_of_all_or_unknown)
{
    struct pt_request_sums sums = {.count = 4, .measured = 4, .cpu_ns = 10};
    assert_true(pt_requests_mean(&sums) == 2.5);
    sums.measured = 3;
    assert_true(pt_requests_mean(&sums) == 0);
}

static void count(struct pt_request_sums *sums, uint64_t ns)
{
    unsigned bucket = 0;
    while (bucket < PP_HANDLER_BUCKETS - 1 && ns >= pp_request_bucket_limit(bucket))
        bucket++;
    sums->count++;
    sums->measured++;
    sums->cpu_ns += ns;
    sums->buckets[bucket]++;
}

TEST(spread_is_that_of_the_requests)
{
    static const uint32_t ranges[][2] = {{1000, 10000}, {200000, 1000000}, {350000, 1500000}, {1, 2000000000}};
    assert_int_equal(pt_request_clock(&(struct pt_request_sums){0}).count, 0);
    assert_int_equal(pt_request_clock(&(struct pt_request_sums){.count = 10, .measured = 8}).count, 0);
    for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct pt_request_sums sums = {0};
        struct pt_several exact = {0};
        for (unsigned j = 0; j < 10000; j++) {
            uint32_t ns = ranges[i][0] + random_below(ranges[i][1] - ranges[i][0]);
            count(&sums, ns);
            pt_several_add(&exact, ns);
        }
        struct pt_several several = pt_request_clock(&sums);
        assert_int_equal(several.count, exact.count);
        assert_true(fabs(several.mean / exact.mean - 1) < 1e-9);
        /* one bucket holds all of the first: they may spread over it; the last bucket has no end */
        assert_in_range(100 * sqrt(several.squares / exact.squares), 98, i ? 120 : 220);
    }
}

#define ENDPOINTS 5u
#define REQUESTS  1000u
#define PAIRS     400u

/* A run, whose machine is up to 3 % faster or slower. Requests of an endpoint take up to three times as long as others.
 */
static struct pt_profile *draw_run(double factor)
{
    static const struct pt_load_request request = {.keep = PT_KEEP_STACKS};
    struct pt_profile *profile = pt_profile_new(&request);
    double speed = 0.97 + random_below(60000) * 1e-6;
    pt_add_process(profile, 0);
    for (unsigned i = 0; i < ENDPOINTS; i++) {
        const char name[] = {'/', (char)('a' + i), '\0'};
        struct pt_requests requests = {.endpoint = pt_intern_text(profile, name)};
        double least = 100000.0 * (i + 1) * speed * (i ? 1 : factor);
        for (unsigned j = 0; j < REQUESTS; j++)
            count(&requests.sums, (uint64_t)(least * (1 + random_below(2000) * 1e-3)));
        pt_add_requests(profile, &requests);
    }
    return profile;
}

/* Returns how many endpoints are marked; 100 if the first is not. */
static uint32_t marks(double factor)
{
    struct pt_profile *a = draw_run(1), *b = draw_run(factor);
    const struct pt_side sides[] = {pt_side_of(a), pt_side_of(b)};
    struct pt_comparison comparison = pt_comparison_of(sides, PT_COMPARE_REQUEST, PT_COUNTED_BY, false);
    uint32_t marked = 0;
    assert_int_equal(comparison.function_count, ENDPOINTS);
    for (uint32_t i = 0; i < ENDPOINTS; i++) {
        assert_false(comparison.functions[i].self.marked);
        marked += comparison.functions[i].clock.marked;
    }
    marked += strcmp(comparison.functions[0].text, "/a") != 0 || !comparison.functions[0].clock.marked ? 100 : 0;
    pt_comparison_free(&comparison);
    pt_profile_free(a);
    pt_profile_free(b);
    return marked;
}

TEST(the_clock_marks_what_changed_alone)
{
    uint32_t equal = 0, slower = 0, faster = 0;
    for (unsigned i = 0; i < PAIRS; i++) {
        equal += marks(1) != 100;
        slower += marks(1.5) == 1;
        faster += marks(1 / 1.5) == 1;
        assert_true(marks(1.05) == 100); /* as much as machines differ */
    }
    print_message("marked: %u of %u equal, %u slower, %u faster\n", equal, PAIRS, slower, faster);
    assert_int_equal(equal, 0);
    assert_in_range(slower, PAIRS * 99 / 100, PAIRS);
    assert_in_range(faster, PAIRS * 99 / 100, PAIRS);
}
