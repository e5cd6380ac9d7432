/* SPDX-License-Identifier: Apache-2.0 */
#include "uncertainty.h"

#include <math.h>
#include <stdio.h>

#include "../load/runs.h"

#define Z               1.959964 /* of the normal distribution, for 95 % */
#define ERROR_LEVEL     0.05
#define MAX_STEPS       100000 /* of the continued fraction, which takes some root of the samples */
#define PRECISE         1e-10
#define PER_CENT        100
#define HIGHEST_STUDENT 1000 /* limit of 95 % for one degree of freedom: 12.7 */
#define STUDENT_STEPS   50   /* halvings of it: more than a double tells apart */

struct pt_share pt_share_of(const struct pt_draws *draws, uint64_t count, uint64_t ns, uint64_t whole_ns)
{
    struct pt_bounds bounds = pt_share_bounds(draws, count, ns, whole_ns);
    double share = whole_ns ? (double)ns / (double)whole_ns : 0;
    return (struct pt_share){{bounds.low * PER_CENT, bounds.high * PER_CENT}, bounds.high - bounds.low <= share};
}

void pt_print_interval(const struct pt_share *share)
{
    printf("  %5.1f–%-5.1f", share->bounds.low, share->bounds.high);
}

void pt_json_bounds(struct pt_json *json, const char *low, const char *high, const struct pt_share *share)
{
    pt_json_format(json, low, "%.6f", share->bounds.low / PER_CENT);
    pt_json_format(json, high, "%.6f", share->bounds.high / PER_CENT);
}

/* Returns whether the time of a sum was measured, and is no draw. */
static bool is_measured(const struct pt_profile *profile, const struct pt_sample *sample)
{
    uint32_t frame = profile->nodes.items[sample->node].frame;
    return !sample->count && profile->frames.items[frame].kind == PP_FRAME_PSEUDO;
}

struct pt_draws pt_draws_of(const struct pt_profile *profile)
{
    struct pt_draws draws = {.spread = 1};
    uint64_t rows = 0;
    double squares = 0, counted_ns = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        if (!sample->node || is_measured(profile, sample)) /* node 0: time that stacks have, too (PT_KEEP_STACKS) */
            continue;
        draws.ns += sample->cpu_ns;
        if (!sample->count) /* estimated for a short thread */
            continue;
        draws.count += sample->count;
        counted_ns += (double)sample->cpu_ns;
        squares += (double)sample->cpu_ns * (double)sample->cpu_ns / (double)sample->count;
        rows++;
    }
    /* Of a row's samples only the mean weight is known, which varies the less the more samples there are: each row says
     * as much about the variance of weights as a single sample would. */
    if (rows > 1 && counted_ns > 0) {
        double mean = counted_ns / (double)draws.count, variance = (squares - mean * counted_ns) / (double)(rows - 1);
        draws.spread += variance > 0 ? variance / (mean * mean) : 0;
    }
    return draws;
}

/* A part of the samples, as if all were equal: x of n. */
struct effective {
    double x, n;
};

static struct effective effective_of(const struct pt_draws *draws, uint64_t count, uint64_t ns)
{
    double all = (double)draws->count, of_part = (double)count, of_rest = all - of_part;
    double share = draws->ns ? (double)ns / (double)draws->ns : 0;
    double n = all / draws->spread;
    share = share < 1 ? share : 1;
    /* The variance of the share is spread * share² * rest² * (1 / of_part + 1 / of_rest). */
    if (of_part > 0 && of_rest > 0 && share > 0 && share < 1)
        n = of_part * of_rest / (draws->spread * all * share * (1 - share));
    return (struct effective){share * n, n};
}

struct pt_bounds pt_share_bounds(const struct pt_draws *draws, uint64_t count, uint64_t ns, uint64_t whole_ns)
{
    double whole = (double)whole_ns;
    if (whole > 0 && ns && !count)
        return (struct pt_bounds){(double)ns / whole, (double)ns / whole};
    if (!draws->count || !draws->ns || !(whole > 0))
        return (struct pt_bounds){0, 1};
    struct effective part = effective_of(draws, count, ns);
    double share = part.x / part.n, more = Z * Z / part.n, scale = (double)draws->ns / whole / (1 + more);
    double centre = share + more / 2, half = sqrt(more * (share * (1 - share) + more / 4));
    return (struct pt_bounds){ns ? (centre - half) * scale : 0, (centre + half) * scale};
}

