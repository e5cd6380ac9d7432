/* How sure shares are: known values, and how often what is said of random samples is true. */
#include "profile_fixture.h"
#include "random.h"
#include "tools/report/compare.h"
#include "tools/view/uncertainty.h"
#include <math.h>

#define MS      1000000u
#define PERIOD  10u /* ms */
#define STACKS  40u
#define REPEATS ROUNDS(2000u, 1000u)

#define ASSERT_NEAR(value, expected, error) assert_true(fabs((value) - (expected)) <= (error))

static struct pt_draws equal_draws(uint64_t count)
{
    return (struct pt_draws){.count = count, .ns = count * PERIOD * MS, .spread = 1};
}

static struct pt_bounds bounds_of(uint64_t count, uint64_t of)
{
    struct pt_draws draws = equal_draws(of);
    return pt_share_bounds(&draws, count, count * PERIOD * MS, draws.ns);
}

/* The expected values are from the tables of Brown, Cai and DasGupta's paper, or by hand from Wilson's formula. */
TEST(known_bounds)
{
    static const struct {
        uint64_t count, of;
        double low, high;
    } cases[] = {
        {10, 100, 0.0552, 0.1744}, {50, 100, 0.4038, 0.5962}, {0, 100, 0, 0.0370},
        {100, 100, 0.9630, 1},     {1, 10, 0.0179, 0.4042},   {300, 3000, 0.0898, 0.1112},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pt_bounds bounds = bounds_of(cases[i].count, cases[i].of);
        ASSERT_NEAR(bounds.low, cases[i].low, 1e-4);
        ASSERT_NEAR(bounds.high, cases[i].high, 1e-4);
    }
    struct pt_bounds none = bounds_of(0, 0);
    assert_true(none.low == 0 && none.high == 1);
}

/* What was measured is in what shares are of, and is sure. */
TEST(measured_time_is_sure)
{
    struct pt_draws draws = equal_draws(100);
    struct pt_bounds all = pt_share_bounds(&draws, 10, 10 * PERIOD * MS, draws.ns),
                     half = pt_share_bounds(&draws, 10, 10 * PERIOD * MS, 2 * draws.ns),
                     unsampled = pt_share_bounds(&draws, 0, draws.ns, 2 * draws.ns);
    ASSERT_NEAR(half.low, all.low / 2, 1e-12);
    ASSERT_NEAR(half.high, all.high / 2, 1e-12);
    assert_true(unsampled.low == 0.5 && unsampled.high == 0.5);
}

/* A profile of one-frame stacks, all in one process. */
static struct pt_profile *new_profile(uint32_t nodes[STACKS])
{
    struct pt_profile *profile = pt_profile_new(NULL);
    pt_add_thread(profile, &(struct pt_thread){.process = pt_add_process(profile, 0), .tid = 1});
    for (uint32_t i = 0; i < STACKS; i++) {
        struct pt_frame frame = {.kind = PP_FRAME_NATIVE, .subject = PT_NONE, .address = i + 1};
        nodes[i] = pt_add_node(profile, 0, pt_add_frame(profile, &frame));
    }
    return profile;
}

