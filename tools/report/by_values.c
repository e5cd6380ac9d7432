/* SPDX-License-Identifier: Apache-2.0 */
#include "by_values.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../../preload/common/pseudo_frames.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/summary.h"
#include "awaited.h"
#include "numbered.h"
#include "sums_json.h"

#define HIDDEN_BELOW   0.05 /* per cent: shown as 0.0 % otherwise */
#define OFFERED_LENGTH 48   /* of an endpoint's name in a command */

PT_DEFINE_ORDER(by_time, struct pt_by_value,
                pt_compare(x->rank, y->rank) ?: pt_compare(y->ns, x->ns) ?: pt_compare(x->value, y->value))

PT_DEFINE_ORDER(by_each, struct pt_by_value,
                pt_compare(x->rank, y->rank) ?: pt_compare(y->each.ns, x->each.ns) ?: by_time(a, b))

static bool is_wanted(const struct pt_profile *profile, const struct pt_sample *sample, uint32_t process,
                      uint32_t thread)
{
    if (profile->keep == PT_KEEP_STACKS && sample->thread != PT_NONE) /* when a thread was busy */
        return false;
    return (thread == PT_NONE || sample->thread == thread) &&
           (process == PT_NONE || profile->threads.items[sample->thread].process == process);
}

/* Gives what is joined its row: CPU time, samples and what most is in. Requests have endpoints, which are not joined.
 */
static void join_numbered(struct pt_profile *profile, struct pt_by_values *values, struct pt_hot_functions *most)
{
    uint32_t count = profile->strings.count, capacity = count;
    PT_AUTO_FREE uint64_t *ns = pt_alloc(count, sizeof *ns);
    for (uint32_t i = 0; i < count; i++)
        ns[i] = values->items[i].ns;
    PT_AUTO_FREE uint32_t *rows = pt_join_numbered(profile, ns);
    values->items = pt_grow(values->items, &capacity, profile->strings.count, sizeof *values->items);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_by_value *from = &values->items[i], *to = &values->items[rows[i]];
        if (from == to)
            continue;
        to->ns += from->ns;
        to->count += from->count;
        *from = (struct pt_by_value){0};
    }
    pt_hot_functions_join(most, rows);
}

static enum pt_by_rank rank_of(const struct pt_profile *profile, uint32_t value)
{
    const char *text = pt_string(profile, value);
    return !value                                ? PT_BY_NONE
           : strcmp(text, PP_UNKNOWN_ROUTE) == 0 ? PT_BY_UNKNOWN_ROUTE
           : strcmp(text, PT_IMPORTS) == 0       ? PT_BY_IMPORTS
           : strcmp(text, PP_PSEUDO_PAUSED) == 0 ? PT_BY_PAUSED
                                                 : PT_BY_VALUE;
}

/* Fills in what shares are of: all, or a process or a thread only. */
static void set_whole(struct pt_by_values *values, bool all)
{
    values->whole_ns = values->report->whole_ns;
    values->draws = values->report->draws;
    if (all)
        return;
    values->whole_ns = values->draws.ns = values->draws.count = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        values->whole_ns += values->items[i].ns;
        values->draws.count += values->items[i].count;
    }
    values->draws.ns = values->whole_ns;
}

/* Fills in the rows, from the sums by string, and sorts them. */
static void sort(struct pt_by_values *values, bool all, bool for_people)
{
    const struct pt_report *report = values->report;
    set_whole(values, all);
    for (PT_EACH(struct pt_by_value, value, values)) {
        struct pt_share share = pt_by_share(values, value);
        value->rank = for_people ? rank_of(report->profile, value->value) : PT_BY_VALUE;
        values->ranked += value->rank != PT_BY_VALUE;
        value->each = pt_per_request_of(report->profile, value->value, value->ns, &value->requests, &share,
                                        values->whole_ns, values->uneven);
    }
    bool each = report->cli->sort && strcmp(report->cli->sort, PT_SORT_REQUEST) == 0;
    qsort(values->items, values->count, sizeof *values->items, each ? by_each : by_time);
}

