/* Profiles of long runs: intervals are merged when there are too many samples, and no sum changes. */
#include "profile_fixture.h"
#include "random.h"
#include "tools/model/time_bins.h"

#define SECOND  1000000000ull
#define START   (1700000000 * SECOND + 123456789)
#define NODES   5u
#define SECONDS 3000u

/* A process that runs for so long; its intervals are not quite seconds. */
static void write_log(struct fixture *log, uint64_t pid, uint32_t seconds)
{
    static const char *const names[NODES] = {"a", "b", "c", "d", "e"};
    char instance[32];
    uint64_t now = START;
    uint32_t nodes[NODES], threads[2];
    snprintf(instance, sizeof instance, "instance-%u", (unsigned)pid);
    fixture_begin(log);
    fixture_process(log,
                    &(struct fixture_process){.run = "r", .instance = instance, .pid = pid, .start_unix_ns = START});
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = fixture_node(log, 0, fixture_python(log, fixture_code(log, names[i], "/srv/x.py", 1), 2));
    for (uint32_t i = 0; i < 2; i++)
        threads[i] = fixture_thread(log, 10 * pid + i, i ? "worker" : "MainThread");
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t wall = SECOND + random_below(50000000), samples[8][FIXTURE_SAMPLE_FIELDS];
        for (uint32_t j = 0; j < 8; j++) {
            const uint64_t fields[FIXTURE_SAMPLE_FIELDS] = {threads[random_below(2)],
                                                            nodes[random_below(NODES)],
                                                            0,
                                                            PP_STATE_GIL_KNOWN | random_below(2) |
                                                                (random_below(9) ? 0 : PP_STATE_GC_KNOWN | PP_STATE_GC),
                                                            1,
                                                            10000000 + random_below(1000)};
            memcpy(samples[j], fields, sizeof fields);
        }
        fixture_samples_at(log, now, wall, (const uint64_t(*)[FIXTURE_SAMPLE_FIELDS])samples, 8);
        now += wall;
    }
    fixture_accounting(
        log, (const struct fixture_account[]){{PP_ACCOUNT_END_UNIX_NS, now}, {PP_ACCOUNT_PENDING_NS, 7}, {0, 0}});
}

static void add(struct pt_profile *profile, const struct fixture *log)
{
    assert_int_equal(pt_profile_add_segment(profile, log->file.data, log->file.length, "x"), PT_READ_OK);
}

static struct pt_profile *new_profile(const struct pt_load_request *request)
{
    struct pt_profile *profile = pt_profile_new(request);
    profile->run_start_unix_ns = START;
    return profile;
}

/* CPU time of the parts of intervals that are there; PT_NONE: of all. */
static uint64_t ns_between(const struct pt_profile *profile, uint64_t from, uint64_t to, uint32_t thread, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        const struct pt_interval *interval = &profile->intervals.items[sample->interval];
        if ((thread == PT_NONE || sample->thread == thread) && (node == PT_NONE || sample->node == node))
            sum += pt_interval_part(interval, sample->cpu_ns, from, to);
    }
    return sum;
}

/* Equal but for rounding: of a sum of samples, or of each of them. */
static void assert_near(uint64_t a, uint64_t b)
{
    assert_in_range(a, b > 32 ? b - 32 : 0, b + 32);
}

/* Two processes, read one after the other and in two parts. */
TEST(many_samples_are_in_bins)
{
    struct fixture logs[2];
    const uint32_t most = 2000;
    const struct pt_load_request all = {.timed = true},
                                 bounded = {.timed = true, .merge_intervals = true, .most_samples = most};
    struct pt_profile *exact = new_profile(&all), *bound = new_profile(&bounded), *first = new_profile(&bounded),
                      *second = new_profile(&bounded);
    for (uint32_t i = 0; i < 2; i++) {
        write_log(&logs[i], i + 1, SECONDS / (i + 1));
        add(exact, &logs[i]);
        add(bound, &logs[i]);
        add(i ? second : first, &logs[i]);
        fixture_end(&logs[i]);
    }
    assert_true(exact->samples.count > 10 * most);
    assert_true(pt_profile_merge(first, second, NULL, 0));
    struct pt_profile *const profiles[] = {bound, first};
    for (size_t i = 0; i < 2; i++) {
        struct pt_profile *profile = profiles[i];
        pt_time_bins_bound(profile);
        assert_true(profile->samples.count <= most);
        assert_true(profile->samples.count > most / 4);
        assert_int_equal(profile->bin_ns, bound->bin_ns);
    }
    pt_profile_finish(bound);
    pt_profile_finish(first);
    pt_profile_finish(exact);
    for (uint64_t bin = 0; bin * bound->bin_ns < (SECONDS + 200) * SECOND; bin++) {
        uint64_t from = START + bin * bound->bin_ns, to = from + bound->bin_ns;
        for (uint32_t thread = 0; thread < exact->threads.count; thread++)
            for (uint32_t node = 1; node < exact->nodes.count; node++)
                assert_near(ns_between(bound, from, to, thread, node), ns_between(exact, from, to, thread, node));
        assert_near(ns_between(first, from, to, PT_NONE, PT_NONE), ns_between(exact, from, to, PT_NONE, PT_NONE));
    }
    assert_int_equal(pt_profile_cpu_ns(bound), pt_profile_cpu_ns(exact));
    assert_int_equal(pt_profile_cpu_ns(first), pt_profile_cpu_ns(exact));
    pt_profile_free(exact);
    pt_profile_free(bound);
    pt_profile_free(first);
}