TEST(draws_leave_out_what_was_measured)
{
    uint32_t nodes[STACKS];
    AUTO_PROFILE *profile = new_profile(nodes);
    const struct pt_sample samples[] = {
        {.node = nodes[0], .count = 3, .cpu_ns = 30 * MS},
        {.node = nodes[1], .count = 1, .cpu_ns = 10 * MS},
        {.node = nodes[1], .count = 0, .cpu_ns = 2 * MS}, /* estimated */
        {.node = pt_add_node(profile, 0, pt_add_pseudo(profile, "[unsampled]")), .cpu_ns = 50 * MS},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        pt_append_sample(profile, &samples[i]);
    struct pt_draws draws = pt_draws_of(profile);
    assert_int_equal(draws.count, 4);
    assert_int_equal(draws.ns, 42 * MS);
    ASSERT_NEAR(draws.spread, 1, 1e-9);
}

/* Holm's: 0.01 * 4, 0.012 * 3 and 0.02 * 2 are within 5 %; 0.06 is not, and ends it. */
TEST(marks_are_corrected)
{
    bool marks[5];
    pt_mark_changes((const double[]){0.06, 0.012, 0.01, 0.02}, 4, marks);
    assert_true(!marks[0] && marks[1] && marks[2] && marks[3]);
    pt_mark_changes((const double[]){0.02, 0.02, 0.02}, 3, marks);
    assert_true(!marks[0] && !marks[1] && !marks[2]);
    pt_mark_changes((const double[]){0.049}, 1, marks);
    assert_true(marks[0]);
    pt_mark_changes(NULL, 0, marks);
}

static double chance(uint64_t count_a, uint64_t of_a, uint64_t count_b, uint64_t of_b)
{
    const struct pt_draws draws[] = {equal_draws(of_a), equal_draws(of_b)};
    return pt_change_chance(draws, (const uint64_t[]){count_a, count_b},
                            (const uint64_t[]){count_a * PERIOD * MS, count_b * PERIOD * MS});
}

/* Twice the sum of the binomial probabilities of `low` or fewer successes of n. */
static double binomial_chance(uint32_t low, uint32_t n, double probability)
{
    double sum = 0, term = pow(1 - probability, n);
    for (uint32_t i = 0; i <= low; i++) {
        sum += term;
        term *= (n - i) * probability / ((i + 1) * (1 - probability));
    }
    return 2 * sum;
}

TEST(known_chances)
{
    assert_true(chance(0, 0, 5, 100) == 1 && chance(0, 100, 0, 100) == 1 && chance(100, 100, 50, 50) == 1);
    assert_true(chance(30, 300, 300, 3000) > 0.9);
    ASSERT_NEAR(chance(7, 300, 31, 3000), chance(31, 3000, 7, 300), 1e-9);
    ASSERT_NEAR(chance(20, 100, 40, 100), chance(80, 100, 60, 100), 1e-9);
    /* Rare parts: how a coin falls, one that is as uneven as the two profiles are. */
    const uint32_t many = 1000000;
    for (uint32_t all = 6; all < 60; all += 9)
        for (uint32_t low = 0; low < all / 4; low++) {
            double expected[] = {binomial_chance(low, all, 0.5), binomial_chance(low, all, 0.75)};
            ASSERT_NEAR(chance(low, many, all - low, many) / expected[0], 1, 1e-3);
            ASSERT_NEAR(chance(low, 3 * many, all - low, many) / expected[1], 1, 1e-3);
        }
    /* Large shares: the normal distribution. (0.5 - 0.45) / sqrt(2 * 0.475 * 0.525 / 2000) = 3.166 sigma */
    ASSERT_NEAR(chance(1000, 2000, 900, 2000), erfc(3.166 / sqrt(2)), 4e-4);
}

/* Weights as they are on a kernel with ticks of 4 ms, and now and then a late one. */
static uint64_t draw_weight(void)
{
    uint32_t ticks = 2 + random_below(2) + (random_below(50) ? 0 : random_below(8));
    return ticks * 4 * MS + random_below(MS) - MS / 2;
}

/* One stack has the share, the others divide the rest. */
TEST(bounds_hold_the_share_as_often_as_they_say)
{
    static const struct {
        uint32_t permille, samples;
    } cases[] = {{5, 300}, {5, 3000}, {30, 300}, {100, 300}, {500, 300}, {900, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t held = 0;
        for (uint32_t repeat = 0; repeat < REPEATS; repeat++) {
            uint32_t nodes[STACKS];
            uint64_t counts[STACKS] = {0}, ns[STACKS] = {0};
            AUTO_PROFILE *profile = new_profile(nodes);
            for (uint32_t j = 0; j < cases[i].samples; j++) {
                uint32_t stack = random_below(1000) < cases[i].permille ? 0 : 1 + random_below(STACKS - 1);
                counts[stack]++;
                ns[stack] += draw_weight();
            }
            for (uint32_t j = 0; j < STACKS; j++)
                pt_append_sample(profile, &(struct pt_sample){.node = nodes[j], .count = counts[j], .cpu_ns = ns[j]});
            struct pt_draws draws = pt_draws_of(profile);
            struct pt_bounds bounds = pt_share_bounds(&draws, counts[0], ns[0], draws.ns);
            held += bounds.low <= cases[i].permille / 1000.0 && bounds.high >= cases[i].permille / 1000.0;
            assert_true(bounds.low <= (double)ns[0] / (double)draws.ns &&
                        (double)ns[0] / (double)draws.ns <= bounds.high);
        }
        print_message("%.1f %% of %u samples: the interval holds it in %.1f %%\n", cases[i].permille / 10.0,
                      cases[i].samples, 100.0 * held / REPEATS);
        assert_in_range(held, REPEATS * 93 / 100, REPEATS * 98 / 100);
    }
}

#define FUNCTIONS 200u
#define FILES     20u
#define PAIRS     ROUNDS(1000u, 200u)

static uint32_t parent_of(uint32_t function)
{
    return (function - 1) / 3;
}

/* Shares of self time, as function 0 calls 1 to 3, function 1 calls 4 to 6 and so on. */
struct program {
    double shares[FUNCTIONS];
};

/* Zipf's law: some functions have most of the time, most have hardly any. */
static struct program zipf(void)
{
    struct program program;
    double sum = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        sum += 1.0 / (i + 1);
    for (uint32_t i = 0; i < FUNCTIONS; i++) /* scattered over the tree */
        program.shares[i * 37 % FUNCTIONS] = 1 / (sum * (i + 1));
    return program;
}

static uint32_t draw_function(const struct program *program)
{
    double at = random_below(UINT32_MAX) / (double)UINT32_MAX;
    uint32_t i = 0;
    while (i < FUNCTIONS - 1 && (at -= program->shares[i]) >= 0)
        i++;
    return i;
}

/* A run of the program, as `pyprof diff` loads it. */
static struct pt_profile *draw_profile(const struct program *program, uint32_t samples)
{
    static const struct pt_load_request request = {.keep = PT_KEEP_STACKS};
    uint64_t counts[FUNCTIONS] = {0}, ns[FUNCTIONS] = {0};
    uint32_t nodes[FUNCTIONS];
    struct pt_profile *profile = pt_profile_new(&request);
    pt_add_process(profile, 0);
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t function = draw_function(program);
        counts[function]++;
        ns[function] += draw_weight();
    }
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[16], file[16];
        snprintf(name, sizeof name, "f%u", (unsigned)i);
        snprintf(file, sizeof file, "file%u.py", (unsigned)(i % FILES));
        uint32_t path = pt_intern_text(profile, file);
        struct pt_function function = {
            .name = pt_intern_text(profile, name), .file = path, .short_file = path, .first_line = i + 1};
        struct pt_frame frame = {.kind = PP_FRAME_PYTHON, .subject = pt_add_function(profile, &function)};
        nodes[i] = pt_add_node(profile, i ? nodes[parent_of(i)] : 0, pt_add_frame(profile, &frame));
        if (counts[i])
            pt_add_stack(profile, &(struct pt_sample){.node = nodes[i], .count = counts[i], .cpu_ns = ns[i]});
    }
    return profile;
}

