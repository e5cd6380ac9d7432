/* Keeps the cost of samples below a share of the CPU time by taking fewer of them. Costs are summed over windows of CPU
 * time; a window that cost too much multiplies the period by what brings it below the limit, some cheap windows in a
 * row halve it again, down to what is configured. Where fewer samples do not cost less, all are taken again, for good.
 * What handlers cost does not wait for the end of a window, since it follows the rate; what is done for samples later
 * may be for the first of many. Flush thread only. */
#ifndef PP_FLUSH_THROTTLE_H
#define PP_FLUSH_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define PP_THROTTLE_SOON_NS 500000000u /* of CPU time */

struct pp_throttle {
    uint64_t configured_ns, period_ns;  /* between two samples of a thread */
    uint32_t limit_ppm;                 /* of the CPU time */
    uint64_t cpu_ns, cost_ns;           /* in this window */
    uint64_t soon_cpu_ns, soon_cost_ns; /* of handlers, in a short window */
    unsigned cheap;                     /* windows in a row after which the rate could be doubled */
    uint32_t share_ppm;                 /* of the last whole window */
    uint32_t former_ppm;                /* the share before the period was raised; 0: not lately */
    unsigned unhelped;                  /* windows in a row in which that has not helped */
    bool useless;                       /* raising it has not helped */
};

void pp_throttle_reset(struct pp_throttle *throttle, uint64_t period_ns, uint32_t limit_ppm);

/* Takes what the process has used, the samples of that have cost, and handlers in them, since the last call. Returns
 * whether period_ns has changed. */
bool pp_throttle_add(struct pp_throttle *throttle, uint64_t cpu_ns, uint64_t cost_ns, uint64_t handler_ns);

#endif
