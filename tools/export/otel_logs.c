/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's logs signal, LogsData of opentelemetry-proto (logs.v1); the same bytes are an
 * ExportLogsServiceRequest. A process has a log record with the samples of traces that were kept ("snapshot"), and with
 * those of all intervals ("continuous") unless it kept nothing else. The body is a pprof profile, gzip in base64, as
 * Splunk's distributions of OpenTelemetry write it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../base/proto.h"
#include "export.h"
#include "frames.h"
#include "otlp_resource.h"

enum { DATA_RESOURCE_LOGS = 1 };
enum { RESOURCE_LOGS_SCOPES = 2 };
enum { SCOPE_LOGS_RECORDS = 2 };
enum { RECORD_TIME = 1, RECORD_BODY = 5, RECORD_ATTRIBUTES, RECORD_OBSERVED = 11 };
enum { VALUE_STRING = 1 };

enum source { CONTINUOUS, SNAPSHOT, SOURCES };

static const char *const source_names[] = {[CONTINUOUS] = "continuous", [SNAPSHOT] = "snapshot"};

/* Appends the profile's samples as a string in pprof's format. */
static void append_body(struct pt_buffer *record, struct pt_profile *profile, const struct pt_export_options *options)
{
    struct pt_export_options events = *options;
    PT_AUTO_BUFFER pprof = {0}, text = {0}, any = {0};
    FILE *stream = pt_buffer_stream(&pprof);
    events.events = true;
    pt_export_pprof(profile, &events, stream);
    fclose(stream);
    pt_buffer_base64(&text, pprof.data, pprof.length);
    pt_proto_bytes(&any, VALUE_STRING, text.data, text.length);
    pt_proto_message(record, RECORD_BODY, &any);
}

static uint64_t count_frames(const struct pt_profile *profile)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++)
        for (uint32_t node = profile->samples.items[i].node; node; node = pt_below_inlined(profile, node))
            count++;
    return count;
}

static void append_attribute(struct pt_buffer *record, const char *key, const char *value, uint64_t number)
{
    pt_otlp_append_attribute(record, RECORD_ATTRIBUTES, key, value, number);
}

/* Samples in the order of processes and sources, of which `ends` has two for each process. */
struct order {
    const struct pt_sample *samples;
    uint32_t *numbers, *ends;
};

/* Returns whether the process wrote nothing but samples of traces on purpose. */
static bool is_only_snapshot(const struct pt_profile *profile, const struct pt_process *process)
{
    return strstr(pt_string(profile, process->traces), ",only");
}

/* Gives the profile the samples of a record. */
static void set_samples(struct pt_profile *profile, const struct order *order, uint32_t group)
{
    uint32_t count;
    free(pt_take_samples(profile, &count));
    for (uint32_t i = group ? order->ends[group - 1] : 0; i < order->ends[group]; i++)
        pt_append_sample(profile, &order->samples[order->numbers[i]]);
}

static void put_process(struct pt_profile *profile, const struct order *order, uint32_t number,
                        const struct pt_export_options *options, FILE *out)
{
    const struct pt_process process = profile->processes.items[number];
    PT_AUTO_BUFFER resource = {0}, scope = {0}, whole = {0};
    uint64_t shown_ns = 0;
    pt_otlp_append_scope(&scope, "otel.profiling");
    size_t empty = scope.length;
    for (enum source source = CONTINUOUS; source < SOURCES; source++) {
        set_samples(profile, order, number * SOURCES + source);
        if (!profile->samples.count || (source == CONTINUOUS && is_only_snapshot(profile, &process)))
            continue;
        /* The profile's samples are those of the record. */
        struct pt_buffer record = {0};
        pt_proto_fixed64(&record, RECORD_TIME, process.end_unix_ns);
        append_body(&record, profile, options);
        append_attribute(&record, "profiling.data.format", "pprof-gzip-base64", 0);
        append_attribute(&record, "profiling.data.type", "cpu", 0);
        append_attribute(&record, "com.splunk.sourcetype", "otel.profiling", 0);
        append_attribute(&record, "profiling.data.total.frame.count", NULL, count_frames(profile));
        append_attribute(&record, "profiling.instrumentation.source", source_names[source], 0);
        pt_proto_fixed64(&record, RECORD_OBSERVED, process.end_unix_ns);
        pt_proto_message(&scope, SCOPE_LOGS_RECORDS, &record);
        pt_buffer_free(&record);
        if (source == CONTINUOUS || !shown_ns)
            shown_ns = pt_profile_cpu_ns(profile);
    }
    if (scope.length > empty) {
        pt_otlp_append_resource(&resource, profile, number, shown_ns);
        pt_proto_message(&resource, RESOURCE_LOGS_SCOPES, &scope);
        pt_proto_message(&whole, DATA_RESOURCE_LOGS, &resource);
        fwrite(whole.data, 1, whole.length, out);
    }
}

void pt_export_otel_logs(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    uint32_t count, left, groups = profile->processes.count * SOURCES;
    PT_AUTO_FREE struct pt_sample *samples = pt_take_samples(profile, &count);
    struct order order = {.samples = samples};
    PT_AUTO_FREE uint32_t *group_of = pt_alloc(count, sizeof *group_of);
    for (uint32_t i = 0; i < count; i++)
        group_of[i] = profile->threads.items[samples[i].thread].process * SOURCES +
                      (samples[i].state & PT_STATE_TRACED ? SNAPSHOT : CONTINUOUS);
    order.numbers = pt_bucket_sort(group_of, sizeof *group_of, 0, count, groups, &order.ends);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        put_process(profile, &order, i, options, out);
    free(pt_take_samples(profile, &left));
    for (uint32_t i = 0; i < count; i++)
        pt_append_sample(profile, &samples[i]);
    free(order.numbers);
    free(order.ends);
}
