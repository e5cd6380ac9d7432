/* SPDX-License-Identifier: Apache-2.0 */
/* The answer on one screen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/runs.h"
#include "../model/gil_gc.h"
#include "../model/http_requests.h"
#include "../model/traces.h"
#include "../view/summary.h"
#include "own_table.h"
#include "report.h"

#define FEWEST_LINES       6   /* of the table with its heading */
#define WARNINGS           2   /* that have a line of their own */
#define COLLECTED_FROM     5.0 /* per cent: worth advice */
#define MISSING_FROM       5.0 /* per cent of the bill: worth a line */
#define ESTIMATED_FROM     5.0 /* per cent of the CPU time */
#define UNKNOWN_ROUTE_FROM 5.0
#define SMALL_SHARE        0.1 /* whose range is said */
#define LARGE_SHARE        0.5
#define RAGGED             12 /* columns of a wrapped line that may be empty: its indent, and a word that did not fit */
#define RANGE_FROM         10 /* samples: fewer tell no range */

/* What follows the table. */
struct facts {
    PT_TABLE_OF(struct fact {
        const char *word;
        char *text;
    })
    items; /* word: in colour; NULL: none */
    uint32_t warnings;
};

static void __attribute__((format(printf, 3, 4))) add(struct facts *facts, const char *word, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *PT_APPEND(&facts->items) = (struct fact){word, pt_format(format, arguments)};
    va_end(arguments);
}

static void facts_free(struct facts *facts)
{
    for (uint32_t i = 0; i < facts->items.count; i++)
        free(facts->items.items[i].text);
    PT_FREE_TABLE(&facts->items);
}

/* Says in which code the CPU was, and what is worth a line of its own. */
static void add_code(struct facts *facts, const struct pt_report *report)
{
    struct pt_report_code code = pt_report_code_of(report->profile);
    struct pt_states states = pt_states_of(report->profile, PT_NONE);
    double collected = pt_percent(states.gc_ns, states.gc_known_ns);
    PT_AUTO_BUFFER text = {0};
    if (code.interpreter_ns || code.library_ns || code.jit_ns) {
        pt_buffer_format(&text, "; native code: Python's own %.1f %%, libraries %.1f %%",
                         pt_percent(code.interpreter_ns, report->whole_ns),
                         pt_percent(code.library_ns, report->whole_ns));
        if (code.jit_ns)
            pt_buffer_format(&text, ", of JITs %.1f %%", pt_percent(code.jit_ns, report->whole_ns));
        pt_report_append_pseudo(&text, report, true);
    }
    if (states.gil_known_ns)
        pt_buffer_format(&text, "; GIL held: %.1f %%", pt_percent(states.gil_ns, states.gil_known_ns));
    if (text.length) {
        text.data[2] = text.data[2] == 'n' ? 'N' : text.data[2];
        add(facts, NULL, "%s", text.data + 2);
    }
    if (collected >= COLLECTED_FROM)
        add(facts, NULL, "Garbage collection, in all rows: %.1f %%: gc.freeze() or gc.set_threshold() lowers it",
            collected);
    else if (states.gc_known_ns)
        add(facts, NULL, "Garbage collection, in all rows: %.1f %%", collected);
}

static void add_waiting(struct facts *facts, const struct pt_report *report)
{
    const struct pt_spinning *spinning = &report->profile->spinning;
    double waited = pt_report_waited(report), spun = pt_percent(spinning->ns, report->whole_ns);
    if (waited > 0)
        add(facts, NULL, "Waited: %.0f %% of %.2f s, without CPU; for what: py-spy dump --pid PID", waited,
            pt_seconds(report->sum.wall_ns));
    if (spun >= PT_SPINS_FROM)
        add(facts, "Hint", ": %.1f %% in threads that wait in a loop; against it: %s", spun, spinning->advice);
}

/* Returns the range of a share of what was sampled: what was measured without samples is not in it. */
static struct pt_bounds range_of(const struct pt_report *report, double share)
{
    const struct pt_draws *draws = &report->draws;
    return pt_share_of(draws, (uint64_t)(share * (double)draws->count + 0.5), (uint64_t)(share * (double)draws->ns),
                       draws->ns)
        .bounds;
}

/* Says how requests get endpoints, where none has one, and what is before they have one. */
static void add_unread(struct facts *facts, const struct pt_report *report)
{
    const struct pt_unread unread = pt_unread_endpoints(report->profile);
    if (unread.package)
        add(facts, "Hint", ": app = libpyprof.%s(app) names the endpoints; %s's are not read", unread.wrapper,
            unread.package);
    else if (pt_has_endpoints(report->profile) &&
             pt_percent(pt_unknown_route_ns(report->profile), report->whole_ns) >= UNKNOWN_ROUTE_FROM)
        add(facts, NULL,
            report->profile->requests.count
                ? PP_UNKNOWN_ROUTE ": middleware, too: p50 and p99 include it, CPU/REQ does not"
                : PP_UNKNOWN_ROUTE ": before a route is found, as in middleware, or without one");
}

