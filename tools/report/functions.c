/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../model/frame_text.h"
#include "../query/package.h"
#include "report.h"
#include "rows.h"
#include "sums_json.h"

#define NATIVE_FROM       1.0 /* per cent of self time: native functions with less are not listed unasked */
#define NATIVE_ROWS_FEWER 2   /* the table of native functions has half of the rows */

void pt_report_tables(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    if (report->cli->request.by)
        pt_report_by(report, process, thread);
    else
        pt_report_functions(report, process, thread, PT_FUNCTIONS | PT_NATIVE_FUNCTIONS);
}

/* Puts the class in which a method is defined: null for functions, and before 3.11, which does not tell. */
static void put_class(struct pt_json *json, const char *qualname)
{
    static const char locals[] = "<locals>.";
    for (const char *at = qualname; (at = strstr(at, locals)); at += sizeof locals - 1)
        qualname = at + sizeof locals - 1;
    const char *dot = strrchr(qualname, '.');
    PT_AUTO_FREE char *name = dot ? pt_strndup(qualname, (size_t)(dot - qualname)) : NULL;
    pt_json_text(json, "class", name);
}

/* Puts the dotted name under which a file of that path is imported: null for what is no module's file. */
static void put_module(struct pt_json *json, const char *path)
{
    static const char package[] = "/__init__";
    size_t length = strlen(path), end = sizeof package - 1;
    if (*path == '/' || *path == '<' || length < 4 || strcmp(path + length - 3, ".py") != 0) {
        pt_json_text(json, "module", NULL);
        return;
    }
    length -= 3;
    if (length > end && strncmp(path + length - end, package, end) == 0)
        length -= end;
    PT_AUTO_FREE char *name = pt_strndup(path, length);
    for (char *at = name; (at = strchr(at, '/'));)
        *at = '.';
    pt_json_text(json, "module", name);
}

static void put_python(struct pt_json *json, const struct pt_report *report, const struct pt_frame *frame)
{
    const struct pt_profile *profile = report->profile;
    const struct pt_function *function = &profile->functions.items[frame->subject];
    uint32_t line = report->cli->lines && frame->line ? frame->line : function->first_line;
    pt_json_string(json, "name", profile, function->name);
    pt_json_string(json, "file", profile, function->file);
    pt_json_known(json, "line", line, line);
    put_module(json, pt_string(profile, function->short_file));
    put_class(json, pt_string(profile, function->name));
}

static void put_native(struct pt_json *json, const struct pt_report *report, const struct pt_frame *frame)
{
    const struct pt_profile *profile = report->profile;
    uint32_t path = frame->subject == PT_NONE ? 0 : profile->modules.items[frame->subject].path;
    uint32_t line = report->cli->lines ? frame->line : 0;
    PT_AUTO_BUFFER name = {0};
    pt_native_name(&name, profile, frame, report->cli->lines);
    pt_json_text(json, "name", name.data);
    pt_json_string(json, "file", profile, line ? frame->source : path);
    pt_json_known(json, "line", line, line);
    pt_json_text(json, "module", path ? pt_base_name(pt_string(profile, path)) : NULL);
    pt_json_text(json, "class", NULL);
}

static void put_total(struct pt_json *json, const struct pt_report *report, const struct pt_rows *rows,
                      const struct pt_total *total)
{
    static const char *const kinds[] = {
        [PP_FRAME_NATIVE] = "native", [PP_FRAME_PYTHON] = "python", [PP_FRAME_PSEUDO] = "pseudo"};
    static const char *const origins[] = {[PT_KIND_APPLICATION] = "application",
                                          [PT_KIND_PACKAGE] = "package",
                                          [PT_KIND_STANDARD] = "standard library",
                                          [PT_KIND_INTERPRETER] = "interpreter",
                                          [PT_KIND_NATIVE] = "library"};
    struct pt_profile *profile = report->profile;
    bool no_frame = total->frame == PT_NONE;
    const struct pt_frame *frame = no_frame ? NULL : &profile->frames.items[total->frame];
    uint32_t kind = no_frame ? PP_FRAME_PSEUDO : frame->kind;
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "text", pt_string(profile, total->text));
    pt_json_text(json, "kind", kinds[kind]);
    if (kind == PP_FRAME_PYTHON)
        put_python(json, report, frame);
    else if (kind == PP_FRAME_NATIVE)
        put_native(json, report, frame);
    if (kind != PP_FRAME_PSEUDO) {
        pt_json_text(json, "origin", origins[pt_kind_of(profile, frame)]);
        pt_json_string(json, "package", profile, pt_package_of(profile, total->frame));
    }
    pt_rows_put_times(json, rows, total);
    pt_json_end(json, '}');
}

