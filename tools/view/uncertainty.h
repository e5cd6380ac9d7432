/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says how sure shares of the CPU time are that come from samples, and whether two of them differ by more than chance.
 *
 * A share is the CPU time of the samples in which a function (a file, a line) was seen, of that of all samples. The
 * samples are taken for independent draws from the program's CPU time. A thread is sampled at almost equal distances,
 * so phases of a program that are longer than a distance get their due in each run: shares of equal runs vary less than
 * draws would (measured: 0.3 to 1.0 of their variance; 1.5 for some functions of threads that take turns). Samples
 * weigh what their thread has used since the one before; the more unequal the weights, the less many samples tell.
 *
 * Nothing here knows what differs between two runs for other reasons than sampling: another load of the machine,
 * another order of threads, addresses that fall into a cache in another way.
 */
#ifndef PT_VIEW_UNCERTAINTY_H
#define PT_VIEW_UNCERTAINTY_H

#include "../base/json.h"
#include "../model/model.h"

/* Sums up the samples that shares come from. */
struct pt_draws {
    uint64_t count, ns; /* of all samples, without what was measured, not sampled: [unsampled], [thread exit] */
    double spread;      /* mean square of a sample's weight over the square of its mean: 1 if all are equal */
};

/* Of the samples that the profile holds; in any form (enum pt_keep), after any selection. */
struct pt_draws pt_draws_of(const struct pt_profile *profile);

/* From 0 to 1. */
struct pt_bounds {
    double low, high;
};

/* Returns the 95 % interval (Wilson's) of the share ns / whole_ns. count, ns: of the part of the samples that the share
 * is about, as pt_total has them; 0, 0: it was not seen. whole_ns: what shares are of, not less than draws->ns, as a
 * rule pt_summary_program_ns. Time without samples (count 0, ns not 0) was measured: both bounds are the share. Without
 * any samples nothing is known: 0 to 1. */
struct pt_bounds pt_share_bounds(const struct pt_draws *draws, uint64_t count, uint64_t ns, uint64_t whole_ns);

/* Returns the probability (two-sided) that a part's shares of two profiles differ as much as this, or more, by chance
 * alone, if in truth they are equal. 1 if nothing is known. */
double pt_change_chance(const struct pt_draws draws[2], const uint64_t counts[2], const uint64_t ns[2]);

/* Sets marks[i] for those of `count` changes that are more than chance, by chances[i] from pt_change_chance. Holm's
 * correction: however many functions are compared, and however they depend on each other (as a caller and its callee
 * do), the probability that any is marked is 5 % at most where nothing differs. */
void pt_mark_changes(const double *chances, uint32_t count, bool *marks);

/* A value that was measured several times. Starts as {0}. */
struct pt_several {
    uint32_t count;
    double mean, least, most;
    double squares; /* sum of the squared distances from the mean */
};
void pt_several_add(struct pt_several *several, double value);

/* Returns the CPU seconds that the program used in each run of the profile. */
struct pt_several pt_cpu_of_runs(const struct pt_profile *profile);

/* Returns the probability (two-sided) that two means differ as much as this, or more, by chance alone (Welch's t-test);
 * 1 if one of them was measured only once, which says nothing about chance. */
double pt_means_chance(const struct pt_several *a, const struct pt_several *b);

/* Returns half the 95 % interval of the difference of their means; 0: one of them was measured only once. */
double pt_means_margin(const struct pt_several *a, const struct pt_several *b);

/* Returns half the 95 % interval of the mean; 0: it was measured only once. */
double pt_mean_margin(const struct pt_several *several);

struct pt_share {
    struct pt_bounds bounds; /* the 95 % interval, in per cent */
    bool known;              /* the interval is not wider than the share */
};

/* The arguments are those of pt_share_bounds. */
struct pt_share pt_share_of(const struct pt_draws *draws, uint64_t count, uint64_t ns, uint64_t whole_ns);

/* The interval as a column. */
#define PT_INTERVAL_WIDTH   13
#define PT_INTERVAL_HEADING "   95 % RANGE"
void pt_print_interval(const struct pt_share *share);

/* Puts the interval of a share, from 0 to 1. */
void pt_json_bounds(struct pt_json *json, const char *low, const char *high, const struct pt_share *share);

#endif