static void add_uncertainty(struct facts *facts, const struct pt_report *report)
{
    if (report->draws.count < RANGE_FROM)
        return;
    struct pt_bounds small = range_of(report, SMALL_SHARE), large = range_of(report, LARGE_SHARE);
    add(facts, NULL, "Samples: %" PRIu64 ": 10 %% is from %.1f to %.1f %%, 50 %% from %.1f to %.1f %% (--ci)",
        report->draws.count, small.low, small.high, large.low, large.high);
}

/* What is in no profile is not in the sums either. */
static void add_missing(struct facts *facts, const struct pt_report *report)
{
    uint64_t billed_ns = pt_summary_billed_ns(report->profile), cpu_ns = report->sum.cpu_ns;
    struct pt_open_ends ends = pt_open_ends_of(report->profile);
    PT_AUTO_BUFFER text = {0};
    if (billed_ns > cpu_ns && pt_percent(billed_ns - cpu_ns, billed_ns) >= MISSING_FROM)
        pt_buffer_format(&text, ": %.2f of %.2f s that the kernel billed the run are in no profile",
                         pt_seconds(billed_ns - cpu_ns), pt_seconds(billed_ns));
    if (ends.killed)
        pt_buffer_format(&text, "%s %" PRIu32 " process%s had not written when a signal ended %s",
                         text.length ? "; so is what" : ": what", ends.killed, pt_plural(ends.killed, "es"),
                         ends.killed == 1 ? "it" : "them");
    if (text.length)
        add(facts, "Missing", "%s", text.data);
}

static void add_accounting(struct facts *facts, const struct pt_report *report)
{
    PT_AUTO_BUFFER paused = {0};
    pt_report_append_paused(&paused, report);
    if (paused.length)
        add(facts, NULL, "%s", paused.data);
    const struct pt_accounting *sum = &report->sum;
    PT_AUTO_BUFFER own = {0};
    pt_append_duration(&own, (double)sum->own_ns);
    add(facts, NULL, "Accounted for: %.1f %% of the kernel's %.2f s; the profiler: %s (%.1f %%)",
        pt_report_accounted(report), pt_seconds(sum->cpu_ns), own.data, pt_percent(sum->own_ns, sum->cpu_ns));
    add_missing(facts, report);
    if (sum->not_selected)
        add(facts, NULL, "%.2f s are " PP_PSEUDO_NOT_SELECTED " by PYPROF_TRACES=%s: they have no stacks",
            pt_seconds(sum->not_selected_ns), pt_traces_setting(report->profile));
    if (pt_percent(sum->estimated_ns, sum->cpu_ns) >= ESTIMATED_FROM)
        add(facts, NULL, "Estimated: %.2f s of threads that ended before their first sample",
            pt_seconds(sum->estimated_ns));
}

static void add_warning(void *data, const char *text)
{
    struct facts *facts = data;
    if (facts->warnings++ < WARNINGS)
        add(facts, "Warning", ": %s", text);
}

static struct facts facts_of(const struct pt_report *report)
{
    struct facts facts = {0};
    add_code(&facts, report);
    add_waiting(&facts, report);
    add_unread(&facts, report);
    add_uncertainty(&facts, report);
    add_accounting(&facts, report);
    pt_report_warnings(report, add_warning, &facts);
    if (facts.warnings > WARNINGS)
        add(&facts, "Warning", ": %" PRIu32 " more with --full", facts.warnings - WARNINGS);
    return facts;
}

/* Returns how many lines it takes at most: not all are full. */
static uint32_t lines_of(const struct fact *fact)
{
    uint32_t wide = pt_print_columns(stdout), columns = wide && wide < PT_SCREEN_COLUMNS ? wide : PT_SCREEN_COLUMNS,
             width = pt_shown_width(fact->text) + (fact->word ? pt_shown_width(fact->word) : 0);
    return width <= columns ? 1 : 1 + width / (columns - RAGGED);
}

static void print_fact(const struct fact *fact)
{
    if (fact->word)
        pt_print_styled(stdout, PT_STYLE_WARNING, "%s", fact->word);
    pt_print_paragraph(fact->word ? pt_shown_width(fact->word) : 0, 2, "%s", fact->text);
}

void pt_report_screen(const struct pt_report *report)
{
    PT_AUTO(facts_free) struct facts facts = facts_of(report);
    PT_AUTO(pt_next_free) struct pt_next next = pt_report_next(report);
    uint32_t runs = pt_cpu_of_runs(report->profile).count;
    uint32_t used = 3 + report->profile->selected + (runs > 1) + 1 + next.count;
    for (uint32_t i = 0; i < facts.items.count; i++)
        used += lines_of(&facts.items.items[i]);
    uint32_t left = PT_SCREEN > used + FEWEST_LINES ? PT_SCREEN - used : FEWEST_LINES;
    pt_report_what_ran(report);
    if (pt_report_context(report) && !pt_report_is_one_value(report)) {
        pt_report_by_unasked(report, left - 1);
    } else {
        putchar('\n');
        pt_report_own(report, left);
    }
    putchar('\n');
    for (uint32_t i = 0; i < facts.items.count; i++)
        print_fact(&facts.items.items[i]);
    pt_next_print(report, &next);
}
