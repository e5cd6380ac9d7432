/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what the processes of a directory use, for /metrics and the page: of all of them, whatever run they belong to.
 * It reads each byte of their logs once. What the reader knows grows with every process that ever ran: when that has
 * doubled, it begins again with the logs of those that still run, and the counters go on.
 */
#ifndef PT_SERVE_COUNTERS_H
#define PT_SERVE_COUNTERS_H

#include "../sent/state.h"

#define PT_MOST_ENDPOINTS 100 /* others are one, "(others)" */
#define PT_MOST_PROCESSES 100 /* that are listed */

/* Sums that never become less. */
struct pt_counted {
    uint64_t cpu_ns, samples, lost_samples, lost_ns, unsampled_ns, own_ns;
};

/* By the process's number in the reader's profile. */
struct pt_counted_process {
    char *instance;
    struct pt_counted last;
    uint64_t busy_ns, busy_unix_ns; /* its CPU time when `cores` was computed */
    double cores;                   /* that it used lately */
};

struct pt_counted_endpoint {
    char *service, *endpoint; /* service: as the environment names it, or "" */
    uint64_t cpu_ns, samples, requests;
};

struct pt_counters {
    char *directory;
    struct pt_follow *follow;
    struct pt_load_request request;
    uint64_t began_unix_ns; /* samples before are in no endpoint's sums */
    uint64_t since_unix_ns; /* likewise, of logs that had been silent when the reader began */
    uint64_t now_unix_ns, read_ns;
    uint64_t spare; /* nodes that the reader may know besides twice those that it began with */
    uint32_t begins;
    struct pt_push_state places;                               /* of the logs, when the reader began again */
    PT_TABLE_OF(struct pt_counted_process) processes, earlier; /* earlier: as they were then */
    PT_TABLE_OF(struct pt_counted_endpoint) endpoints;
    struct pt_counted sum;
    uint64_t disk_bytes, disk_files;
};

/* *counters must be {0}; pt_counters_free ends it. spare 0: the default. */
void pt_counters_begin(struct pt_counters *counters, const char *directory, uint64_t spare);

/* Reads what the logs have gained; at most once a second. */
void pt_counters_read(struct pt_counters *counters);

/* Append the counters, in Prometheus' text format and as JSON. */
void pt_counters_metrics(const struct pt_counters *counters, struct pt_buffer *text);
void pt_counters_status(const struct pt_counters *counters, struct pt_buffer *text);

void pt_counters_free(struct pt_counters *counters);

#endif
