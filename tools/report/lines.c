/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/source_text.h"
#include "../query/package.h"
#include "../view/line_sums.h"
#include "../view/summary.h"
#include "report.h"
#include "source_files.h"
#include "sums_json.h"

#define LINE_ROWS     6
#define LONGEST_LINE  90 /* bytes of source text */
#define FIGURES_WIDTH 19
#define TEXT_COLUMN   29 /* where the source begins */

/* The function whose lines are shown, and CPU time by frame. */
struct hot_lines {
    uint32_t function; /* PT_NONE: there is none */
    bool application;  /* callees outside of the application are included, not only native ones */
    uint64_t *ns_of_frame;
};

/* CPU time of a line of a function. */
struct line {
    uint32_t function, number;
    uint64_t ns;
};

static int by_line(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return pt_compare(x->function, y->function) ?: pt_compare(x->number, y->number);
}

/* Returns the function of the line with most CPU time; PT_NONE without lines. */
static uint32_t hottest_line(struct line *lines, uint32_t count)
{
    uint32_t hot = PT_NONE;
    uint64_t most_ns = 0;
    qsort(lines, count, sizeof *lines, by_line);
    for (uint32_t i = 0, end; i < count; i = end) {
        uint64_t ns = 0;
        for (end = i; end < count && by_line(&lines[i], &lines[end]) == 0; end++)
            ns += lines[end].ns;
        if (ns > most_ns) {
            hot = lines[i].function;
            most_ns = ns;
        }
    }
    return hot;
}

/* Sums CPU time up by the frames given for each node, and finds the function that has the hottest line. */
static void find_hot_lines(const struct pt_profile *profile, struct hot_lines *hot, const uint32_t *frames)
{
    PT_AUTO_FREE struct line *lines = pt_alloc(profile->frames.count, sizeof *lines);
    uint32_t count = 0;
    hot->ns_of_frame = pt_alloc(profile->frames.count, sizeof *hot->ns_of_frame);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        if (frames[sample->node] != PT_NONE)
            hot->ns_of_frame[frames[sample->node]] += sample->cpu_ns;
    }
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_PYTHON && hot->ns_of_frame[i])
            lines[count++] = (struct line){frame->subject, pt_frame_line(profile, frame), hot->ns_of_frame[i]};
    }
    hot->function = hottest_line(lines, count);
}

/* Finds the function of the hottest line: by the time of a line of the application with all that it calls outside of
 * the application; if there is no code of the application, of a line with the C code that it calls. The caller frees
 * ns_of_frame. */
static struct hot_lines hot_lines_of(const struct pt_profile *profile)
{
    struct hot_lines hot = {.application = true};
    uint32_t *frames = pt_application_frames(profile);
    find_hot_lines(profile, &hot, frames);
    free(frames);
    if (hot.function == PT_NONE) {
        free(hot.ns_of_frame);
        hot.application = false;
        frames = pt_self_frames(profile);
        find_hot_lines(profile, &hot, frames);
        free(frames);
    }
    return hot;
}

const char *pt_report_hot_file(const struct pt_report *report)
{
    struct hot_lines hot = hot_lines_of(report->profile);
    free(hot.ns_of_frame);
    if (hot.function == PT_NONE)
        return NULL;
    const char *file = pt_shortest_path(report->profile, report->profile->functions.items[hot.function].file);
    return *file && *file != '<' ? file : NULL;
}

/* Returns the places of a function that took time, in their order in the source. The caller frees. */
static struct pt_place *places_of(const struct pt_profile *profile, const uint64_t *ns_of_frame, uint32_t function,
                                  uint32_t *count)
{
    struct pt_place *places = pt_alloc(profile->frames.count, sizeof *places);
    *count = 0;
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_PYTHON && frame->subject == function && ns_of_frame[i])
            places[(*count)++] = (struct pt_place){pt_frame_line(profile, frame), frame->end_line, frame->column,
                                                   frame->end_column, ns_of_frame[i]};
    }
    qsort(places, *count, sizeof *places, pt_by_place);
    return places;
}

/* Returns a place for each line, with all of its time; the columns are not used. */
static struct pt_place *lines_of(const struct pt_place *places, uint32_t count, uint32_t *lines_count)
{
    struct pt_place *lines = pt_alloc(count, sizeof *lines);
    *lines_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!*lines_count || lines[*lines_count - 1].line != places[i].line)
            lines[(*lines_count)++] = (struct pt_place){.line = places[i].line};
        lines[*lines_count - 1].ns += places[i].ns;
    }
    qsort(lines, *lines_count, sizeof *lines, pt_by_place_time);
    return lines;
}

