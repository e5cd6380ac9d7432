#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/print.h"
#include "../profile/frame_text.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "report.h"

#define PSEUDO_ROWS    8
#define PYTHON_ROWS    10
#define HIDDEN_BELOW   0.05 /* per cent of self time: shown as 0.0 % otherwise */
#define MENTIONED_FROM 1.0  /* per cent of total time, for what is never at the leaf */
#define NAMELESS_FROM  10.0 /* per cent of self time: from here on names are worth some trouble */
#define NAMELESS_NAMED 4    /* modules to name */
#define FIGURES_WIDTH  42   /* of a row, before its text */

static bool is_kind(const struct pt_profile *profile, const struct pt_total *total, uint32_t kind)
{
    return profile->frames.items[total->frame].kind == kind;
}

static void print_row(const struct pt_report *report, const struct pt_total *total, uint64_t whole_ns)
{
    double self = pt_percent(total->self_ns, whole_ns);
    bool pseudo = is_kind(report->profile, total, PP_FRAME_PSEUDO);
    pt_print_styled(stdout, pseudo ? PT_STYLE_FAINT : pt_style_of_share(self), "%9.2f s %5.1f %%",
                    pt_seconds(total->self_ns), self);
    printf("  %9.2f s %5.1f %%  ", pt_seconds(total->total_ns), pt_percent(total->total_ns, whole_ns));
    pt_print_text(stdout, pt_string(report->profile, total->text), FIGURES_WIDTH,
                  pseudo ? PT_STYLE_FAINT : PT_STYLE_PLAIN);
}

static void print_by_self(const struct pt_report *report, const struct pt_total *totals, uint32_t count,
                          uint64_t whole_ns)
{
    uint32_t rows = 0, pseudo_rows = 0, hidden = 0;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n       SELF               TOTAL          %s\n",
                    report->cli->lines ? "LINE" : "FUNCTION");
    for (uint32_t i = 0; i < count; i++) {
        if (is_kind(report->profile, &totals[i], PP_FRAME_PSEUDO))
            continue;
        rows++;
        /* Callers that use no CPU themselves are listed only if --top asks for that many rows. */
        if (rows > report->top || (!totals[i].self_ns && !report->cli->top))
            hidden++;
        else
            print_row(report, &totals[i], whole_ns);
    }
    for (uint32_t i = 0; i < count && pseudo_rows < PSEUDO_ROWS; i++) {
        if (!is_kind(report->profile, &totals[i], PP_FRAME_PSEUDO) ||
            (pt_percent(totals[i].self_ns, whole_ns) < HIDDEN_BELOW &&
             pt_percent(totals[i].total_ns, whole_ns) < MENTIONED_FROM))
            continue;
        print_row(report, &totals[i], whole_ns);
        pseudo_rows++;
    }
    if (hidden)
        printf("  and %u more (--top %u)\n", hidden, rows);
}

static int by_self(const void *a, const void *b)
{
    const struct pt_total *x = a, *y = b;
    return pt_compare(y->self_ns, x->self_ns) ?: pt_compare(y->total_ns, x->total_ns) ?: pt_compare(x->text, y->text);
}

/* Makes the self time of Python functions that of their native callees as well: of all samples in which they are the
 * innermost Python function. */
static void add_native_callees(const struct pt_profile *profile, const struct pt_view *view, struct pt_total *totals,
                               uint32_t count)
{
    uint64_t *ns_of_text = pt_alloc(profile->strings.count, sizeof *ns_of_text);
    uint32_t *innermost = pt_alloc(view->nodes.count, sizeof *innermost); /* text, 0 for none */
    for (uint32_t i = 1; i < view->nodes.count; i++) {
        const struct pt_view_node *node = &view->nodes.items[i];
        bool python = node->frame != PT_NONE && profile->frames.items[node->frame].kind == PP_FRAME_PYTHON;
        innermost[i] = python ? node->text : innermost[node->parent];
        ns_of_text[innermost[i]] += node->ns;
    }
    for (uint32_t i = 0; i < count; i++)
        totals[i].self_ns = ns_of_text[totals[i].text];
    free(innermost);
    free(ns_of_text);
}

/* If native code uses the CPU, none of the program's own functions may be among the first by self time. */
static void print_python(const struct pt_report *report, const struct pt_view *view, struct pt_total *totals,
                         uint32_t count, uint64_t whole_ns)
{
    uint32_t rows = 0;
    add_native_callees(report->profile, view, totals, count);
    qsort(totals, count, sizeof *totals, by_self);
    for (uint32_t i = 0; i < count && rows < PYTHON_ROWS && rows < report->top; i++) {
        if (!is_kind(report->profile, &totals[i], PP_FRAME_PYTHON) ||
            pt_percent(totals[i].self_ns, whole_ns) < HIDDEN_BELOW)
            continue;
        if (!rows++)
            pt_print_styled(stdout, PT_STYLE_HEADING,
                            "\n  SELF + NATIVE           TOTAL          PYTHON, native callees included\n");
        print_row(report, &totals[i], whole_ns);
    }
}