static uint32_t draw_size(void)
{
    return 300 + random_below(2701);
}

struct marks {
    uint32_t any, changed; /* of functions and files; whether the changed function is marked */
};

static struct marks compare(struct pt_profile *a, struct pt_profile *b, uint32_t changed)
{
    char name[32];
    const struct pt_side sides[] = {pt_side_of(a), pt_side_of(b)};
    struct pt_comparison comparison = pt_comparison_of(sides, PT_COMPARE_SHARE, NULL, false);
    struct marks marks = {0};
    snprintf(name, sizeof name, "f%u (file%u.py)", (unsigned)changed, (unsigned)(changed % FILES));
    for (uint32_t i = 0; i < comparison.function_count; i++) {
        const struct pt_compared *one = &comparison.functions[i];
        marks.any += one->self.marked || one->total.marked;
        marks.changed |= one->self.marked && strcmp(one->text, name) == 0;
    }
    for (uint32_t i = 0; i < comparison.file_count; i++)
        marks.any += comparison.files[i].self.marked;
    pt_comparison_free(&comparison);
    pt_profile_free(a);
    pt_profile_free(b);
    return marks;
}

TEST(intervals_of_means_are_as_wide_as_the_test_is_strict)
{
    struct pt_several a = {0}, b = {0}, single = {0};
    pt_several_add(&single, 1);
    for (unsigned i = 0; i < 5; i++) {
        pt_several_add(&a, 1 + 0.01 * i);
        pt_several_add(&b, 2 + 0.03 * i);
    }
    /* Student's limit for four degrees of freedom is 2.776; the standard error of a is 0.01 / sqrt(2). */
    assert_true(fabs(pt_mean_margin(&a) - 2.776 * 0.01 / sqrt(2)) < 1e-5);
    assert_true(pt_mean_margin(&single) == 0 && pt_means_margin(&a, &single) == 0);
    struct pt_several apart = b;
    apart.mean = a.mean + pt_means_margin(&a, &b);
    assert_true(fabs(pt_means_chance(&a, &apart) - 0.05) < 1e-6);
}

TEST(equal_profiles_are_not_marked)
{
    const struct program program = zipf();
    uint32_t marked = 0;
    for (uint32_t i = 0; i < PAIRS; i++)
        marked += compare(draw_profile(&program, draw_size()), draw_profile(&program, draw_size()), 0).any > 0;
    print_message("%u of %u pairs of equal profiles have a mark\n", (unsigned)marked, (unsigned)PAIRS);
    assert_in_range(marked, 1, PAIRS * 5 / 100);
}

static double width_of(double share, uint32_t samples)
{
    struct pt_bounds bounds = bounds_of((uint64_t)(share * samples + 0.5), samples);
    return bounds.high - bounds.low;
}

/* Returns the share that is greater by twice the interval: that of both shares which is wider. */
static double greater_by_two_intervals(double share, const uint32_t sizes[2])
{
    double greater = share;
    for (int i = 0; i < 50; i++)
        greater = share + 2 * fmax(width_of(share, sizes[0]), width_of(greater, sizes[1]));
    return greater;
}

/* One function, any of them, gets more, or less. */
TEST(twice_the_interval_is_marked)
{
    const struct program program = zipf();
    uint32_t marked = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t changed = random_below(FUNCTIONS), sizes[] = {draw_size(), draw_size()};
        double share = program.shares[changed], greater = greater_by_two_intervals(share, sizes);
        struct program other = program;
        assert_true(greater < 0.95);
        for (uint32_t j = 0; j < FUNCTIONS; j++)
            other.shares[j] *= (1 - greater) / (1 - share);
        other.shares[changed] = greater;
        struct pt_profile *a = draw_profile(&program, sizes[0]), *b = draw_profile(&other, sizes[1]);
        marked += i % 2 ? compare(a, b, changed).changed : compare(b, a, changed).changed;
    }
    print_message("%u of %u functions that changed by twice the interval are marked\n", (unsigned)marked,
                  (unsigned)PAIRS);
    assert_in_range(marked, PAIRS * 95 / 100, PAIRS);
}