struct pt_by_values pt_by_values_of(const struct pt_report *report, const char *by, uint32_t process, uint32_t thread,
                                    bool for_people)
{
    struct pt_profile *profile = report->profile;
    PT_AUTO(pt_group_free)
    struct pt_group group = for_people ? pt_group_without_imports(profile, by) : pt_group_by(profile, by);
    struct pt_hot_functions *most = pt_hot_functions_new(profile, by, report->cli->lines);
    struct pt_by_values values = {.report = report,
                                  .by = by,
                                  .items = pt_alloc(profile->strings.count, sizeof *values.items),
                                  .named = strcmp(by, "trace") == 0,
                                  .uneven = pt_summary_is_uneven(profile)};
    PT_AUTO_FREE struct pt_request_sums *requests = thread == PT_NONE ? pt_requests_by(profile, by, process) : NULL;
    values.counted = requests;
    PT_AUTO_FREE uint32_t *names = values.named ? pt_report_trace_names(profile) : NULL;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        if (!is_wanted(profile, sample, process, thread))
            continue;
        uint32_t value = pt_group_value(&group, sample);
        pt_hot_functions_add(most, value, sample);
        values.items[value].ns += sample->cpu_ns;
        values.items[value].count += sample->count;
    }
    if (for_people && (strcmp(by, PP_KEY_TASK) == 0 || strcmp(by, PP_KEY_GREENLET) == 0))
        join_numbered(profile, &values, most);
    PT_AUTO_FREE struct pt_hot_function *hot = pt_hot_functions_by_value(most);
    for (uint32_t i = 0; i < profile->strings.count; i++) {
        struct pt_by_value value = values.items[i];
        value.requests = requests ? requests[i] : value.requests;
        if (!value.ns && !value.count && !value.requests.count)
            continue;
        value.value = i;
        value.name = names ? names[i] : 0;
        value.most = hot[i];
        values.measured |= value.requests.measured > 0;
        values.items[values.count++] = value;
    }
    sort(&values, process == PT_NONE && thread == PT_NONE, for_people);
    pt_hot_functions_free(most);
    return values;
}

struct pt_share pt_by_share(const struct pt_by_values *values, const struct pt_by_value *value)
{
    return pt_share_of(&values->draws, value->count, value->ns, values->whole_ns);
}

const char *pt_by_text(const struct pt_by_values *values, const struct pt_by_value *value)
{
    return value->value ? pt_string(values->report->profile, value->value) : PT_NO_GROUP;
}

bool pt_by_is_shown(const struct pt_by_values *values, const struct pt_by_value *value)
{
    return value->requests.count || pt_percent(value->ns, values->whole_ns) >= HIDDEN_BELOW;
}

struct pt_awaited pt_by_awaited(const struct pt_by_values *values, const struct pt_awaits *awaits,
                                const struct pt_by_value *value)
{
    bool known = value->value && strcmp(pt_by_text(values, value), PP_UNKNOWN_ROUTE) != 0;
    return awaits && known ? pt_hot_awaited(awaits, value->value) : (struct pt_awaited){0};
}

char *pt_report_hot_endpoint(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    if (profile->selected || !pt_has_group(profile, PT_COUNTED_BY))
        return NULL;
    struct pt_by_values values = pt_by_values_of(report, PT_COUNTED_BY, PT_NONE, PT_NONE, true);
    uint32_t hottest = 0;
    for (uint32_t i = 0; !hottest && i < values.count; i++)
        hottest = values.items[i].ns && values.items[i].rank == PT_BY_VALUE ? values.items[i].value : 0;
    free(values.items);
    const char *text = pt_string(profile, hottest);
    if (!*text || strlen(text) > OFFERED_LENGTH)
        return NULL;
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            return NULL;
    struct pt_buffer pattern = pt_formatted("%s=", PT_COUNTED_BY);
    for (; *text; text++)
        pt_buffer_format(&pattern, "%s%c", strchr("\\^$.[]|()*+?{}", *text) ? "\\" : "", *text);
    pt_buffer_text(&pattern, "$");
    return pattern.data;
}

void pt_report_by_json(const struct pt_report *report, struct pt_json *json)
{
    struct pt_by_values values = pt_by_values_of(report, report->cli->request.by, PT_NONE, PT_NONE, false);
    uint32_t most = report->cli->top ? report->cli->top : UINT32_MAX;
    struct pt_awaits *awaits = pt_awaits_of(report->profile, report->cli->request.by);
    pt_json_begin(json, "by", '[');
    for (uint32_t i = 0; i < values.count && i < most; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_string(json, "value", report->profile, values.items[i].value);
        if (values.named)
            pt_json_string(json, "name", report->profile, values.items[i].name);
        pt_json_number(json, "cpu_ns", values.items[i].ns);
        pt_json_number(json, "samples", values.items[i].count);
        if (values.items[i].requests.count)
            pt_json_requests(json, &values.items[i].requests, &values.items[i].each);
        struct pt_awaited awaited = pt_by_awaited(&values, awaits, &values.items[i]);
        if (awaited.ns)
            pt_json_awaited(json, report->profile, &awaited);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_awaits_free(awaits);
    free(values.items);
}