struct pt_report_native pt_report_native(const struct pt_profile *profile)
{
    return (struct pt_report_native){profile->kind_ns[PT_KIND_INTERPRETER], profile->kind_ns[PT_KIND_NATIVE]};
}

void pt_report_functions(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    const struct pt_view_options options = {
        .lines = report->cli->lines, .only_process = process, .only_thread = thread};
    struct pt_view *view = pt_view_new(report->profile, &options);
    bool all = process == PT_NONE && thread == PT_NONE;
    uint64_t whole_ns = all ? report->whole_ns : view->nodes.items[0].total_ns;
    uint32_t count;
    struct pt_total *totals = pt_view_totals(report->profile, view, &count);
    print_by_self(report, totals, count, whole_ns);
    print_python(report, view, totals, count, whole_ns);
    free(totals);
    pt_view_free(view);
}

static void put_total(struct pt_json *json, const struct pt_report *report, const struct pt_total *total)
{
    static const char *const kinds[] = {
        [PP_FRAME_NATIVE] = "native", [PP_FRAME_PYTHON] = "python", [PP_FRAME_PSEUDO] = "pseudo"};
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "text", pt_string(report->profile, total->text));
    pt_json_text(json, "kind", kinds[report->profile->frames.items[total->frame].kind]);
    pt_json_number(json, "self_ns", total->self_ns);
    pt_json_number(json, "total_ns", total->total_ns);
    pt_json_end(json, '}');
}

void pt_report_functions_json(const struct pt_report *report, uint32_t process, uint32_t thread, struct pt_json *json)
{
    const struct pt_view_options options = {
        .lines = report->cli->lines, .only_process = process, .only_thread = thread};
    struct pt_view *view = pt_view_new(report->profile, &options);
    uint32_t count, most = report->cli->top ? report->cli->top : UINT32_MAX, shown = 0;
    struct pt_total *totals = pt_view_totals(report->profile, view, &count);
    pt_json_begin(json, "functions", '[');
    for (uint32_t i = 0; i < count && i < most; i++)
        put_total(json, report, &totals[i]);
    pt_json_end(json, ']');
    add_native_callees(report->profile, view, totals, count);
    qsort(totals, count, sizeof *totals, by_self);
    pt_json_begin(json, "python", '[');
    for (uint32_t i = 0; i < count && shown < most; i++)
        if (is_kind(report->profile, &totals[i], PP_FRAME_PYTHON)) {
            put_total(json, report, &totals[i]);
            shown++;
        }
    pt_json_end(json, ']');
    free(totals);
    pt_view_free(view);
}

void pt_report_nameless(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t *ns_of_module = pt_alloc(profile->modules.count, sizeof *ns_of_module), nameless_ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t frame = profile->nodes.items[profile->samples.items[i].node].frame;
        if (frame == PT_NONE || profile->frames.items[frame].kind != PP_FRAME_NATIVE)
            continue;
        uint32_t module = profile->frames.items[frame].subject;
        if (profile->frames.items[frame].symbol || module == PT_NONE || !profile->modules.items[module].build_id)
            continue;
        ns_of_module[module] += profile->samples.items[i].cpu_ns;
        nameless_ns += profile->samples.items[i].cpu_ns;
    }
    if (pt_percent(nameless_ns, report->whole_ns) >= NAMELESS_FROM) {
        struct pt_buffer modules = {0};
        for (unsigned named = 0; named < NAMELESS_NAMED; named++) {
            uint32_t most = 0;
            for (uint32_t i = 1; i < profile->modules.count; i++)
                if (ns_of_module[i] > ns_of_module[most])
                    most = i;
            if (pt_percent(ns_of_module[most], report->whole_ns) < MENTIONED_FROM)
                break;
            pt_buffer_format(&modules, "%s %s", named ? "," : "",
                             pt_base_name(pt_string(profile, profile->modules.items[most].path)));
            ns_of_module[most] = 0;
        }
        putchar('\n');
        pt_print_paragraph(
            0, 2,
            "Hint: native functions without a name took %.1f %% of the CPU time. Debug symbols would name "
            "them (on Debian and Ubuntu the -dbgsym packages; this profile need not be taken again):%s.",
            pt_percent(nameless_ns, report->whole_ns), modules.length ? modules.data : "");
        pt_buffer_free(&modules);
    }
    free(ns_of_module);
}
