/* SPDX-License-Identifier: Apache-2.0 */
#include "own_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../model/frame_text.h"
#include "../query/group.h"
#include "../query/package.h"
#include "../view/own_code.h"
#include "../view/summary.h"
#include "hot_line.h"
#include "row_parts.h"
#include "rows.h"

#define FIGURES_WIDTH 28  /* of a row, before its text, without --ci */
#define SHARE_WIDTH   6   /* of a callee's share, before its text */
#define MAX_FUNCTION  48  /* columns of a function where lines may have any length; longer ones are not cut */
#define DETAILS_FROM  5.0 /* per cent: a row with less has no line of source */
#define DETAILS_OF    3   /* a third of the lines may be source, unless rows are few */
#define ITSELF        "itself"
#define FINDING       "finding and loading modules"

/* Sums by row, a string. */
struct own_sums {
    struct pt_total *rows; /* by row, until they are gathered */
    uint32_t count;
    struct pt_row_parts callees, lines; /* texts of functions; frames */
    struct pt_row_part *most;           /* by row */
    struct pt_hot_line *hot;            /* by row */
    bool application;
};

/* Returns the row of what runs without a function of the application: the package, or what is no code at all. */
static uint32_t row_without(struct pt_profile *profile, uint32_t innermost, uint32_t package)
{
    PT_AUTO_BUFFER text = {0};
    if (innermost == PT_NONE)
        return pt_intern_text(profile, PT_REPORT_NO_PYTHON);
    if (profile->frames.items[innermost].kind == PP_FRAME_PSEUDO)
        return profile->frames.items[innermost].subject;
    pt_buffer_format(&text, "(in %s)", pt_string(profile, package));
    return pt_intern_text(profile, text.data);
}

/* Returns, by node, the row that its CPU time counts for: a function's text, or what there is in place of one. */
static uint32_t *rows_by_node(struct pt_profile *profile, const struct pt_own_code *own, const uint32_t *texts)
{
    uint32_t *rows = pt_alloc(profile->nodes.count, sizeof *rows), imports = pt_intern_text(profile, PT_IMPORTS);
    PT_AUTO_FREE uint32_t *innermost = pt_self_frames(profile), *packages = pt_packages_by_node(profile);
    for (uint32_t i = 0; i < profile->nodes.count; i++)
        rows[i] = own->importing[i]          ? imports
                  : own->frame[i] != PT_NONE ? texts[own->frame[i]]
                                             : row_without(profile, innermost[i], packages[i]);
    return rows;
}

/* Returns the module's top-level name, of a path as people read it: "json" of "json/decoder.py". */
static const char *module_of(const char *path, size_t *length)
{
    static const char frozen[] = "<frozen ";
    if (strncmp(path, frozen, sizeof frozen - 1) == 0) {
        path += sizeof frozen - 1;
        *length = strcspn(path, ".>");
        return path;
    }
    *length = strcspn(path, "/");
    if (!path[*length] && *length > 3 && strcmp(path + *length - 3, ".py") == 0)
        *length -= 3;
    return path;
}

/* Returns what a function calls, as a reader knows it: "DataFrame.iterrows (pandas)", "dumps (json)". */
static uint32_t callee_text(struct pt_profile *profile, uint32_t number, const uint32_t *texts)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    PT_AUTO_BUFFER text = {0};
    if (frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE) {
        const char *library = pt_base_name(pt_string(profile, profile->modules.items[frame->subject].path));
        if (frame->symbol)
            pt_native_name(&text, profile, frame, false);
        pt_buffer_format(&text, frame->symbol ? " (%.*s)" : "in %.*s", (int)strcspn(library, "."), library);
        return pt_intern_text(profile, text.data);
    }
    if (frame->kind != PP_FRAME_PYTHON)
        return texts[number];
    const struct pt_function *function = &profile->functions.items[frame->subject];
    size_t length;
    const char *module = module_of(pt_string(profile, function->short_file), &length);
    pt_buffer_format(&text, "%s (%.*s)", pt_string(profile, function->name), (int)length, module);
    return pt_intern_text(profile, text.data);
}

/* Returns the name of the module that is imported, or what the time is in that no module has. */
static uint32_t import_text(struct pt_profile *profile, uint32_t imported)
{
    if (imported == PT_NONE)
        return pt_intern_text(profile, FINDING);
    const struct pt_function *function = &profile->functions.items[profile->frames.items[imported].subject];
    size_t length;
    const char *module = module_of(pt_string(profile, function->short_file), &length);
    return pt_intern(profile, module, length);
}

