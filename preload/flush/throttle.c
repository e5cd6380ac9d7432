/* SPDX-License-Identifier: Apache-2.0 */
#include "throttle.h"

#define PPM            1000000u
#define WINDOW_NS      5000000000u /* of CPU time: 500 samples at the usual rate */
#define MAX_PERIOD_NS  1000000000u
#define CHEAP_WINDOWS  3
#define CHEAP_PERMILLE 800u /* of the limit, at twice the rate */

void pp_throttle_reset(struct pp_throttle *throttle, uint64_t period_ns, uint32_t limit_ppm)
{
    *throttle = (struct pp_throttle){.configured_ns = period_ns, .period_ns = period_ns, .limit_ppm = limit_ppm};
}

/* What a sample costs does not depend on the rate, so the share is proportional to it. */
static void slow_down(struct pp_throttle *throttle)
{
    for (uint64_t share = throttle->share_ppm; share > throttle->limit_ppm && throttle->period_ns < MAX_PERIOD_NS;
         share /= 2)
        throttle->period_ns *= 2;
    if (throttle->period_ns > MAX_PERIOD_NS && throttle->configured_ns <= MAX_PERIOD_NS)
        throttle->period_ns = MAX_PERIOD_NS;
}

static void speed_up(struct pp_throttle *throttle)
{
    throttle->period_ns /= 2;
    if (throttle->period_ns < throttle->configured_ns)
        throttle->period_ns = throttle->configured_ns;
}

bool pp_throttle_add(struct pp_throttle *throttle, uint64_t cpu_ns, uint64_t samples, uint64_t cost_ns)
{
    uint64_t before_ns = throttle->period_ns, due_ns = samples * before_ns;
    /* a short thread may be sampled at once, at any rate: such samples count as if they came at the rate */
    throttle->cpu_ns += cpu_ns > due_ns ? cpu_ns : due_ns;
    throttle->cost_ns += cost_ns;
    uint64_t window_ns = throttle->cpu_ns > PP_THROTTLE_SOON_NS ? throttle->cpu_ns : PP_THROTTLE_SOON_NS;
    uint64_t share = throttle->cost_ns * PPM / window_ns;
    bool exceeded = share > throttle->limit_ppm;
    if (!exceeded && throttle->cpu_ns < WINDOW_NS)
        return false;
    throttle->share_ppm = share < PPM ? (uint32_t)share : PPM;
    throttle->cpu_ns = throttle->cost_ns = 0;
    bool cheap = 2 * share * 1000 <= (uint64_t)throttle->limit_ppm * CHEAP_PERMILLE;
    throttle->cheap = cheap ? throttle->cheap + 1 : 0;
    if (exceeded) {
        slow_down(throttle);
    } else if (throttle->cheap >= CHEAP_WINDOWS) {
        speed_up(throttle);
        throttle->cheap = 0;
    }
    return throttle->period_ns != before_ns;
}
