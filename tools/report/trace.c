/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of `report --trace ID`: when and where it ran, and the CPU time of its spans. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../base/print.h"
#include "../model/traces.h"
#include "../query/group.h"
#include "../view/summary.h"
#include "report.h"
#include "sums_json.h"

#define SPAN_DIGITS 16
#define FEW_SAMPLES 100

struct span {
    uint32_t id, name; /* strings; name 0: not known */
    uint64_t ns, count, first_unix_ns, last_unix_ns;
};

struct spans {
    PT_TABLE_OF(struct span) items;
    struct span all; /* id: the trace's */
    uint32_t processes, threads;
};
PT_DEFINE_ADD(static uint32_t add_span, struct spans, items, struct span, item->id)

static void take(struct span *span, const struct pt_sample *sample, uint64_t unix_ns)
{
    if (!span->count || unix_ns < span->first_unix_ns)
        span->first_unix_ns = unix_ns;
    if (unix_ns > span->last_unix_ns)
        span->last_unix_ns = unix_ns;
    span->ns += sample->cpu_ns;
    span->count += sample->count;
}

PT_DEFINE_ORDER(by_time, struct span,
                pt_compare(y->ns, x->ns) ?: pt_compare(x->first_unix_ns, y->first_unix_ns) ?: pt_compare(x->id, y->id))

/* Returns the spans of the trace, those with most CPU time first. The caller frees the items. */
static struct spans spans_of(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    PT_AUTO(pt_group_free) struct pt_group names = pt_group_by(profile, PP_KEY_SPAN);
    struct spans spans = {0};
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        struct pt_trace_ids ids = pt_trace_ids_of(profile, sample);
        uint32_t number = add_span(&spans, &(struct span){.id = ids.span});
        struct span *span = &spans.items.items[number];
        uint64_t unix_ns = pt_sample_unix_ns(profile, sample);
        uint32_t name = pt_group_value(&names, sample);
        span->name = name ? name : span->name;
        spans.all.id = ids.trace;
        take(span, sample, unix_ns);
        take(&spans.all, sample, unix_ns);
    }
    /* Counts the processes and threads of the samples. */
    bool *threads = pt_alloc(profile->threads.count, sizeof *threads),
         *processes = pt_alloc(profile->processes.count, sizeof *processes);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t thread = profile->samples.items[i].thread, process = profile->threads.items[thread].process;
        spans.threads += !threads[thread];
        spans.processes += !processes[process];
        threads[thread] = processes[process] = true;
    }
    free(processes);
    free(threads);
    qsort(spans.items.items, spans.items.count, sizeof *spans.items.items, by_time);
    return spans;
}

uint32_t *pt_report_trace_names(struct pt_profile *profile)
{
    static const char *const contexts[] = {PP_KEY_SPAN, PP_KEY_ENDPOINT}; /* that of the endpoint counts */
    uint32_t strings = profile->strings.count, *names = pt_alloc(strings, sizeof *names);
    PT_AUTO_FREE uint64_t *first_unix_ns = pt_alloc(strings, sizeof *first_unix_ns);
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, contexts[i]);
        memset(first_unix_ns, 0xff, strings * sizeof *first_unix_ns);
        for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
            uint32_t trace = pt_trace_ids_of(profile, sample).trace, name = pt_group_value(&group, sample);
            uint64_t unix_ns = pt_sample_unix_ns(profile, sample);
            if (!name || unix_ns >= first_unix_ns[trace])
                continue;
            first_unix_ns[trace] = unix_ns;
            names[trace] = name;
        }
    }
    return names;
}

static double seconds_between(uint64_t from, uint64_t to)
{
    return to > from ? pt_seconds(to - from) : 0;
}