/* Returns the continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d, factor = 0;
    for (int i = 1; i < MAX_STEPS && fabs(factor - 1) > PRECISE; i++) {
        double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        product *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        factor = d * c;
        product *= factor;
    }
    return product;
}

/* Returns the regularized incomplete beta function I_x(a, b). */
static double beta_below(double a, double b, double x)
{
    int sign;
    if (a <= 0 || x >= 1)
        return 1;
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
    /* The fraction converges where x is below the mean. */
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double pt_change_chance(const struct pt_draws draws[2], const uint64_t counts[2], const uint64_t ns[2])
{
    struct effective parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = effective_of(&draws[i], counts[i], ns[i]);
    double of_all = parts[0].n + parts[1].n, seen = parts[0].x + parts[1].x;
    if (!(parts[0].n > 0) || !(parts[1].n > 0) || !(seen > 0) || !(seen < of_all))
        return 1;
    if (seen > of_all / 2) /* the rest differs as surely as the part, and is the rarer */
        for (int i = 0; i < 2; i++)
            parts[i].x = parts[i].n - parts[i].x;
    /* If nothing differs, the part's samples fall to the two profiles like all others, at their ratio. The more of all
     * samples the part has, the less its number varies: as that of so many more rare ones. */
    double common = 1 - fmin(seen, of_all - seen) / of_all, ratio = parts[0].n / of_all;
    double first = parts[0].x / common, second = parts[1].x / common;
    /* Binomial: first or fewer, first or more. */
    double fewer = beta_below(second, first + 1, 1 - ratio), more = beta_below(first, second + 1, ratio);
    return fmin(1, 2 * fmin(fewer, more));
}

static int by_chance(const void *a, const void *b, void *chances)
{
    double x = ((const double *)chances)[*(const uint32_t *)a], y = ((const double *)chances)[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

void pt_mark_changes(const double *chances, uint32_t count, bool *marks)
{
    uint32_t *order = pt_alloc(count, sizeof *order), place = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        marks[i] = false;
    }
    qsort_r(order, count, sizeof *order, by_chance, (void *)(uintptr_t)chances);
    while (place < count && chances[order[place]] * (count - place) <= ERROR_LEVEL)
        marks[order[place++]] = true;
    free(order);
}

void pt_several_add(struct pt_several *several, double value)
{
    double off = value - several->mean;
    several->least = several->count && several->least < value ? several->least : value;
    several->most = several->count && several->most > value ? several->most : value;
    several->mean += off / ++several->count;
    several->squares += off * (value - several->mean);
}

struct pt_several pt_cpu_of_runs(const struct pt_profile *profile)
{
    struct pt_several several = {0};
    uint32_t count;
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        pt_several_add(&several, pt_seconds(runs[i].cpu_ns) - pt_seconds(runs[i].own_ns));
    return several;
}

/* Returns the probability that a value of Student's distribution is farther from 0 than t. */
static double student_beyond(double t, double freedom)
{
    return beta_below(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* Returns how far from 0 no more than 5 % are. */
static double student_limit(double freedom)
{
    double low = 0, high = HIGHEST_STUDENT;
    for (int i = 0; i < STUDENT_STEPS; i++) {
        double middle = (low + high) / 2;
        if (student_beyond(middle, freedom) > ERROR_LEVEL)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The squares of the standard errors of two means, and the degrees of freedom that their sum has (Welch). */
struct errors {
    double of_a, of_b, freedom;
};

static struct errors errors_of(const struct pt_several *a, const struct pt_several *b)
{
    double of_a = a->squares / (a->count - 1) / a->count, of_b = b->squares / (b->count - 1) / b->count;
    double both = of_a + of_b;
    return (struct errors){of_a, of_b, both * both / (of_a * of_a / (a->count - 1) + of_b * of_b / (b->count - 1))};
}

double pt_means_chance(const struct pt_several *a, const struct pt_several *b)
{
    if (a->count < 2 || b->count < 2)
        return 1;
    struct errors errors = errors_of(a, b);
    double both = errors.of_a + errors.of_b, difference = a->mean - b->mean;
    if (!(both > 0))
        return difference == 0;
    return student_beyond(fabs(difference) / sqrt(both), errors.freedom);
}

double pt_means_margin(const struct pt_several *a, const struct pt_several *b)
{
    if (a->count < 2 || b->count < 2)
        return 0;
    struct errors errors = errors_of(a, b);
    double both = errors.of_a + errors.of_b;
    return both > 0 ? student_limit(errors.freedom) * sqrt(both) : 0;
}

double pt_mean_margin(const struct pt_several *several)
{
    double freedom = several->count - 1.0;
    return several->count > 1 ? student_limit(freedom) * sqrt(several->squares / freedom / several->count) : 0;
}
