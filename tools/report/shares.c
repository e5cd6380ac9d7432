/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

#include <stdio.h>

#define PER_CENT 100

struct pt_share pt_share_of(const struct pt_draws *draws, uint64_t count, uint64_t ns, uint64_t whole_ns)
{
    struct pt_bounds bounds = pt_share_bounds(draws, count, ns, whole_ns);
    double share = whole_ns ? (double)ns / (double)whole_ns : 0;
    return (struct pt_share){{bounds.low * PER_CENT, bounds.high * PER_CENT}, bounds.high - bounds.low <= share};
}

void pt_print_interval(const struct pt_share *share)
{
    printf("  %5.1f–%-5.1f", share->bounds.low, share->bounds.high);
}

void pt_json_bounds(struct pt_json *json, const char *low, const char *high, const struct pt_share *share)
{
    pt_json_format(json, low, "%.6f", share->bounds.low / PER_CENT);
    pt_json_format(json, high, "%.6f", share->bounds.high / PER_CENT);
}