static void print_span(const struct pt_report *report, const struct spans *spans, const struct span *span)
{
    double percent = pt_percent(span->ns, report->whole_ns);
    pt_print_styled(stdout, pt_style_of_share(percent), "%7.2f s %5.1f %%", pt_seconds(span->ns), percent);
    int used = 17 + printf("%8" PRIu64 " %9.3f s %9.3f s  %-*s  ", span->count,
                           seconds_between(spans->all.first_unix_ns, span->first_unix_ns),
                           seconds_between(spans->all.first_unix_ns, span->last_unix_ns), SPAN_DIGITS,
                           span->id ? pt_string(report->profile, span->id) : PT_NO_GROUP);
    const char *name = span->name ? pt_string(report->profile, span->name) : PT_NO_GROUP;
    pt_print_text(stdout, name, (uint32_t)used, PT_STYLE_PLAIN);
}

void pt_report_trace(const struct pt_report *report)
{
    struct spans spans = spans_of(report);
    const struct span *all = &spans.all;
    uint32_t shown = spans.items.count < report->top ? spans.items.count : report->top;
    putchar('\n');
    pt_print_styled(stdout, PT_STYLE_HEADING, "Trace %s\n", pt_string(report->profile, all->id));
    pt_print_paragraph(0, 2,
                       "%" PRIu64 " sample%s of %.2f s CPU in %u process%s and %u thread%s; the first after %.3f s of "
                       "the run, the last %.3f s later",
                       all->count, pt_plural(all->count, "s"), pt_seconds(all->ns), spans.processes,
                       pt_plural(spans.processes, "es"), spans.threads, pt_plural(spans.threads, "s"),
                       seconds_between(report->profile->run_start_unix_ns, all->first_unix_ns),
                       seconds_between(all->first_unix_ns, all->last_unix_ns));
    if (all->count == 1) {
        pt_print_paragraph(0, 2, "One sample represents %.0f ms of CPU: this trace may have used far less, or more",
                           1000 * pt_seconds(all->ns));
    } else if (all->count < FEW_SAMPLES) {
        struct pt_bounds half = pt_share_bounds(&report->draws, all->count / 2, all->ns / 2, all->ns);
        pt_print_paragraph(0, 2, "Few samples: what is shown as 50 %% may be %.0f to %.0f %% (--ci: of each row)",
                           100 * half.low, 100 * half.high);
    }
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%8s %11s %11s  %-*s  NAME\n", "CPU", "SAMPLES", "FIRST", "LAST",
                    SPAN_DIGITS, "SPAN");
    for (uint32_t i = 0; i < shown; i++)
        print_span(report, &spans, &spans.items.items[i]);
    if (shown < spans.items.count)
        printf("%27sand %" PRIu32 " more (--top %" PRIu32 ")\n", "", spans.items.count - shown, spans.items.count);
    PT_FREE_TABLE(&spans.items);
}

static void put_sums(struct pt_json *json, const struct span *span)
{
    pt_json_number(json, "cpu_ns", span->ns);
    pt_json_number(json, "samples", span->count);
    pt_json_number(json, "first_unix_ns", span->first_unix_ns);
    pt_json_number(json, "last_unix_ns", span->last_unix_ns);
}

void pt_report_trace_json(const struct pt_report *report, struct pt_json *json)
{
    struct spans spans = spans_of(report);
    uint32_t most = report->cli->top ? report->cli->top : UINT32_MAX;
    pt_json_begin(json, "trace", '{');
    pt_json_string(json, "trace_id", report->profile, spans.all.id);
    put_sums(json, &spans.all);
    pt_json_number(json, "processes", spans.processes);
    pt_json_number(json, "threads", spans.threads);
    pt_json_begin(json, "spans", '[');
    for (uint32_t i = 0; i < spans.items.count && i < most; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_string(json, "span_id", report->profile, spans.items.items[i].id);
        pt_json_string(json, "name", report->profile, spans.items.items[i].name);
        put_sums(json, &spans.items.items[i]);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_json_end(json, '}');
    PT_FREE_TABLE(&spans.items);
}
