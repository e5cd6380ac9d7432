/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../query/application.h"
#include "../query/self.h"
#include "../view/summary.h"
#include "report.h"
#include "rows.h"

#define NATIVE_FROM       1.0 /* per cent of self time: native functions with less are not listed unasked */
#define NATIVE_ROWS_FEWER 2   /* the table of native functions has half of the rows */

struct pt_report_native pt_report_native(const struct pt_profile *profile)
{
    return (struct pt_report_native){profile->kind_ns[PT_KIND_INTERPRETER], profile->kind_ns[PT_KIND_NATIVE]};
}

struct pt_total *pt_report_python_rows(struct pt_profile *profile, const struct pt_view *view,
                                       const struct pt_total *totals, uint32_t total_count, uint32_t *count)
{
    uint32_t none = pt_intern_text(profile, PT_REPORT_NO_PYTHON);
    struct pt_total *self = pt_alloc(profile->strings.count, sizeof *self); /* by text */
    uint32_t *frames = pt_alloc(view->nodes.count, sizeof *frames), *texts = pt_alloc(view->nodes.count, sizeof *texts);
    frames[0] = PT_NONE;
    for (uint32_t i = 0; i < view->nodes.count; i++) {
        const struct pt_view_node *node = &view->nodes.items[i];
        uint32_t without = i ? frames[node->parent] : PT_NONE;
        frames[i] = pt_self_frame(profile, node->frame, without);
        /* a prefix of the stack (thread, process) is no frame */
        texts[i] = frames[i] == PT_NONE ? none : i && frames[i] == without ? texts[node->parent] : node->text;
        struct pt_total *row = &self[texts[i]];
        row->text = texts[i];
        row->frame = frames[i];
        row->self_ns += node->ns;
        row->self_count += node->count;
    }
    for (uint32_t i = 0; i < total_count; i++) {
        struct pt_total *row = &self[totals[i].text];
        uint32_t kind = profile->frames.items[totals[i].frame].kind;
        if (!row->text && kind == PP_FRAME_PYTHON)
            *row = (struct pt_total){.text = totals[i].text, .frame = totals[i].frame};
        if (!row->text)
            continue;
        row->total_ns = totals[i].total_ns;
        row->total_count = totals[i].total_count;
    }
    self[none].total_ns = self[none].self_ns;
    self[none].total_count = self[none].self_count;
    *count = 0;
    for (uint32_t i = 1; i < profile->strings.count; i++)
        if (self[i].text && self[i].total_ns)
            self[(*count)++] = self[i];
    free(frames);
    free(texts);
    return self;
}

/* Keeps the rows that the predicate wants, and returns their number. */
static uint32_t keep(const struct pt_profile *profile, struct pt_total *rows, uint32_t count,
                     bool (*wanted)(const struct pt_profile *profile, uint32_t frame))
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (wanted(profile, rows[i].frame))
            rows[kept++] = rows[i];
    return kept;
}

static bool is_native(const struct pt_profile *profile, uint32_t frame)
{
    return profile->frames.items[frame].kind == PP_FRAME_NATIVE;
}

void pt_report_functions(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    struct pt_profile *profile = report->profile;
    bool lines = report->cli->lines, all = process == PT_NONE && thread == PT_NONE;
    const struct pt_view_options options = {.lines = lines, .only_process = process, .only_thread = thread};
    struct pt_view *view = pt_view_new(profile, &options);
    uint32_t count, total_count;
    struct pt_total *totals = pt_view_totals(profile, view, &total_count);
    struct pt_total *python = pt_report_python_rows(profile, view, totals, total_count, &count);
    struct pt_rows rows = pt_rows_of_view(report, view, all);
    rows.items = python;
    rows.count = count;
    rows.title = lines ? "PYTHON LINE, C code included" : "PYTHON FUNCTION, C code included";
    pt_rows_print(report, &rows);
    rows.title = lines ? "LINE OF THE APPLICATION" : "FUNCTION OF THE APPLICATION";
    rows.count = keep(profile, python, count, pt_is_application);
    rows.by_total = true;
    pt_rows_print(report, &rows);
    struct pt_report few = *report;
    few.top = report->cli->top ? report->top : report->top / NATIVE_ROWS_FEWER;
    rows.title = lines ? "NATIVE LINE" : "NATIVE FUNCTION";
    rows.items = totals;
    rows.by_total = false;
    rows.count = keep(profile, totals, total_count, is_native);
    rows.least = NATIVE_FROM;
    pt_rows_print(&few, &rows);
    free(python);
    free(totals);
    pt_view_free(view);
}