TEST(too_many_is_said)
{
    AUTO_FIXTURE log;
    const struct pt_load_request request = {.timed = true, .most_samples = 500};
    AUTO_PROFILE *profile = new_profile(&request);
    write_log(&log, 1, SECONDS);
    add(profile, &log);
    assert_true(profile->too_many && profile->samples.count < 600);
}

/* Clocks that were wrong: everything stays, whatever the times. */
TEST(no_time_is_out_of_reach)
{
    static const uint64_t times[][2] = {{0, 5},
                                        {UINT64_MAX, UINT64_MAX},
                                        {SECOND, UINT64_MAX},
                                        {5, 0},
                                        {1, 1},
                                        {SECOND, 9},
                                        {UINT64_MAX / 4 - 1, UINT64_MAX / 4 - 1},
                                        {START, 1 << 20}};
    const struct pt_load_request request = {.timed = true, .merge_intervals = true, .most_samples = 2};
    AUTO_PROFILE *profile = new_profile(&request);
    uint32_t node = pt_add_node(profile, 0, pt_add_pseudo(profile, "[gc]"));
    pt_add_process(profile, 0);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        for (uint32_t j = 0; j < 3; j++) {
            uint32_t interval = pt_add_interval(profile, times[i][0] + j, times[i][1]);
            pt_append_sample(profile,
                             &(struct pt_sample){.node = node, .interval = interval, .count = 1, .cpu_ns = 1000});
            pt_time_bins_bound(profile);
        }
    assert_int_equal(pt_profile_cpu_ns(profile), 3 * 1000 * sizeof times / sizeof times[0]);
}

/* Two processes with two threads of one name each, all of which use CPU in all nodes, with and without the GIL. */
static struct pt_profile *many(uint32_t nodes)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    uint32_t frame = pt_add_pseudo(profile, "[gc]"), node = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t process = pt_add_process(profile, pt_intern_text(profile, i / 2 ? "one" : "two"));
        pt_add_thread(profile,
                      &(struct pt_thread){.process = process, .tid = i, .name = pt_intern_text(profile, "worker")});
    }
    for (uint32_t i = 0; i < nodes; i++) {
        node = pt_add_node(
            profile, i % 50 ? node : 0,
            i % 50 ? frame
                   : pt_add_frame(profile,
                                  &(struct pt_frame){.kind = PP_FRAME_NATIVE, .subject = PT_NONE, .address = i + 1}));
        for (uint32_t j = 0; j < 8; j++)
            pt_append_sample(profile, &(struct pt_sample){.thread = j / 2,
                                                          .node = node,
                                                          .state = (PP_STATE_GIL_KNOWN | j % 2) & PT_MAX_STATES,
                                                          .count = 1,
                                                          .cpu_ns = 1000 + j});
    }
    return profile;
}

/* As much is told apart as has room: sums stay with whom they are told of. */
TEST(cells_are_bounded)
{
    static const struct {
        uint32_t nodes, cells_each;
        enum pt_flame_detail detail;
    } cases[] = {{100, 8, PT_FLAME_ALL},
                 {200000, 4, PT_FLAME_THREADS},
                 {400000, 2, PT_FLAME_NAMES},
                 {800000, 1, PT_FLAME_TOTAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_PROFILE *profile = many(cases[i].nodes);
        uint64_t whole = pt_profile_cpu_ns(profile);
        AUTO_FLAME *flame = pt_flame_new(&profile, 1, false);
        assert_int_equal(flame->detail, cases[i].detail);
        assert_int_equal(flame->merged->samples.count, cases[i].nodes * cases[i].cells_each);
        assert_int_equal(pt_profile_cpu_ns(flame->merged), whole);
        uint64_t of_first = 0;
        for (uint32_t j = 0; j < flame->merged->samples.count; j++)
            of_first += flame->merged->samples.items[j].thread ? 0 : flame->merged->samples.items[j].cpu_ns;
        assert_int_equal(of_first, (uint64_t)cases[i].nodes * (cases[i].detail == PT_FLAME_TOTAL   ? 8028
                                                               : cases[i].detail == PT_FLAME_NAMES ? 4006
                                                                                                   : 2001));
    }
}
