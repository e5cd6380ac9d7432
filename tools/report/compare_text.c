/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/summary.h"
#include "compare.h"

#define TOP              20
#define ON_SCREEN        10 /* rows of the answer on one screen */
#define LARGEST          3  /* shown where no change is more than chance */
#define SIDE_INDENTATION 3
#define FAILURES_NAMED   10

static void print_side(FILE *out, char letter, const struct pt_side *side)
{
    char start[32] = "";
    time_t when = (time_t)(side->start_unix_ns / PT_SECOND);
    struct tm local;
    if (localtime_r(&when, &local))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S", &local);
    int used = fprintf(out, "%c  %s  ", letter, start);
    if (side->runs.count > 1)
        pt_put_paragraph(out, (uint32_t)used, SIDE_INDENTATION,
                         "%" PRIu32 " runs of %.2f to %.2f s CPU, %" PRIu64 " samples", side->runs.count,
                         side->runs.least, side->runs.most, side->draws.count);
    else
        pt_put_paragraph(out, (uint32_t)used, SIDE_INDENTATION, "%.2f s CPU in %.2f s, %" PRIu64 " sample%s",
                         pt_seconds(side->whole_ns), pt_seconds(side->sum.wall_ns), side->draws.count,
                         pt_plural(side->draws.count, "s"));
}

static const char *command_of(const struct pt_side *side)
{
    return pt_string(side->profile, pt_summary_first_process(side->profile)->command_line);
}

/* The sides, and what ran: a line if it is the same. */
static void print_sides(FILE *out, const struct pt_side sides[2])
{
    bool same = strcmp(command_of(&sides[0]), command_of(&sides[1])) == 0;
    for (int i = 0; i < 2; i++) {
        print_side(out, "AB"[i], &sides[i]);
        if (i == 0 && same)
            continue;
        fprintf(out, "%*s", SIDE_INDENTATION, "");
        pt_print_text(out, command_of(&sides[i]), SIDE_INDENTATION, PT_STYLE_FAINT);
    }
}

struct table {
    const struct pt_comparison *comparison;
    FILE *out;
    int digits;
    uint32_t most; /* rows */
};

/* Rounds to the digits of the table, so that the change in a row is that of the values in it. */
static double printed(const struct table *table, double value)
{
    double of = pow(10, table->digits);
    return rint(value * of) / of;
}

static int print_change(const struct table *table, const struct pt_change *change)
{
    double before = printed(table, pt_compare_value(table->comparison, change, 0)),
           after = printed(table, pt_compare_value(table->comparison, change, 1));
    return fprintf(table->out, "%7.*f%7.*f%+8.*f%c ", table->digits, before, table->digits, after, table->digits,
                   after - before, change->marked ? '*' : ' ');
}

static bool is_marked(const struct pt_compared *one)
{
    return one->self.marked || one->total.marked || one->clock.marked;
}

static bool has_changed(const struct pt_comparison *comparison, const struct pt_compared *one)
{
    return fabs(pt_compare_change(comparison, &one->self)) > 0 || fabs(pt_compare_change(comparison, &one->total)) > 0;
}

/* Says below a row how its requests' own clock has changed. */
static void print_clock(const struct table *table, const struct pt_compared *one)
{
    PT_AUTO_BUFFER text = {0};
    double before = one->clocks[0].mean, after = one->clocks[1].mean;
    int used = fprintf(table->out, "%8s%+5.0f %%* ", "", 100 * (after - before) / before);
    pt_append_duration(&text, before);
    pt_buffer_text(&text, ", then ");
    pt_append_duration(&text, after);
    pt_buffer_text(&text, " by the requests' own clock (mean)");
    pt_print_text(table->out, text.data, (uint32_t)used, PT_STYLE_PLAIN);
}

/* Returns how many rows are shown: as many as --top says, those that are more than chance, or the largest changes. */
static uint32_t rows_shown(const struct table *table, const struct pt_compared *all, uint32_t count, uint32_t marked,
                           uint32_t top)
{
    uint32_t changed = 0;
    if (top)
        return top < count ? top : count;
    if (marked)
        return marked < table->most ? marked : table->most;
    while (changed < count && changed < LARGEST && has_changed(table->comparison, &all[changed]))
        changed++;
    return changed;
}

