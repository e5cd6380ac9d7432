/* SPDX-License-Identifier: Apache-2.0 */
#include "http_requests.h"

#include <string.h>

#include "selection.h"
#include "time_bins.h"

PT_DEFINE_ADD(static uint32_t add, struct pt_profile, requests, struct pt_requests, item->process, item->endpoint,
              item->interval)

static void add_sums(struct pt_request_sums *sum, const struct pt_request_sums *more)
{
    sum->count += more->count;
    sum->measured += more->measured;
    sum->cpu_ns += more->cpu_ns;
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        sum->buckets[i] += more->buckets[i];
}

void pt_add_requests(struct pt_profile *profile, const struct pt_requests *requests)
{
    struct pt_requests empty = *requests;
    empty.sums = (struct pt_request_sums){0};
    uint32_t number = add(profile, &empty);
    add_sums(&profile->requests.items[number].sums, &requests->sums);
}

void pt_requests_cut(struct pt_request_sums *sums, const struct pt_interval *interval, const struct pt_interval *part)
{
    uint64_t *const values[] = {&sums->count, &sums->measured, &sums->cpu_ns}, start = part->start_unix_ns;
    if (part->wall_ns == interval->wall_ns)
        return;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        *values[i] = pt_interval_part(interval, *values[i], start, start + part->wall_ns);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        sums->buckets[i] = pt_interval_part(interval, sums->buckets[i], start, start + part->wall_ns);
}

bool pt_has_requests(const struct pt_profile *profile)
{
    bool all = profile->request->traces != PT_TRACES_ONLY && !pt_selects_stacks(&profile->request->select);
    for (uint32_t i = 0; all && i < profile->processes.count; i++)
        all = !profile->processes.items[i].accounting.not_selected_ns; /* of which endpoint it was is not known */
    return all && profile->requests.count;
}

struct pt_request_sums *pt_requests_by(const struct pt_profile *profile, const char *by, uint32_t process)
{
    if (strcmp(by, PT_COUNTED_BY) != 0 || !pt_has_requests(profile))
        return NULL;
    struct pt_request_sums *sums = pt_alloc(profile->strings.count, sizeof *sums);
    for (PT_EACH(const struct pt_requests, requests, &profile->requests))
        if (process == PT_NONE || requests->process == process)
            add_sums(&sums[requests->endpoint], &requests->sums);
    return sums;
}

bool pt_is_one_endpoint(const struct pt_profile *profile, uint32_t endpoint)
{
    /* Of many endpoints, other ones may be "(other)" among the samples than among the requests. Samples have no route
     * before it is found, too, whichever the request then has. */
    const char *name = pt_string(profile, endpoint);
    return endpoint && strcmp(name, PP_VALUE_OTHER) != 0 && strcmp(name, PP_UNKNOWN_ROUTE) != 0;
}

double pt_cpu_per_request(const struct pt_profile *profile, uint32_t endpoint, uint64_t cpu_ns, uint64_t requests)
{
    return pt_is_one_endpoint(profile, endpoint) && requests ? (double)cpu_ns / (double)requests : 0;
}

uint64_t pt_requests_quantile(const struct pt_request_sums *sums, double share)
{
    double wanted = 0, below = 0;
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        wanted += share * (double)sums->buckets[i];
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++) {
        double here = (double)sums->buckets[i];
        if (!(here > 0) || below + here < wanted) {
            below += here;
            continue;
        }
        uint64_t low = i ? pp_request_bucket_limit(i - 1) : 0, high = pp_request_bucket_limit(i);
        if (i + 1 == PP_HANDLER_BUCKETS) /* and all longer ones */
            return low;
        return low + (uint64_t)((double)(high - low) * (wanted - below) / here);
    }
    return 0;
}

double pt_requests_mean(const struct pt_request_sums *sums)
{
    bool all = sums->count && sums->measured == sums->count;
    return all ? (double)sums->cpu_ns / (double)sums->count : 0;
}

void pt_append_duration(struct pt_buffer *text, double ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"\u00b5s", 1e3}};
    unsigned i = 0;
    while (i < 2 && ns < 0.9995 * units[i].ns)
        i++;
    double value = ns / units[i].ns;
    pt_buffer_format(text, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].name);
}