/* Returns the text of a line without its indentation, as much of it as is printed. */
static struct pt_shown_line shown_line(const struct pt_source *source, uint32_t line)
{
    struct pt_shown_line shown = {0};
    size_t size, most = pt_print_columns(stdout) ? pt_print_columns(stdout) - TEXT_COLUMN : LONGEST_LINE;
    shown.text = pt_source_line(source, line, &size);
    if (!shown.text)
        return shown;
    while (size && (*shown.text == ' ' || *shown.text == '\t')) {
        shown.text++;
        shown.indentation++;
        size--;
    }
    while (shown.length < size && shown.length < most && (unsigned char)shown.text[shown.length] >= ' ')
        shown.length++;
    while (shown.length < size && shown.length && ((unsigned char)shown.text[shown.length] & 0xc0) == 0x80)
        shown.length--; /* not in the middle of a character */
    return shown;
}

/* Prints the expressions of a line that took most of its time; with figures, unless one expression took all of it. */
static void print_expressions(const struct pt_report *report, const struct pt_shown_line *shown,
                              const struct pt_place *line, const struct pt_place *places, uint32_t count)
{
    struct pt_place hot[PT_HOT_PLACES];
    PT_AUTO_BUFFER carets = {0};
    uint32_t found = pt_hot_places(places, count, line->line, line->ns, hot);
    for (uint32_t i = 0; i < found; i++) {
        pt_buffer_clear(&carets);
        if (!pt_place_carets(&carets, shown, &hot[i]))
            continue;
        if (pt_percent(hot[i].ns, line->ns) >= PT_ALL_OF_LINE)
            printf("%*s%s\n", TEXT_COLUMN, "", carets.data);
        else
            printf("%9.2f s %5.1f %%%*s  %s\n", pt_seconds(hot[i].ns), pt_percent(hot[i].ns, report->whole_ns),
                   TEXT_COLUMN - FIGURES_WIDTH - 2, "of it", carets.data);
    }
}

static void print_shown(const struct pt_shown_line *shown)
{
    PT_AUTO_BUFFER text = {0}, harmless = {0};
    pt_buffer_append(&text, shown->text, shown->length);
    pt_shown_text(&harmless, text.data, 0);
    printf("  %s", harmless.length ? harmless.data : "");
}

static void print_lines(const struct pt_report *report, const struct hot_lines *hot)
{
    const struct pt_profile *profile = report->profile;
    const struct pt_function *function = &profile->functions.items[hot->function];
    uint32_t place_count, count, most = report->cli->top ? report->top : LINE_ROWS;
    PT_AUTO_FREE struct pt_place *places = places_of(profile, hot->ns_of_frame, hot->function, &place_count);
    PT_AUTO_FREE struct pt_place *lines = lines_of(places, place_count, &count);
    PT_AUTO(pt_source_free) struct pt_source source = pt_source_read(profile, function);
    putchar('\n');
    pt_print_paragraph(0, 2, "Lines of %s (%s), with %s:", pt_string(profile, function->name),
                       pt_string(profile, function->short_file),
                       hot->application ? "all that they call outside of the application" : "the C code they call");
    if (source.state == PT_SOURCE_NEWER || source.state == PT_SOURCE_OTHER)
        pt_print_note("(%s)", pt_source_state_text(source.state, pt_string(profile, function->file)));
    for (uint32_t i = 0; i < count && i < most; i++) {
        double share = pt_percent(lines[i].ns, report->whole_ns);
        pt_print_styled(stdout, pt_style_of_share(share), "%9.2f s %5.1f %%", pt_seconds(lines[i].ns), share);
        fputs("  ", stdout);
        if (lines[i].line)
            printf("%6" PRIu32, lines[i].line);
        else
            printf("     ?");
        struct pt_shown_line shown = shown_line(&source, lines[i].line);
        if (shown.text)
            print_shown(&shown);
        putchar('\n');
        if (shown.text)
            print_expressions(report, &shown, &lines[i], places, place_count);
    }
    if (count > most)
        printf("%*sand %u more (--top %u)\n", TEXT_COLUMN, "", count - most, count);
}

void pt_report_lines(const struct pt_report *report)
{
    struct hot_lines hot = hot_lines_of(report->profile);
    if (hot.function != PT_NONE)
        print_lines(report, &hot);
    free(hot.ns_of_frame);
}

void pt_report_lines_json(const struct pt_report *report, struct pt_json *json)
{
    const struct pt_profile *profile = report->profile;
    struct hot_lines hot = hot_lines_of(profile);
    uint32_t place_count, count;
    if (hot.function == PT_NONE) {
        pt_json_text(json, "hottest", NULL);
        free(hot.ns_of_frame);
        return;
    }
    const struct pt_function *function = &profile->functions.items[hot.function];
    PT_AUTO_FREE struct pt_place *places = places_of(profile, hot.ns_of_frame, hot.function, &place_count);
    PT_AUTO_FREE struct pt_place *lines = lines_of(places, place_count, &count);
    pt_json_begin(json, "hottest", '{');
    pt_json_string(json, "function", profile, function->name);
    pt_json_string(json, "file", profile, function->file);
    pt_json_begin(json, "lines", '[');
    for (uint32_t i = 0; i < count; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_known(json, "line", lines[i].line, lines[i].line);
        pt_json_number(json, "self_ns", lines[i].ns);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_json_end(json, '}');
    free(hot.ns_of_frame);
}
