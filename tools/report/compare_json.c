/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "../base/json.h"
#include "../query/group.h"
#include "compare.h"

static void put_side(struct pt_json *json, const char *key, const struct pt_side *side)
{
    const struct pt_accounting *sum = &side->sum;
    pt_json_begin(json, key, '{');
    pt_json_number(json, "start_unix_ns", side->start_unix_ns);
    pt_json_number(json, "wall_ns", side->sum.wall_ns);
    pt_json_number(json, "runs", side->run_count);
    pt_json_number(json, "samples", side->draws.count);
    pt_json_number(json, "shown_ns", side->whole_ns);
    pt_json_number(json, "cpu_ns", sum->cpu_ns);
    pt_json_number(json, "sampled_ns", sum->sampled_ns);
    pt_json_number(json, "unsampled_ns", sum->unsampled_ns);
    pt_json_number(json, "lost_ns", sum->lost_ns);
    pt_json_number(json, "own_ns", sum->own_ns);
    pt_json_number(json, "thread_exit_ns", sum->thread_exit_ns);
    pt_json_format(json, "difference_ns", "%" PRId64, sum->difference_ns);
    pt_json_end(json, '}');
}

static void put_pair(struct pt_json *json, const char *what, const char *field, const char *format,
                     const double pair[2])
{
    char key[32];
    snprintf(key, sizeof key, "%s%s%s", what, field ? "_" : "", field ? field : "");
    pt_json_begin(json, key, '[');
    for (int side = 0; side < 2; side++)
        pt_json_format(json, NULL, format, pair[side]);
    pt_json_end(json, ']');
}

/* Bounds are those of the shares, from 0 to 1. */
static void put_change(struct pt_json *json, const char *what, const struct pt_comparison *comparison,
                       const struct pt_change *change)
{
    char key[32];
    double ns[2], samples[2], low[2], high[2];
    for (int i = 0; i < 2; i++) {
        const struct pt_side *side = &comparison->sides[i];
        struct pt_bounds bounds = pt_share_bounds(&side->draws, change->counts[i], change->ns[i], side->whole_ns);
        ns[i] = (double)change->ns[i];
        samples[i] = (double)change->counts[i];
        low[i] = bounds.low;
        high[i] = bounds.high;
    }
    put_pair(json, what, "ns", "%.0f", ns);
    put_pair(json, what, "samples", "%.0f", samples);
    put_pair(json, what, "low", "%.6f", low);
    put_pair(json, what, "high", "%.6f", high);
    snprintf(key, sizeof key, "%s_chance", what);
    pt_json_format(json, key, "%.3g", change->chance);
    snprintf(key, sizeof key, "%s_significant", what);
    pt_json_bool(json, key, change->marked);
}

static void put_requests(struct pt_json *json, const struct pt_comparison *comparison, const struct pt_change *change,
                         const char *count, const char *each)
{
    double requests[2], ns[2];
    for (int i = 0; i < 2; i++) {
        requests[i] = (double)change->requests[i];
        ns[i] = 1e6 * pt_compare_value(comparison, change, i);
    }
    put_pair(json, count, NULL, "%.0f", requests);
    put_pair(json, each, "ns", "%.0f", ns);
}

/* What requests took by their own clock, beside what samples say. */
static void put_clock(struct pt_json *json, const struct pt_comparison *comparison, const struct pt_change *clock)
{
    if (!clock->requests[0] || !clock->requests[1])
        return;
    put_requests(json, comparison, clock, "measured_requests", "measured_mean");
    pt_json_format(json, "measured_chance", "%.3g", clock->chance);
    pt_json_bool(json, "measured_significant", clock->marked);
}

static void put_rows(struct pt_json *json, const char *key, const struct pt_comparison *comparison,
                     const struct pt_compared *all, uint32_t count)
{
    pt_json_begin(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        pt_json_begin(json, NULL, '{');
        if (comparison->group)
            pt_json_text(json, "value", strcmp(all[i].text, PT_NO_GROUP) == 0 ? NULL : all[i].text);
        else
            pt_json_text(json, "text", all[i].text);
        put_change(json, "self", comparison, &all[i].self);
        if (comparison->by == PT_COMPARE_REQUEST) {
            put_requests(json, comparison, &all[i].self, "requests", "cpu_per_request");
            put_clock(json, comparison, &all[i].clock);
        }
        if (all == comparison->functions && !comparison->group)
            put_change(json, "total", comparison, &all[i].total);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

void pt_comparison_json(const struct pt_comparison *comparison, const struct pt_cli *cli, FILE *out)
{
    struct pt_json json = pt_json_document(out);
    uint32_t count = cli->top && cli->top < comparison->function_count ? cli->top : comparison->function_count;
    pt_json_text(&json, "by", pt_compare_word(comparison->by));
    put_side(&json, "a", &comparison->sides[0]);
    put_side(&json, "b", &comparison->sides[1]);
    pt_json_number(&json, "tested", comparison->tested);
    if (comparison->group)
        pt_json_text(&json, "group", comparison->group);
    put_rows(&json, comparison->group ? "values" : "functions", comparison, comparison->functions, count);
    if (!comparison->group)
        put_rows(&json, "files", comparison, comparison->files, comparison->file_count);
    pt_json_end_document(&json);
}