static void print_rows(const struct table *table, const struct pt_compared *all, uint32_t count, bool files,
                       uint32_t top)
{
    uint32_t shown = 0, marked = 0;
    while (marked < count && is_marked(&all[marked]))
        marked++;
    for (uint32_t most = rows_shown(table, all, count, marked, top); shown < most; shown++) {
        bool faint = shown >= marked;
        if (faint && pt_has_colour(table->out))
            fputs(pt_style_sequences[PT_STYLE_FAINT], table->out);
        int used = print_change(table, &all[shown].self);
        used += files ? 0 : print_change(table, &all[shown].total);
        if (table->comparison->by == PT_COMPARE_REQUEST)
            used += fprintf(table->out, "%9" PRIu64 " %9" PRIu64 " ", all[shown].self.requests[0],
                            all[shown].self.requests[1]);
        used += fprintf(table->out, " ");
        struct pt_buffer text = {0};
        uint32_t columns = pt_print_row_columns(table->out);
        if (!files && columns > (uint32_t)used)
            pt_fit_frame(&text, all[shown].text, columns - (uint32_t)used);
        pt_print_text(table->out, text.length ? text.data : all[shown].text, (uint32_t)used,
                      faint ? PT_STYLE_FAINT : PT_STYLE_PLAIN);
        pt_buffer_free(&text);
        if (all[shown].clock.marked)
            print_clock(table, &all[shown]);
    }
    if (shown < marked)
        fprintf(table->out, "  and %" PRIu32 " more (--full, --top %" PRIu32 ")\n", marked - shown, marked);
    uint32_t hidden = count - (shown > marked ? shown : marked);
    bool whole = table->comparison->by != PT_COMPARE_REQUEST && pt_has_cpu_changed(table->comparison->sides);
    const char *no = !whole ? "no" : files ? "no row's" : "no function's"; /* the whole has changed surely */
    if (hidden && marked)
        fprintf(table->out, "  and %" PRIu32 " more within chance\n", hidden);
    else if (hidden && shown)
        fprintf(table->out, "  and %" PRIu32 " more; %s change is more than chance\n", hidden, no);
    else if (!marked)
        fprintf(table->out, "  %s change is more than chance\n", no);
}

static void print_uncounted(const struct pt_comparison *comparison, FILE *out)
{
    uint32_t values = comparison->uncounted - comparison->without_group - comparison->without_route;
    PT_AUTO_BUFFER text = {0};
    fputs("More or fewer requests are no change of it\n", out);
    if (comparison->without_group)
        pt_buffer_text(&text, ", what ran outside of all requests");
    if (comparison->without_route)
        pt_buffer_text(&text, ", " PP_UNKNOWN_ROUTE);
    if (values)
        pt_buffer_format(&text, ", %" PRIu32 " value%s without requests on both sides", values, pt_plural(values, "s"));
    if (text.length)
        pt_put_paragraph(out, 0, 2, "Not compared (--by share does): %s", text.data + 2);
}

static void print_heading(const struct pt_comparison *comparison, bool lines, FILE *out)
{
    PT_AUTO_BUFFER title = {0};
    bool requests = comparison->by == PT_COMPARE_REQUEST;
    if (comparison->group)
        pt_group_title(&title, comparison->group);
    if (!comparison->group)
        pt_print_styled(out, PT_STYLE_HEADING, "\n SELF A      B  CHANGE  TOTAL A      B  CHANGE    %s\n",
                        lines ? "LINE" : "FUNCTION");
    else
        pt_print_styled(out, PT_STYLE_HEADING, "\n%s%s  CHANGE  %s  %s\n", requests ? "CPU/REQ A" : "  CPU A",
                        requests ? "    B" : "      B", requests ? "REQUESTS A         B " : "", title.data);
}

/* Prints the line that says why there are no marks although the CPU of the runs has changed. */
static void print_all_alike(const struct pt_comparison *comparison, FILE *out)
{
    /* rows are sorted: those that are more than chance come first */
    if (comparison->by == PT_COMPARE_REQUEST || !comparison->function_count || is_marked(comparison->functions) ||
        !pt_has_cpu_changed(comparison->sides))
        return;
    putc('\n', out);
    pt_put_paragraph(out, 0, 2,
                     "The CPU of a run has changed, but no function's share of it by more than chance: all may have "
                     "changed alike, as on a slower machine, or the samples are too few to say which has: compare "
                     "more runs, or longer ones");
}

