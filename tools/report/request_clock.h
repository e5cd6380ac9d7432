/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what requests took by their own clock, and whether that of two runs differs by more than chance. */
#ifndef PT_REPORT_REQUEST_CLOCK_H
#define PT_REPORT_REQUEST_CLOCK_H

#include "../view/uncertainty.h"

/* Returns the CPU time of the requests that were measured: their exact mean; the buckets say how they spread. It is
 * without least and most. Count 0: too many were not measured. */
struct pt_several pt_request_clock(const struct pt_request_sums *sums);

/* Returns the probability (two-sided) that the means of equal runs differ as much as these, or more; 1 if too few
 * requests were measured. */
double pt_request_clocks_chance(const struct pt_several clocks[2]);

#endif
