/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/print.h"
#include "../load/runs.h"
#include "../model/http_requests.h"
#include "../model/traces.h"
#include "../view/summary.h"
#include "../view/trace_sources.h"
#include "report.h"

#define SHOWN              0.0005 /* seconds: half of the last decimal */
#define ESTIMATED_PERCENT  0.5    /* of the CPU time, from which on it is mentioned */
#define DIFFERENCE_PERCENT 0.5    /* from which on the sums are shown */
#define UNSEEN_PERCENT     5.0    /* that was lost or not sampled, from which on the sums are shown */
#define REASON_PERCENT     2.0    /* of the samples, from which on it is said why stacks are not complete */

static void print_warning(void *data, const char *text)
{
    (void)data;
    pt_print_styled(stdout, PT_STYLE_WARNING, "Warning");
    pt_print_paragraph((uint32_t)strlen("Warning"), 2, ": %s.", text);
}

static uint64_t difference_of(const struct pt_accounting *sum)
{
    return (uint64_t)(sum->difference_ns < 0 ? -sum->difference_ns : sum->difference_ns);
}

static void print_sums(const struct pt_accounting *sum)
{
    double difference = (double)sum->difference_ns / 1e9;
    if (difference > -SHOWN && difference < SHOWN)
        difference = 0; /* never "-0.000" */
    printf("  sampled %.3f + unsampled %.3f + lost %.3f + own %.3f\n"
           "  + thread exit %.3f + difference %.3f = %.3f s CPU\n",
           pt_seconds(sum->sampled_ns), pt_seconds(sum->unsampled_ns), pt_seconds(sum->lost_ns),
           pt_seconds(sum->own_ns), pt_seconds(sum->thread_exit_ns), difference, pt_seconds(sum->cpu_ns));
}

/* Prints what was not read of stacks, or went wrong, unless it is too little to matter. */
static void print_reasons(const struct pt_accounting *sum)
{
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++) {
        bool of_samples = i < PP_REASON_LOST_RING_FULL || i >= PP_REASON_FIRST_CONTEXT; /* that are counted */
        if (!sum->reasons[i] || (of_samples && pt_percent(sum->reasons[i], sum->samples) < REASON_PERCENT))
            continue;
        printf("  %s: %" PRIu64, pt_reason_text(i), sum->reasons[i]);
        if (of_samples)
            printf(" (%.2f %% of samples)", pt_percent(sum->reasons[i], sum->samples));
        putchar('\n');
    }
}

static void print_bill(const struct pt_report *report)
{
    uint64_t billed_ns = pt_summary_billed_ns(report->profile), cpu_ns = report->sum.cpu_ns;
    if (billed_ns > cpu_ns)
        pt_print_paragraph(
            0, 2,
            "The kernel billed the whole run at least %.3f s: these %.3f s, and at least %.3f s (%.1f %%) that no "
            "profile has: starts before Python, ends of processes, programs without Python, what killed processes had "
            "not written",
            pt_seconds(billed_ns), pt_seconds(cpu_ns), pt_seconds(billed_ns - cpu_ns),
            pt_percent(billed_ns - cpu_ns, billed_ns));
}

static void print_open_ends(const struct pt_profile *profile)
{
    struct pt_open_ends ends = pt_open_ends_of(profile);
    PT_AUTO_BUFFER text = {0};
    pt_open_ends_append(&text, &ends);
    if (text.length)
        printf("  of %u process%s: %s%s\n", profile->processes.count, pt_plural(profile->processes.count, "es"),
               text.data, ends.killed ? "; what was not written by then is missing" : "");
}

double pt_report_accounted(const struct pt_report *report)
{
    const struct pt_accounting *sum = &report->sum;
    uint64_t difference = difference_of(sum);
    return pt_percent(sum->cpu_ns > difference ? sum->cpu_ns - difference : 0, sum->cpu_ns);
}

void pt_report_append_paused(struct pt_buffer *text, const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t ns = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[sample->node].frame];
        if (sample->node && frame->kind == PP_FRAME_PSEUDO &&
            strcmp(pt_string(profile, frame->subject), PP_PSEUDO_PAUSED) == 0)
            ns += sample->cpu_ns;
    }
    if (ns)
        pt_buffer_format(text, "Paused: %.2f s (%.1f %%), which all shares are of, too; without: --ignore paused",
                         pt_seconds(ns), pt_percent(ns, report->whole_ns));
}

void pt_report_warnings(const struct pt_report *report, void (*each)(void *data, const char *text), void *data)
{
    PT_AUTO_BUFFER no_traces = {0};
    pt_summary_warnings(report->profile, PT_NONE, each, data);
    pt_trace_sources_append(&no_traces, report->profile, PT_NONE, PT_NONE);
    if (no_traces.length)
        each(data, no_traces.data);
}

void pt_report_accounting(const struct pt_report *report)
{
    const struct pt_accounting *sum = &report->sum;
    uint64_t difference = difference_of(sum);
    struct pt_buffer own = {0};
    pt_append_duration(&own, (double)sum->own_ns);
    putchar('\n');
    pt_print_paragraph(
        0, 2,
        "%.1f %% of the kernel's %.2f s since Python's start%s accounted for; the profiler used %s of it (%.1f %%), "
        "which no share includes",
        pt_report_accounted(report), pt_seconds(sum->cpu_ns), report->profile->selected ? " (all that ran)" : "",
        own.data, pt_percent(sum->own_ns, sum->cpu_ns));
    pt_buffer_free(&own);
    if (pt_percent(difference, sum->cpu_ns) > DIFFERENCE_PERCENT ||
        pt_percent(sum->unsampled_ns + sum->lost_ns, sum->cpu_ns) > UNSEEN_PERCENT)
        print_sums(sum);
    print_bill(report);
    if (pt_percent(sum->estimated_ns, sum->cpu_ns) > ESTIMATED_PERCENT)
        pt_print_paragraph(0, 2,
                           "%.2f s are an estimate: short threads mostly end before their first sample, so their "
                           "time goes to stacks that were seen in threads like them",
                           pt_seconds(sum->estimated_ns));
    if (sum->not_selected)
        pt_print_paragraph(0, 2,
                           "%.2f s in %" PRIu64 " samples are " PP_PSEUDO_NOT_SELECTED
                           ": PYPROF_TRACES=%s keeps stacks of selected traces only",
                           pt_seconds(sum->not_selected_ns), sum->not_selected, pt_traces_setting(report->profile));
    uint32_t processes = 0;
    for (uint32_t i = 0; i < report->profile->processes.count; i++)
        processes += report->profile->processes.items[i].accounting.other_labels_ns != 0;
    if (processes)
        pt_print_paragraph(0, 2,
                           "%" PRIu64 " samples of %.2f s have a label (other): more than 1,000 combinations of labels "
                           "in %u process%s",
                           sum->other_labels, pt_seconds(sum->other_labels_ns), processes, pt_plural(processes, "es"));
    PT_AUTO_BUFFER paused = {0};
    pt_report_append_paused(&paused, report);
    if (paused.length)
        pt_print_paragraph(0, 2, "%s", paused.data);
    print_reasons(sum);
    print_open_ends(report->profile);
    pt_report_warnings(report, print_warning, NULL);
}
