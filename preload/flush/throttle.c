#include "throttle.h"

#define PPM            1000000u
#define WINDOW_NS      5000000000u /* of CPU time: 500 samples at the usual rate */
#define SOON_NS        PP_THROTTLE_SOON_NS
#define MAX_PERIOD_NS  1000000000u
#define CHEAP_WINDOWS  3
#define CHEAP_PERMILLE 800u /* of the limit, at twice the rate */
/* Half the rate, at most, is to cost less than this part of the share before. */
#define USELESS_PERCENT 75u
#define USELESS_WINDOWS 2 /* in a row: a single window may have read the symbols of a new module */

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

/* Whether handlers alone have cost more than all may in the time of a short window, over yet or not. */
static bool handlers_exceed(struct pp_throttle *throttle, uint64_t cpu_ns, uint64_t handler_ns)
{
    throttle->soon_cpu_ns += cpu_ns;
    throttle->soon_cost_ns += handler_ns;
    uint64_t window_ns = throttle->soon_cpu_ns > SOON_NS ? throttle->soon_cpu_ns : SOON_NS;
    uint64_t share = throttle->soon_cost_ns * PPM / window_ns;
    bool exceeded = share > throttle->limit_ppm;
    if (exceeded)
        throttle->share_ppm = share < PPM ? (uint32_t)share : PPM;
    if (exceeded || throttle->soon_cpu_ns >= SOON_NS)
        throttle->soon_cpu_ns = throttle->soon_cost_ns = 0;
    return exceeded;
}

bool pp_throttle_add(struct pp_throttle *throttle, uint64_t cpu_ns, uint64_t cost_ns, uint64_t handler_ns)
{
    uint64_t period_ns = throttle->period_ns;
    throttle->cpu_ns += cpu_ns;
    throttle->cost_ns += cost_ns;
    if (handlers_exceed(throttle, cpu_ns, handler_ns)) {
        throttle->cpu_ns = throttle->cost_ns = throttle->cheap = throttle->former_ppm = 0;
        slow_down(throttle);
        return throttle->period_ns != period_ns;
    }
    if (throttle->cpu_ns < WINDOW_NS)
        return false;
    uint64_t before = throttle->period_ns, share = throttle->cost_ns * PPM / throttle->cpu_ns;
    throttle->share_ppm = share < PPM ? (uint32_t)share : PPM;
    throttle->cpu_ns = throttle->cost_ns = 0;
    bool cheap = 2 * share * 1000 <= (uint64_t)throttle->limit_ppm * CHEAP_PERMILLE;
    throttle->cheap = cheap ? throttle->cheap + 1 : 0;
    bool helped = share * 100 <= (uint64_t)throttle->former_ppm * USELESS_PERCENT;
    throttle->unhelped = throttle->former_ppm && !helped ? throttle->unhelped + 1 : 0;
    throttle->former_ppm = throttle->unhelped ? throttle->former_ppm : 0;
    if (throttle->unhelped == USELESS_WINDOWS) {
        throttle->useless = true;
        throttle->period_ns = throttle->configured_ns;
        throttle->former_ppm = 0;
    } else if (share > throttle->limit_ppm && !throttle->useless && !throttle->unhelped) {
        slow_down(throttle);
        throttle->former_ppm = throttle->share_ppm;
    } else if (throttle->cheap >= CHEAP_WINDOWS && before > throttle->configured_ns) {
        speed_up(throttle);
        throttle->cheap = 0;
    }
    return throttle->period_ns != before;
}
