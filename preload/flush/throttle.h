/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the cost of samples below a share of the CPU time by taking fewer of them. The cost is the handlers'. What the
 * flush thread does for samples later takes about as long (0.3 to 1.2 times where it was measured), and the rest of
 * what it does, as to read the symbols of a library, would not become less. Costs are summed over windows of CPU time.
 * As soon as they exceed what the window so far may cost, the period is scaled up until the cost meets the limit; some
 * cheap windows in a row halve it again, down to what is configured. Flush thread only. */
#ifndef PP_FLUSH_THROTTLE_H
#define PP_FLUSH_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define PP_THROTTLE_SOON_NS 500000000u /* of CPU time, whose cost is allowed from the start of a window */

struct pp_throttle {
    uint64_t configured_ns, period_ns; /* between two samples of a thread */
    uint32_t limit_ppm;                /* of the CPU time */
    uint64_t cpu_ns, cost_ns;          /* in this window */
    unsigned cheap;                    /* windows in a row after which the rate could be doubled */
    uint32_t share_ppm;                /* at the last decision */
};

void pp_throttle_reset(struct pp_throttle *throttle, uint64_t period_ns, uint32_t limit_ppm);

/* Takes what the process has used since the last call, the number of its samples and what they have cost. Returns
 * whether period_ns has changed. */
bool pp_throttle_add(struct pp_throttle *throttle, uint64_t cpu_ns, uint64_t samples, uint64_t cost_ns);

#endif
