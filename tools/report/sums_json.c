#include "sums_json.h"

#include <stdlib.h>

#include "../view/gil_gc.h"
#include "../view/summary.h"

#define MEDIAN 0.50
#define TAIL   0.99

void pt_set_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void pt_set_known(json_t *object, const char *key, uint64_t value, uint64_t known)
{
    json_object_set_new(object, key, known ? json_integer((json_int_t)value) : json_null());
}

static void add_text(void *array, const char *text)
{
    json_array_append_new(array, json_string(text));
}

void pt_set_sums(json_t *object, const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum = pt_summary_accounting(profile, process);
    pt_set_number(object, "threads", sum.threads);
    pt_set_number(object, "exited_threads", sum.exited_threads);
    pt_set_number(object, "samples", sum.samples);
    pt_set_number(object, "wall_ns", sum.wall_ns);
    pt_set_number(object, "cpu_ns", sum.cpu_ns);
    pt_set_number(object, "sampled_ns", sum.sampled_ns);
    pt_set_number(object, "estimated_ns", sum.estimated_ns);
    pt_set_number(object, "unsampled_ns", sum.unsampled_ns);
    pt_set_number(object, "lost_samples", sum.lost_samples);
    pt_set_number(object, "lost_ns", sum.lost_ns);
    pt_set_number(object, "own_ns", sum.own_ns);
    pt_set_number(object, "thread_exit_ns", sum.thread_exit_ns);
    json_object_set_new(object, "difference_ns", json_integer(sum.difference_ns));
    pt_set_number(object, "before_start_ns", sum.before_start_ns);
    pt_set_number(object, "missing_ns", pt_summary_missing_ns(profile, process));
    pt_set_number(object, "removed_files", sum.removed_files);
    pt_set_number(object, "removed_bytes", sum.removed_bytes);
    pt_set_number(object, "mapped_bytes", sum.mapped_bytes);
    pt_set_number(object, "most_mapped_bytes", sum.most_mapped_bytes);
    pt_set_number(object, "voluntary_switches", sum.voluntary_switches);
    pt_set_number(object, "involuntary_switches", sum.involuntary_switches);
    pt_set_number(object, "minor_faults", sum.minor_faults);
    pt_set_number(object, "major_faults", sum.major_faults);

    struct pt_states states = pt_states_of(profile, process);
    pt_set_known(object, "gil_ns", states.gil_ns, states.gil_known_ns);
    pt_set_number(object, "gil_known_ns", states.gil_known_ns);
    pt_set_known(object, "gc_ns", states.gc_ns, states.gc_known_ns);
    pt_set_number(object, "gc_known_ns", states.gc_known_ns);

    json_t *handler = json_object();
    pt_set_number(handler, "mean", pt_accounting_handler_mean(&sum));
    pt_set_number(handler, "p50", pt_accounting_handler_quantile(&sum, MEDIAN));
    pt_set_number(handler, "p99", pt_accounting_handler_quantile(&sum, TAIL));
    pt_set_number(handler, "max", sum.handler_max_ns);
    json_object_set_new(object, "handler_ns", handler);

    json_t *truncated = json_object();
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            pt_set_number(truncated, pt_reason_text(i), sum.reasons[i]);
    json_object_set_new(object, "truncated", truncated);

    json_t *warnings = json_array();
    pt_summary_warnings(profile, process, add_text, warnings);
    json_object_set_new(object, "warnings", warnings);
}

json_t *pt_string_json(const struct pt_profile *profile, uint32_t string)
{
    return string ? json_string(pt_string(profile, string)) : json_null();
}

json_t *pt_versions_json(struct pt_profile *profile, uint32_t process)
{
    uint32_t count;
    uint32_t *versions = pt_summary_versions(profile, process, &count);
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, pt_string_json(profile, versions[i]));
    free(versions);
    return array;
}
