/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest lines of the application, with all that they call outside of it (own_code.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/source_text.h"
#include "../model/frame_text.h"
#include "../view/own_code.h"
#include "../view/summary.h"
#include "hot_line.h"
#include "report.h"
#include "source_files.h"
#include "sums_json.h"

#define ALL           0  /* the row of all lines */
#define FIGURES_WIDTH 19 /* of a row, before its place */

/* Returns, by node, the frame of the application whose line it counts for, PT_NONE without one: native functions of
 * which no line is known count for the line that calls them. */
static uint32_t *frames_with_lines(const struct pt_profile *profile, const struct pt_own_code *own)
{
    uint32_t *frames = pt_alloc(profile->nodes.count, sizeof *frames);
    frames[0] = PT_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_frame *frame = own->frame[i] == PT_NONE ? NULL : &profile->frames.items[own->frame[i]];
        bool has_line = frame && (frame->kind == PP_FRAME_PYTHON || frame->line);
        frames[i] = has_line ? own->frame[i] : frames[profile->nodes.items[i].parent];
    }
    return frames;
}

/* Returns the lines, the hottest first, and whether the application has any. The caller frees. */
static struct pt_hot_line *lines_of(struct pt_profile *profile, uint32_t *count, bool *application)
{
    struct pt_row_parts frames = {0};
    PT_AUTO(pt_own_code_free) struct pt_own_code own = pt_own_code_of(profile, true);
    PT_AUTO_FREE uint32_t *with_lines = frames_with_lines(profile, &own);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples))
        if (with_lines[sample->node] != PT_NONE)
            pt_row_parts_add(&frames, ALL, with_lines[sample->node], sample->cpu_ns);
    uint32_t *rows;
    struct pt_hot_line *lines = pt_hot_lines_sorted(profile, &frames, &rows, count);
    free(rows);
    pt_row_parts_free(&frames);
    *application = own.application;
    return lines;
}

const char *pt_report_hot_file(const struct pt_report *report)
{
    uint32_t count;
    bool application;
    PT_AUTO_FREE struct pt_hot_line *lines = lines_of(report->profile, &count, &application);
    if (!count)
        return NULL;
    const char *file = pt_shortest_path(report->profile, lines[0].file);
    return *file && *file != '<' ? file : NULL;
}

/* Says why a line has no text, once for each reason. */
static void print_state(const struct pt_report *report, const struct pt_hot_line *line, unsigned *told)
{
    PT_AUTO(pt_source_free) struct pt_source source = pt_hot_line_source(report->profile, line);
    unsigned state = 1u << source.state;
    if ((source.state == PT_SOURCE_NEWER || source.state == PT_SOURCE_OTHER) && !(*told & state))
        pt_print_note("(%s)", pt_source_state_text(source.state, pt_string(report->profile, line->file)));
    *told |= state;
}

static void append_place(struct pt_buffer *shown, const struct pt_report *report, const struct pt_hot_line *line)
{
    PT_AUTO_BUFFER place =
        pt_formatted("%s:%" PRIu32, pt_base_name(pt_string(report->profile, line->file)), line->place.line);
    pt_shown_text(shown, place.data, 0);
}

/* width: of all places. */
static void print_line(const struct pt_report *report, const struct pt_hot_line *line, uint32_t width)
{
    double share = pt_percent(line->ns, report->whole_ns);
    PT_AUTO_BUFFER place = {0};
    append_place(&place, report, line);
    pt_print_styled(stdout, pt_style_of_share(share), "%7.2f s %5.1f %%", pt_seconds(line->ns), share);
    printf("  %s%*s", place.data, (int)(width - pt_shown_width(place.data)), "");
    pt_print_source_line(report->profile, line, FIGURES_WIDTH + width, "  ", true);
}

void pt_report_lines(const struct pt_report *report)
{
    uint32_t count, shown = 0;
    bool application;
    unsigned told = 0;
    PT_AUTO_FREE struct pt_hot_line *lines = lines_of(report->profile, &count, &application);
    if (!count)
        return;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s  %s\n", "CPU",
                    application ? "LINE OF THE APPLICATION, libraries included" : "PYTHON LINE, C code included");
    uint32_t width = 0;
    for (uint32_t i = 0; i < count && i < report->top; i++) {
        PT_AUTO_BUFFER place = {0};
        append_place(&place, report, &lines[i]);
        width = pt_shown_width(place.data) > width ? pt_shown_width(place.data) : width;
    }
    for (; shown < count && shown < report->top; shown++) {
        print_state(report, &lines[shown], &told);
        print_line(report, &lines[shown], width);
    }
    if (count > shown)
        printf("%*sand %u more (--top %u)\n", FIGURES_WIDTH, "", count - shown, count);
}

void pt_report_lines_json(const struct pt_report *report, struct pt_json *json)
{
    const struct pt_profile *profile = report->profile;
    uint32_t count;
    bool application;
    PT_AUTO_FREE struct pt_hot_line *lines = lines_of(report->profile, &count, &application);
    if (!count) {
        pt_json_text(json, "hottest", NULL);
        return;
    }
    pt_json_begin(json, "hottest", '{');
    if (lines[0].function == PT_NONE)
        pt_json_text(json, "function", NULL); /* of native code */
    else
        pt_json_string(json, "function", profile, profile->functions.items[lines[0].function].name);
    pt_json_string(json, "file", profile, lines[0].file);
    pt_json_begin(json, "lines", '[');
    for (uint32_t i = 0; i < count; i++) {
        if (lines[i].function != lines[0].function || lines[i].file != lines[0].file)
            continue;
        pt_json_begin(json, NULL, '{');
        pt_json_known(json, "line", lines[i].place.line, lines[i].place.line);
        pt_json_number(json, "self_ns", lines[i].ns);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_json_end(json, '}');
}