static void put_totals(struct pt_json *json, const char *key, const struct pt_report *report,
                       const struct pt_rows *rows)
{
    uint32_t most = report->cli->top ? report->cli->top : UINT32_MAX;
    pt_rows_sort(rows->items, rows->count, pt_rows_by_total(report, false));
    pt_json_begin(json, key, '[');
    for (uint32_t i = 0; i < rows->count && i < most; i++)
        put_total(json, report, rows, &rows->items[i]);
    pt_json_end(json, ']');
}

void pt_report_functions_json(const struct pt_report *report, uint32_t process, uint32_t thread, struct pt_json *json)
{
    const struct pt_view_options options = {
        .lines = report->cli->lines, .only_process = process, .only_thread = thread};
    struct pt_view *view = pt_view_new(report->profile, &options);
    bool all = process == PT_NONE && thread == PT_NONE;
    struct pt_rows functions = pt_rows_of_view(report, view, all), python = functions;
    functions.items = pt_view_totals(report->profile, view, &functions.count);
    python.items = pt_report_python_rows(report->profile, view, functions.items, functions.count, &python.count);
    put_totals(json, "functions", report, &functions);
    put_totals(json, "python", report, &python);
    free(functions.items);
    free(python.items);
    pt_view_free(view);
}

struct pt_total *pt_report_python_rows(struct pt_profile *profile, const struct pt_view *view,
                                       const struct pt_total *totals, uint32_t total_count, uint32_t *count)
{
    uint32_t none = pt_intern_text(profile, PT_REPORT_NO_PYTHON);
    struct pt_total *self = pt_alloc(profile->strings.count, sizeof *self); /* by text */
    PT_AUTO_FREE uint32_t *frames = pt_alloc(view->nodes.count, sizeof *frames),
                          *texts = pt_alloc(view->nodes.count, sizeof *texts);
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
    return profile->frames.items[frame].kind == PP_FRAME_NATIVE ||
           pt_is_nameless_code(profile, &profile->frames.items[frame]);
}

void pt_report_functions(const struct pt_report *report, uint32_t process, uint32_t thread, unsigned which)
{
    struct pt_profile *profile = report->profile;
    bool lines = report->cli->lines, all = process == PT_NONE && thread == PT_NONE;
    const struct pt_view_options options = {.lines = lines, .only_process = process, .only_thread = thread};
    struct pt_view *view = pt_view_new(profile, &options);
    uint32_t count, total_count;
    PT_AUTO_FREE struct pt_total *totals = pt_view_totals(profile, view, &total_count);
    PT_AUTO_FREE struct pt_total *python = pt_report_python_rows(profile, view, totals, total_count, &count);
    struct pt_rows rows = pt_rows_of_view(report, view, all);
    rows.items = python;
    rows.count = count;
    rows.title = lines ? "PYTHON LINE, C code included" : "PYTHON FUNCTION, C code included";
    if (which & PT_FUNCTIONS)
        pt_rows_print(report, &rows);
    rows.title = lines ? "LINE OF THE APPLICATION" : "FUNCTION OF THE APPLICATION";
    rows.count = keep(profile, python, count, pt_is_application);
    rows.by_total = true;
    if (which & PT_FUNCTIONS)
        pt_rows_print(report, &rows);
    struct pt_report few = *report;
    few.top = report->cli->top ? report->top : report->top / NATIVE_ROWS_FEWER;
    rows.title = lines ? "NATIVE LINE" : "NATIVE FUNCTION";
    rows.items = totals;
    rows.by_total = false;
    rows.count = keep(profile, totals, total_count, is_native);
    rows.least = NATIVE_FROM;
    if (which & PT_NATIVE_FUNCTIONS)
        pt_rows_print(&few, &rows);
    pt_view_free(view);
}
