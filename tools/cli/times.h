/* SPDX-License-Identifier: Apache-2.0 */
/* Parses moments and lengths of time, as options take them. */
#ifndef PT_CLI_TIMES_H
#define PT_CLI_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "../model/request.h"

/* Parses a length of time like "90" (seconds), "1.5s", "1m30s" or "250ms" into nanoseconds. */
bool pt_parse_duration(const char *text, uint64_t *ns);

/* Parses a moment: a time of the run like "1m30s"; "-5m", so long before its end; "ready"; a time of day, which is the
 * latest that is not after now_unix_ns; a date, "yesterday" or "today", with or without a time of day. Times of day are
 * local unless "Z" or an offset like "+01:00" follows. */
bool pt_parse_when(const char *text, uint64_t now_unix_ns, struct pt_when *when);

#endif
