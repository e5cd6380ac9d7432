/* How often samples are taken: as configured, or less often where they cost too much (throttle.h). Flush thread only.
 */
#ifndef PP_FLUSH_RATE_H
#define PP_FLUSH_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* When a flush thread begins; first: in this process. */
void pp_rate_start(bool first);
/* cpu_ns: used by the process; by handlers; by what else is done for each sample; all since the start. */
void pp_rate_keep_cost_down(uint64_t cpu_ns, uint64_t handler_ns, uint64_t others_ns);

#endif
