/* SPDX-License-Identifier: Apache-2.0 */
/* How what a side of a comparison has spreads over its runs. */
#ifndef PT_REPORT_COMPARE_RUNS_H
#define PT_REPORT_COMPARE_RUNS_H

#include "../query/group.h"
#include "compare.h"

/* Returns whether the side has several runs, and its samples say of which they are. */
bool pt_has_runs(const struct pt_side *side);

/* CPU seconds of functions (or lines) in each run, by string. NULL: pt_has_runs says no. */
struct pt_spread {
    struct pt_several *self, *total;
};

/* Adds texts to the profile's strings, those of its view. The caller frees both arrays. */
struct pt_spread pt_spread_of(const struct pt_side *side, bool lines);

/* Sets the runs of groups' sums, by string; `none` has what has no value. number: of the side. */
void pt_spread_groups(const struct pt_side *side, int number, const struct pt_group *group, uint32_t none,
                      struct pt_change *sums);

#endif
