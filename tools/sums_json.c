#include "sums_json.h"

#include <stdlib.h>

#include "profile/states.h"
#include "profile/summary.h"

#define MEDIAN 0.50
#define TAIL   0.99

void pp_set_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void pp_set_known(json_t *object, const char *key, uint64_t value, uint64_t known)
{
    json_object_set_new(object, key, known ? json_integer((json_int_t)value) : json_null());
}

static void add_text(void *array, const char *text)
{
    json_array_append_new(array, json_string(text));
}

void pp_set_sums(json_t *object, const struct pp_profile *profile, uint32_t process)
{
    struct pp_accounting sum = pp_summary_accounting(profile, process);
    pp_set_number(object, "threads", sum.threads);
    pp_set_number(object, "exited_threads", sum.exited_threads);
    pp_set_number(object, "samples", sum.samples);
    pp_set_number(object, "wall_ns", sum.wall_ns);
    pp_set_number(object, "cpu_ns", sum.cpu_ns);
    pp_set_number(object, "sampled_ns", sum.sampled_ns);
    pp_set_number(object, "estimated_ns", sum.estimated_ns);
    pp_set_number(object, "unsampled_ns", sum.unsampled_ns);
    pp_set_number(object, "lost_samples", sum.lost_samples);
    pp_set_number(object, "lost_ns", sum.lost_ns);
    pp_set_number(object, "own_ns", sum.own_ns);
    pp_set_number(object, "thread_exit_ns", sum.thread_exit_ns);
    json_object_set_new(object, "difference_ns", json_integer(sum.difference_ns));
    pp_set_number(object, "before_start_ns", sum.before_start_ns);
    pp_set_number(object, "missing_ns", pp_summary_missing_ns(profile, process));
    pp_set_number(object, "removed_files", sum.removed_files);
    pp_set_number(object, "removed_bytes", sum.removed_bytes);
    pp_set_number(object, "mapped_bytes", sum.mapped_bytes);
    pp_set_number(object, "most_mapped_bytes", sum.most_mapped_bytes);
    pp_set_number(object, "voluntary_switches", sum.voluntary_switches);
    pp_set_number(object, "involuntary_switches", sum.involuntary_switches);
    pp_set_number(object, "minor_faults", sum.minor_faults);
    pp_set_number(object, "major_faults", sum.major_faults);

    struct pp_states states = pp_states_of(profile, process);
    pp_set_known(object, "gil_ns", states.gil_ns, states.gil_known_ns);
    pp_set_number(object, "gil_known_ns", states.gil_known_ns);
    pp_set_known(object, "gc_ns", states.gc_ns, states.gc_known_ns);
    pp_set_number(object, "gc_known_ns", states.gc_known_ns);

    json_t *handler = json_object();
    pp_set_number(handler, "mean", pp_accounting_handler_mean(&sum));
    pp_set_number(handler, "p50", pp_accounting_handler_quantile(&sum, MEDIAN));
    pp_set_number(handler, "p99", pp_accounting_handler_quantile(&sum, TAIL));
    pp_set_number(handler, "max", sum.handler_max_ns);
    json_object_set_new(object, "handler_ns", handler);

    json_t *truncated = json_object();
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            pp_set_number(truncated, pp_reason_text(i), sum.reasons[i]);
    json_object_set_new(object, "truncated", truncated);

    json_t *warnings = json_array();
    pp_summary_warnings(profile, process, add_text, warnings);
    json_object_set_new(object, "warnings", warnings);
}

json_t *pp_string_json(const struct pp_profile *profile, uint32_t string)
{
    return string ? json_string(pp_string(profile, string)) : json_null();
}

json_t *pp_versions_json(struct pp_profile *profile, uint32_t process)
{
    uint32_t count;
    uint32_t *versions = pp_summary_versions(profile, process, &count);
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, pp_string_json(profile, versions[i]));
    free(versions);
    return array;
}