void pt_comparison_print(const struct pt_comparison *comparison, const struct pt_cli *cli, FILE *out)
{
    static const char *const explained[] = {"Per cent of the CPU", "Milliseconds of CPU per second",
                                            "Seconds of CPU in a run", "Milliseconds of CPU per request"};
    bool requests = comparison->by == PT_COMPARE_REQUEST;
    const struct table table = {comparison, out, comparison->by == PT_COMPARE_CPU || requests ? 2 : 1,
                                cli->full ? TOP : ON_SCREEN};
    pt_comparison_verdict(comparison, out);
    print_sides(out, comparison->sides);
    putc('\n', out);
    pt_put_paragraph(out, 0, 2, "%s; * is more than chance", explained[comparison->by]);
    if (requests)
        print_uncounted(comparison, out);
    print_heading(comparison, cli->lines, out);
    print_rows(&table, comparison->functions, comparison->function_count, comparison->group, cli->top);
    bool marked_file = comparison->file_count && is_marked(&comparison->files[0]);
    if (comparison->file_count && (cli->top || (cli->full && marked_file))) {
        pt_print_styled(out, PT_STYLE_HEADING, "\n SELF A      B  CHANGE   FILE\n");
        print_rows(&table, comparison->files, comparison->file_count, true, cli->top);
    }
    print_all_alike(comparison, out);
}

struct gate {
    const struct pt_comparison *comparison;
    double most; /* per cent of A's CPU */
    uint32_t failures;
};

static void fail(struct gate *gate, const char *text, const char *what, double percent)
{
    PT_AUTO_BUFFER name = {0};
    pt_shown_text(&name, text, 0);
    if (gate->failures++ < FAILURES_NAMED)
        pt_error("slower by %.1f %% of A's CPU: %s%s", percent, name.data, what);
}

/* Returns whether the change is too large. */
static bool judge(struct gate *gate, const struct pt_change *change, const char *text, const char *what)
{
    const struct pt_side *a = &gate->comparison->sides[0];
    double whole = (double)a->whole_ns * pt_compare_unit(a, gate->comparison->by);
    if (gate->comparison->by == PT_COMPARE_REQUEST) /* as many milliseconds more as A's requests would have taken */
        whole = (double)a->whole_ns / 1e6 / (double)change->requests[0];
    double percent = whole > 0 ? 100 * pt_compare_change(gate->comparison, change) / whole : 0;
    bool fails = change->marked && percent > gate->most;
    if (fails)
        fail(gate, text, what, percent);
    return fails;
}

/* Judges the program's CPU. Returns whether it has grown and there are too few runs to tell whether by chance. */
static bool judge_cpu(struct gate *gate)
{
    const struct pt_several *a = &gate->comparison->sides[0].runs, *b = &gate->comparison->sides[1].runs;
    double percent = a->mean > 0 ? 100 * (b->mean - a->mean) / a->mean : 0;
    bool several = a->count > 1 && b->count > 1;
    if (percent > gate->most && pt_has_cpu_changed(gate->comparison->sides))
        fail(gate, "the whole program", "", percent);
    return percent > gate->most && !several;
}

enum pt_gate pt_comparison_judge(const struct pt_comparison *comparison, double percent)
{
    struct gate gate = {.comparison = comparison, .most = percent};
    bool shares = comparison->by == PT_COMPARE_SHARE || comparison->by == PT_COMPARE_REQUEST;
    bool open = !shares && judge_cpu(&gate);
    for (uint32_t i = 0; i < comparison->function_count; i++) {
        const struct pt_compared *one = &comparison->functions[i];
        if (judge(&gate, &one->self, one->text, comparison->group ? "" : ", self time"))
            continue;
        if (comparison->group)
            judge(&gate, &one->clock, one->text, ", by the requests' own clock");
        else
            judge(&gate, &one->total, one->text, ", total time");
    }
    for (uint32_t i = 0; i < comparison->file_count; i++)
        judge(&gate, &comparison->files[i].self, comparison->files[i].text, "");
    if (gate.failures > FAILURES_NAMED)
        pt_error("and %" PRIu32 " more", gate.failures - FAILURES_NAMED);
    if (gate.failures)
        return PT_GATE_FAILED;
    if (open)
        pt_error("the whole program used more than %g %% more CPU; one run does not tell whether that is chance: "
                 "compare several runs of each (--all A B)",
                 percent);
    else
        pt_message("nothing is slower by more than chance and %g %% of A's CPU", percent);
    return open ? PT_GATE_OPEN : PT_GATE_PASSED;
}
