/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the program's requests by endpoint, between pyprof_request and the log. Its memory is constant. */
#ifndef PP_FLUSH_REQUESTS_H
#define PP_FLUSH_REQUESTS_H

#include "../log/tables.h"
#include <stdbool.h>
#include <stdint.h>

#define PP_REQUEST_ENDPOINTS 1000u /* of a process; all later ones are "(other)" */

/* Counts a request that has ended. endpoint NULL or "": it belongs to none; cpu_ns 0: its CPU time is not known. Does
 * nothing in a process without a flush thread. Any thread; async-signal-safe. */
void pp_requests_add(const char *endpoint, uint64_t cpu_ns);

/* Returns whether requests were counted that have not been taken. async-signal-safe. */
bool pp_requests_waiting(void);
/* Takes what was counted as the records of a PP_BLOCK_REQUESTS, whose names are defined in the tables. Flush thread
 * only. */
void pp_requests_consume(struct pp_tables *tables, struct pp_buffer *records);
/* Leaves what was counted to the parent. Runs in the child of fork. */
void pp_requests_after_fork(void);

#endif
