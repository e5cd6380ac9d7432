/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of the CPU time with what is known of their uncertainty. */
#ifndef PT_REPORT_SHARES_H
#define PT_REPORT_SHARES_H

#include "../base/json.h"
#include "../view/uncertainty.h"

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