/* Returns, by node, what most of a row's time may be in: what its function calls, or the module that is imported; 0:
 * nothing is known. */
static uint32_t *parts_by_node(struct pt_profile *profile, const struct pt_own_code *own, const uint32_t *texts)
{
    uint32_t *parts = pt_alloc(profile->nodes.count, sizeof *parts), itself = pt_intern_text(profile, ITSELF);
    PT_AUTO_FREE uint32_t *innermost = pt_self_frames(profile);
    PT_AUTO_FREE uint32_t *callees = pt_alloc(profile->frames.count, sizeof *callees); /* 0: not made yet */
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        uint32_t frame = own->frame[i] == PT_NONE ? innermost[i] : own->callee[i];
        if (frame != PT_NONE && !callees[frame])
            callees[frame] = callee_text(profile, frame, texts);
        parts[i] = own->importing[i]          ? import_text(profile, own->imported[i])
                   : frame != PT_NONE         ? callees[frame]
                   : own->frame[i] != PT_NONE ? itself
                                              : 0;
    }
    return parts;
}

static void add_samples(struct own_sums *sums, struct pt_profile *profile, const struct pt_own_code *own,
                        const uint32_t *texts)
{
    PT_AUTO_FREE uint32_t *rows = rows_by_node(profile, own, texts), *parts = parts_by_node(profile, own, texts);
    sums->rows = pt_alloc(profile->strings.count, sizeof *sums->rows);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        uint32_t row = rows[sample->node], frame = own->importing[sample->node] ? PT_NONE : own->frame[sample->node];
        struct pt_total *total = &sums->rows[row];
        total->text = row;
        total->frame = frame;
        total->self_count += sample->count;
        total->self_ns += sample->cpu_ns;
        if (parts[sample->node])
            pt_row_parts_add(&sums->callees, row, parts[sample->node], sample->cpu_ns);
        if (frame != PT_NONE)
            pt_row_parts_add(&sums->lines, row, frame, sample->cpu_ns);
    }
    sums->most = pt_row_parts_most(&sums->callees, profile->strings.count);
}

/* Returns, by node, what its stacks have that begin with it; the caller frees. */
static struct pt_total *stacks_from(const struct pt_profile *profile)
{
    struct pt_total *stacks = pt_alloc(profile->nodes.count, sizeof *stacks);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        stacks[sample->node].total_ns += sample->cpu_ns;
        stacks[sample->node].total_count += sample->count;
    }
    for (uint32_t i = profile->nodes.count; --i;) {
        stacks[profile->nodes.items[i].parent].total_ns += stacks[i].total_ns;
        stacks[profile->nodes.items[i].parent].total_count += stacks[i].total_count;
    }
    return stacks;
}

/* Returns whether a frame above the node reads like its own: recursion counts once. */
static bool is_again(const struct pt_profile *profile, uint32_t node, const uint32_t *texts)
{
    uint32_t text = texts[profile->nodes.items[node].frame];
    for (uint32_t at = profile->nodes.items[node].parent; at; at = profile->nodes.items[at].parent)
        if (texts[profile->nodes.items[at].frame] == text)
            return true;
    return false;
}

/* Names the application's native functions by the file of their source, or by their library: "smooth (fast.pyx)". */
static void name_natives(struct pt_profile *profile, const bool *native, uint32_t *texts)
{
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        struct pt_frame frame = profile->frames.items[i];
        if (!native[i])
            continue;
        PT_AUTO_BUFFER text = {0};
        frame.inlined_into = 0;
        pt_native_name(&text, profile, &frame, false);
        uint32_t path = frame.line ? frame.source : profile->modules.items[frame.subject].path;
        pt_buffer_format(&text, " (%s)", pt_base_name(pt_string(profile, path)));
        texts[i] = pt_intern_text(profile, text.data);
    }
}

