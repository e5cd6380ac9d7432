/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the requests that an endpoint had. */
#ifndef PT_REPORT_REQUEST_COLUMNS_H
#define PT_REPORT_REQUEST_COLUMNS_H

#include "../model/http_requests.h"
#include "../view/uncertainty.h"

/* Of the CPU of a request: by so much equal runs are taken to differ where it is not known. */
#define PT_RUN_DIFFERS 0.05

struct pt_request_columns {
    bool shown, interval, spread; /* interval: of the CPU time per request; spread: measured p50 and p99 */
};

/* CPU time per request with its 95 % interval. ns 0: it is not known. */
struct pt_per_request {
    double ns, low_ns, high_ns;
    bool by_clock; /* these are by the requests' own clock, not by samples */
};

/* Returns that of an endpoint (a string) by its CPU time and the share that this is of whole_ns; by the requests' own
 * clock where samples have less, and are uneven (pt_summary_is_uneven). */
struct pt_per_request pt_per_request_of(const struct pt_profile *profile, uint32_t endpoint, uint64_t ns,
                                        const struct pt_request_sums *sums, const struct pt_share *share,
                                        uint64_t whole_ns, bool uneven);

uint32_t pt_request_columns_width(const struct pt_request_columns *columns);
void pt_print_request_heading(const struct pt_request_columns *columns);
void pt_print_requests(const struct pt_request_columns *columns, const struct pt_request_sums *sums,
                       const struct pt_per_request *each);
void pt_json_requests(struct pt_json *json, const struct pt_request_sums *sums, const struct pt_per_request *each);

/* Returns the CPU time of the requests that were measured: their exact mean; the buckets say how they spread. It is
 * without least and most. Count 0: too many were not measured. */
struct pt_several pt_request_clock(const struct pt_request_sums *sums);

/* Returns the probability (two-sided) that the means of equal runs differ as much as these, or more; 1 if too few
 * requests were measured. */
double pt_request_clocks_chance(const struct pt_several clocks[2]);

#endif
