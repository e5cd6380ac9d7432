/* SPDX-License-Identifier: Apache-2.0 */
/* Observes, ten times a second while threads without Python use CPU time, what the main thread waits in, or does
 * without the GIL: whose work a native pool does (PP_BLOCK_WAITS). Flush thread only. */
#ifndef PP_FLUSH_WAITING_H
#define PP_FLUSH_WAITING_H

#include "../log/blocks.h"

/* Observes the main thread if threads without Python frames were sampled since the last call. Returns when to call it
 * again (CLOCK_MONOTONIC); UINT64_MAX: when a handler wakes the flush thread (PP_WAKE_WAITING). */
uint64_t pp_waiting_poll(uint64_t now);
/* Writes what was observed since the last call, and forgets it. `start` and `wall` are the interval's. */
void pp_waiting_write(struct pp_buffer *out, uint64_t start_ns, uint64_t wall_ns, uint32_t *sequence);
/* Forgets what was observed: the segment's ids are void. */
void pp_waiting_forget(void);

#endif
