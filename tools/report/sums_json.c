/* SPDX-License-Identifier: Apache-2.0 */
#include "sums_json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../model/gil_gc.h"
#include "../view/summary.h"

#define MEDIAN 0.50
#define TAIL   0.99

#define SUM(name) #name, offsetof(struct pt_accounting, name)

static const struct pt_json_field sums[] = {{SUM(threads)},
                                            {SUM(exited_threads)},
                                            {SUM(samples)},
                                            {SUM(wall_ns)},
                                            {SUM(cpu_ns)},
                                            {SUM(sampled_ns)},
                                            {SUM(estimated_ns)},
                                            {SUM(uneven_ns)},
                                            {SUM(not_selected)},
                                            {SUM(not_selected_ns)},
                                            {SUM(other_labels)},
                                            {SUM(other_labels_ns)},
                                            {SUM(unsampled_ns)},
                                            {SUM(lost_samples)},
                                            {SUM(lost_ns)},
                                            {SUM(own_ns)},
                                            {SUM(thread_exit_ns)},
                                            {SUM(before_start_ns)},
                                            {SUM(removed_files)},
                                            {SUM(removed_bytes)},
                                            {SUM(mapped_bytes)},
                                            {SUM(most_mapped_bytes)},
                                            {SUM(voluntary_switches)},
                                            {SUM(involuntary_switches)},
                                            {SUM(minor_faults)},
                                            {SUM(major_faults)}};

void pt_json_states(struct pt_json *json, const struct pt_states *states)
{
    pt_json_known(json, "gil_ns", states->gil_ns, states->gil_known_ns);
    pt_json_number(json, "gil_known_ns", states->gil_known_ns);
    pt_json_known(json, "gc_ns", states->gc_ns, states->gc_known_ns);
    pt_json_number(json, "gc_known_ns", states->gc_known_ns);
}

void pt_json_sums(struct pt_json *json, const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum = pt_summary_accounting(profile, process);
    pt_json_fields(json, &sum, sums, sizeof sums / sizeof sums[0]);
    pt_json_format(json, "difference_ns", "%" PRId64, sum.difference_ns);
    pt_json_number(json, "missing_ns", pt_summary_missing_ns(profile, process));
    uint64_t billed_ns = pt_summary_billed_ns(profile);
    if (process == PT_NONE)
        pt_json_known(json, "run_billed_ns", billed_ns, billed_ns != 0);
    struct pt_states states = pt_states_of(profile, process);
    pt_json_states(json, &states);
    pt_json_begin(json, "handler_ns", '{');
    pt_json_number(json, "mean", pt_accounting_handler_mean(&sum));
    pt_json_number(json, "p50", pt_accounting_handler_quantile(&sum, MEDIAN));
    pt_json_number(json, "p99", pt_accounting_handler_quantile(&sum, TAIL));
    pt_json_number(json, "max", sum.handler_max_ns);
    pt_json_end(json, '}');
    pt_json_begin(json, "truncated", '{');
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            pt_json_number(json, pt_reason_text(i), sum.reasons[i]);
    pt_json_end(json, '}');
    pt_json_begin(json, "warnings", '[');
    pt_summary_warnings(profile, process, pt_json_element, json);
    pt_json_end(json, ']');
}

void pt_json_string(struct pt_json *json, const char *key, const struct pt_profile *profile, uint32_t string)
{
    pt_json_text(json, key, string ? pt_string(profile, string) : NULL);
}

void pt_json_versions(struct pt_json *json, struct pt_profile *profile, uint32_t process)
{
    uint32_t count, *versions = pt_summary_versions(profile, process, &count);
    pt_json_begin(json, "python_versions", '[');
    for (uint32_t i = 0; i < count; i++)
        pt_json_string(json, NULL, profile, versions[i]);
    pt_json_end(json, ']');
    free(versions);
}