/* Fills in what the rows have in total, with functions that only call others, and gathers them. */
static void add_totals(struct own_sums *sums, struct pt_profile *profile, const uint32_t *texts, const bool *native)
{
    PT_AUTO_FREE struct pt_total *stacks = stacks_from(profile);
    PT_AUTO_FREE bool *own = pt_applications(profile);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        uint32_t frame = profile->nodes.items[i].frame;
        struct pt_total *row = &sums->rows[texts[frame]];
        bool wanted = native[frame]       ? true
                      : sums->application ? own[frame]
                                          : profile->frames.items[frame].kind == PP_FRAME_PYTHON;
        if (!wanted || !stacks[i].total_ns || is_again(profile, i, texts))
            continue;
        row->text = texts[frame];
        row->frame = frame;
        row->total_ns += stacks[i].total_ns;
        row->total_count += stacks[i].total_count;
    }
    for (uint32_t i = 1; i < profile->strings.count; i++) {
        struct pt_total *row = &sums->rows[i];
        if (row->total_ns < row->self_ns) {
            row->total_ns = row->self_ns;
            row->total_count = row->self_count;
        }
        if (row->text)
            sums->rows[sums->count++] = *row;
    }
}

static struct own_sums sums_of(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct own_sums sums = {0};
    PT_AUTO(pt_own_code_free) struct pt_own_code own = pt_own_code_of(profile, true);
    PT_AUTO_FREE uint32_t *texts = pt_frame_texts(profile, report->cli->lines);
    PT_AUTO_FREE bool *native = pt_native_applications(profile);
    if (!report->cli->lines)
        name_natives(profile, native, texts);
    sums.application = own.application;
    add_samples(&sums, profile, &own, texts);
    add_totals(&sums, profile, texts, native);
    uint32_t count, *rows;
    PT_AUTO_FREE struct pt_hot_line *lines = pt_hot_lines_sorted(profile, &sums.lines, &rows, &count);
    sums.hot = pt_alloc(profile->strings.count, sizeof *sums.hot);
    for (uint32_t i = count; i--;)
        sums.hot[rows[i]] = lines[i]; /* its hottest comes first */
    free(rows);
    return sums;
}

static void sums_free(struct own_sums *sums)
{
    free(sums->rows);
    free(sums->most);
    free(sums->hot);
    pt_row_parts_free(&sums->callees);
    pt_row_parts_free(&sums->lines);
}

struct table {
    const struct pt_report *report;
    const struct own_sums *sums;
    bool by_total;
    uint32_t shown, function_width; /* rows */
    uint32_t details;               /* lines for source */
};

static uint32_t figures_width(const struct table *table)
{
    return FIGURES_WIDTH + (table->report->cli->ci ? PT_INTERVAL_WIDTH : 0);
}

static uint64_t sorted_ns(const struct table *table, uint32_t row)
{
    const struct pt_total *total = &table->sums->rows[row];
    return table->by_total ? total->total_ns : total->self_ns;
}

static bool has_line(const struct table *table, uint32_t row)
{
    const struct pt_total *total = &table->sums->rows[row];
    return table->sums->hot[total->text].ns && pt_percent(total->self_ns, table->report->whole_ns) >= DETAILS_FROM;
}

/* Divides the lines between rows, their source, and a line that says what is left out. */
static void choose_rows(struct table *table, uint32_t lines)
{
    const struct pt_report *report = table->report;
    uint32_t wanted = 0, body = lines - 1; /* below the heading */
    for (uint32_t i = 0; i < table->sums->count; i++)
        wanted += has_line(table, i) ? 1 + !wanted : 0; /* the first has carets */
    table->details = wanted < body / DETAILS_OF ? wanted : body / DETAILS_OF;
    uint32_t most = report->cli->top                      ? report->top
                    : report->top < body - table->details ? report->top
                                                          : body - table->details;
    while (table->shown < table->sums->count && table->shown < most &&
           pt_percent(sorted_ns(table, table->shown), report->whole_ns) >= PT_HIDDEN_BELOW)
        table->shown++;
    bool rest = table->shown < table->sums->count;
    if (rest && !report->cli->top && table->shown && table->shown + table->details + 1 > body)
        table->shown--;
    uint32_t used = table->shown + rest;
    table->details = report->cli->top ? UINT32_MAX : body > used ? body - used : 0;
}

static void choose_width(struct table *table, const char *title)
{
    const struct pt_profile *profile = table->report->profile;
    uint32_t columns = pt_print_columns(stdout), widest = pt_shown_width(title);
    for (uint32_t i = 0; i < table->shown; i++) {
        uint32_t width = pt_shown_width(pt_string(profile, table->sums->rows[i].text));
        widest = width > widest ? width : widest;
    }
    uint32_t room = columns ? columns - figures_width(table) - 2 - SHARE_WIDTH : 2 * MAX_FUNCTION;
    table->function_width = widest < room * 3 / 5 ? widest : room * 3 / 5;
}

