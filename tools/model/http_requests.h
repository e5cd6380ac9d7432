/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that a program has counted: how many an endpoint had, and how their CPU time spreads. */
#ifndef PT_MODEL_HTTP_REQUESTS_H
#define PT_MODEL_HTTP_REQUESTS_H

#include "../../preload/common/label_kinds.h"
#include "model.h"

#define PT_COUNTED_BY PP_KEY_ENDPOINT /* the word of --by whose values have requests */

/* Adds requests to those of their process and endpoint; to others if they are of another interval. */
void pt_add_requests(struct pt_profile *profile, const struct pt_requests *requests);

/* Reduces what was counted in an interval to a part of it. */
void pt_requests_cut(struct pt_request_sums *sums, const struct pt_interval *interval, const struct pt_interval *part);

/* Returns whether requests were counted, and the samples of the profile are those of all that served them. */
bool pt_has_requests(const struct pt_profile *profile);

/* Returns the sums by endpoint, a string (0: none): an item for each string of the profile; NULL if there are none, or
 * `by` has none. process: only this one's, unless PT_NONE. The caller frees. */
struct pt_request_sums *pt_requests_by(const struct pt_profile *profile, const char *by, uint32_t process);

/* Returns whether the samples of an endpoint (a string) are those of its requests: not of what is no single endpoint.
 */
bool pt_is_one_endpoint(const struct pt_profile *profile, uint32_t endpoint);

/* Returns CPU time per request of an endpoint (a string); 0: it is not known, as of what is no single endpoint. */
double pt_cpu_per_request(const struct pt_profile *profile, uint32_t endpoint, uint64_t cpu_ns, uint64_t requests);

/* Returns the CPU time that this share of the measured requests did not exceed; requests within a bucket are taken as
 * spread evenly. */
uint64_t pt_requests_quantile(const struct pt_request_sums *sums, double share);

/* Returns the CPU time of a whole request, as their threads' clocks measured it on average; 0: not all were measured.
 */
double pt_requests_mean(const struct pt_request_sums *sums);

/* Appends "9.53 ms". */
void pt_append_duration(struct pt_buffer *text, double ns);

#endif