static void print_figures(const struct table *table, const struct pt_total *row)
{
    const struct pt_report *report = table->report;
    double self = pt_percent(row->self_ns, report->whole_ns), total = pt_percent(row->total_ns, report->whole_ns);
    struct pt_share share = pt_share_of(&report->draws, table->by_total ? row->total_count : row->self_count,
                                        table->by_total ? row->total_ns : row->self_ns, report->whole_ns);
    pt_print_styled(stdout, pt_style_of_share(table->by_total ? 0 : self), "%7.2f s %5.1f %%", pt_seconds(row->self_ns),
                    self);
    if (!table->by_total && report->cli->ci)
        pt_print_interval(&share);
    pt_print_styled(stdout, pt_style_of_share(table->by_total ? total : 0), "  %5.1f %%  ", total);
    if (table->by_total && report->cli->ci)
        pt_print_interval(&share);
}

static void print_row(struct table *table, const struct pt_total *row)
{
    const struct pt_profile *profile = table->report->profile;
    const struct pt_row_part *most = &table->sums->most[row->text];
    uint32_t columns = pt_print_columns(stdout);
    PT_AUTO_BUFFER function = {0}, callee = {0};
    print_figures(table, row);
    pt_fit_name(&function, pt_string(profile, row->text), columns ? table->function_width : 0);
    if (!most->ns || most->part == row->text) {
        puts(function.data);
        return;
    }
    uint32_t width = pt_shown_width(function.data), used = figures_width(table) + table->function_width;
    width = width < table->function_width ? table->function_width - width : 0;
    printf("%s%*s  %3.0f %% ", function.data, (int)width, "", pt_percent(most->ns, row->self_ns));
    pt_fit_name(&callee, pt_string(profile, most->part), pt_print_row_columns(stdout) - used - 2 - SHARE_WIDTH);
    puts(callee.data);
}

static void print_rest(const struct table *table)
{
    uint64_t rest_ns = 0;
    uint32_t count = table->sums->count;
    if (table->shown == count)
        return;
    for (uint32_t i = table->shown; i < count; i++)
        rest_ns += table->sums->rows[i].self_ns;
    printf("%7.2f s %5.1f %%%*sand %u more", pt_seconds(rest_ns), pt_percent(rest_ns, table->report->whole_ns),
           (int)figures_width(table) - PT_REST_WIDTH, "", count - table->shown);
    if (table->report->screen)
        puts(PT_MORE_IN_FULL);
    else
        printf(" (--top %u)\n", count);
}

static const char *title_of(const struct table *table)
{
    return table->report->cli->lines ? "OWN LINE" : table->sums->application ? "OWN FUNCTION" : "PYTHON FUNCTION";
}

static void print_heading(const struct table *table)
{
    const struct pt_cli *cli = table->report->cli;
    const char *interval = cli->ci ? PT_INTERVAL_HEADING : "";
    pt_print_styled(stdout, PT_STYLE_HEADING, "%17s%s%9s%s  %-*s  MOST OF IT IN\n",
                    table->sums->application ? "SELF+LIBRARIES" : "SELF", table->by_total ? "" : interval, "TOTAL",
                    table->by_total ? interval : "", (int)table->function_width, title_of(table));
}

void pt_report_own(const struct pt_report *report, uint32_t lines)
{
    PT_AUTO(sums_free) struct own_sums sums = sums_of(report);
    struct table table = {.report = report, .sums = &sums, .by_total = pt_rows_by_total(report, false)};
    pt_rows_sort(sums.rows, sums.count, table.by_total);
    choose_rows(&table, lines);
    choose_width(&table, title_of(&table));
    print_heading(&table);
    bool carets = true;
    for (uint32_t i = 0; i < table.shown; i++) {
        print_row(&table, &sums.rows[i]);
        if (!table.details || !has_line(&table, i))
            continue;
        carets = carets && table.details > 1;
        pt_print_hot_line(report->profile, &sums.hot[sums.rows[i].text], sums.rows[i].self_ns, carets);
        table.details -= 1 + carets;
        carets = false;
    }
    print_rest(&table);
}
