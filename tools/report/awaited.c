/* SPDX-License-Identifier: Apache-2.0 */
#include "awaited.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/fit.h"
#include "../base/print.h"
#include "../load/source_text.h"
#include "../model/frame_text.h"
#include "../model/http_requests.h"
#include "../model/task_stacks.h"
#include "../query/group.h"
#include "../query/package.h"
#include "../view/summary.h"
#include "numbered.h"
#include "sums_json.h"

#define MIN         0.1 /* of an endpoint's CPU time: what has less is not worth a line */
#define DEEPER      0.6 /* of what is awaited: what is awaited in it, and has as much, is said instead */
#define HEADING     50  /* lines from a function's first decorator to its `def` */
#define INDENTATION 12
#define NAME_WIDTH  24 /* columns of what awaits, on a terminal; the end of the line is cut where there is no room */

void pt_print_awaited(const struct pt_profile *profile, const struct pt_awaited *awaited, uint64_t whole_ns)
{
    const struct pt_function *function = &profile->functions.items[awaited->function];
    PT_AUTO_BUFFER text = pt_formatted(
        "%*s%.0f %% of it awaited at %s:%" PRIu32 " in %s", INDENTATION, "", pt_percent(awaited->ns, whole_ns),
        pt_base_name(pt_string(profile, function->short_file)), awaited->line, awaited->outside_task ? "task " : "");
    pt_fit_text(&text, pt_string(profile, awaited->outside_task ?: function->name),
                pt_print_columns(stdout) ? NAME_WIDTH : 0);
    pt_buffer_format(&text, ": %s%s",
                     awaited->what == PT_AWAITED_TASK     ? "task "
                     : awaited->what == PT_AWAITED_THREAD ? "a thread"
                                                          : "",
                     pt_string(profile, awaited->name));
    pt_print_text(stdout, text.data, 0, PT_STYLE_PLAIN);
}

void pt_json_awaited(struct pt_json *json, const struct pt_profile *profile, const struct pt_awaited *awaited)
{
    static const char *const words[] = {"task", "thread", "coroutine"};
    const struct pt_function *function = &profile->functions.items[awaited->function];
    pt_json_begin(json, "awaited", '{');
    pt_json_text(json, "kind", words[awaited->what]);
    pt_json_string(json, "name", profile, awaited->name);
    pt_json_number(json, "cpu_ns", awaited->ns);
    pt_json_string(json, "function", profile, function->name);
    pt_json_string(json, "file", profile, function->file);
    pt_json_number(json, "line", awaited->line);
    pt_json_string(json, "in_task", profile, awaited->outside_task);
    pt_json_end(json, '}');
}

/* A function, the line that it runs, or what that awaits. Step 0 is before the endpoint's own functions. */
struct step {
    uint32_t parent;
    enum { STEP_NONE, STEP_FUNCTION, STEP_LINE, STEP_TASK, STEP_THREAD } kind;
    uint32_t subject; /* function, line or name of a task */
};

struct pt_awaits {
    struct pt_profile *profile;
    struct pt_group endpoints;
    PT_TABLE_OF(struct step) steps;
    uint32_t *step_of;                         /* by node */
    enum { NOT_READ, NO, YES } * is_coroutine; /* by function */
};
PT_DEFINE_ADD(static uint32_t add_step, struct pt_awaits, steps, struct step, item->parent, item->kind, item->subject)

/* Returns, by frame, the name of a task, as a string; 0: it is no task. Names that differ in their numbers only are
 * one. The caller frees. */
static uint32_t *task_names(struct pt_profile *profile)
{
    uint32_t *names = pt_alloc(profile->frames.count, sizeof *names);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
        if (strncmp(text, PP_PSEUDO_TASK_NAMED, sizeof PP_PSEUDO_TASK_NAMED - 1) == 0)
            names[i] =
                pt_intern(profile, text + sizeof PP_PSEUDO_TASK_NAMED - 1, strlen(text) - sizeof PP_PSEUDO_TASK_NAMED);
    }
    PT_AUTO_FREE uint32_t *innermost = pt_alloc(profile->nodes.count, sizeof *innermost);
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        innermost[i] = names[profile->nodes.items[i].frame] ?: innermost[profile->nodes.items[i].parent];
    PT_AUTO_FREE uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        ns[innermost[profile->samples.items[i].node]] += profile->samples.items[i].cpu_ns;
    PT_AUTO_FREE uint32_t *rows = pt_join_numbered(profile, ns);
    for (uint32_t i = 0; i < profile->frames.count; i++)
        names[i] = rows[names[i]];
    return names;
}

static uint32_t add_after(struct pt_awaits *awaits, uint32_t parent, int kind, uint32_t subject)
{
    return add_step(awaits, &(struct step){.parent = parent, .kind = kind, .subject = subject});
}

static void add_steps(struct pt_awaits *awaits, const bool *application, const bool *past, const uint32_t *tasks)
{
    const struct pt_profile *profile = awaits->profile;
    add_after(awaits, PT_NONE, STEP_NONE, 0);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        uint32_t number = profile->nodes.items[i].frame, step = awaits->step_of[profile->nodes.items[i].parent];
        const struct pt_frame *frame = &profile->frames.items[number];
        bool pseudo = frame->kind == PP_FRAME_PSEUDO;
        if (application[number] && past[i]) {
            step = add_after(awaits, step, STEP_FUNCTION, frame->subject);
            step = add_after(awaits, step, STEP_LINE, pt_frame_line(profile, frame));
        } else if (step && tasks[number]) {
            step = add_after(awaits, step, STEP_TASK, tasks[number]);
        } else if (step && pseudo && strcmp(pt_string(profile, frame->subject), PP_PSEUDO_AWAITED) == 0) {
            step = add_after(awaits, step, STEP_THREAD, 0);
        }
        awaits->step_of[i] = step;
    }
}

struct pt_awaits *pt_awaits_of(struct pt_profile *profile, const char *by)
{
    if (strcmp(by, PT_COUNTED_BY) != 0)
        return NULL;
    struct pt_awaits *awaits = pt_alloc(1, sizeof *awaits);
    PT_AUTO_FREE uint32_t *tasks = task_names(profile);
    PT_AUTO_FREE bool *application = pt_applications(profile), *past = pt_past_middleware(profile);
    *awaits = (struct pt_awaits){.profile = profile, .endpoints = pt_group_by(profile, by)};
    awaits->step_of = pt_alloc(profile->nodes.count, sizeof *awaits->step_of);
    awaits->is_coroutine = pt_alloc(profile->functions.count, sizeof *awaits->is_coroutine);
    add_steps(awaits, application, past, tasks);
    return awaits;
}

/* Returns whether the source of the function says `async def`. */
static bool is_coroutine(const struct pt_awaits *awaits, uint32_t number)
{
    const struct pt_function *function = &awaits->profile->functions.items[number];
    const char *name = pt_string(awaits->profile, function->name), *dot = strrchr(name, '.');
    PT_AUTO_BUFFER heading = {0};
    if (awaits->is_coroutine[number])
        return awaits->is_coroutine[number] == YES;
    awaits->is_coroutine[number] = NO;
    pt_buffer_format(&heading, "async def %s", dot ? dot + 1 : name);
    PT_AUTO(pt_source_free) struct pt_source source = pt_source_read(awaits->profile, function);
    for (uint32_t line = function->first_line; source.text && line < function->first_line + HEADING; line++) {
        size_t length;
        const char *text = pt_source_line(&source, line, &length);
        if (!text)
            break;
        for (; length && (*text == ' ' || *text == '\t'); length--)
            text++;
        if (length < heading.length || strncmp(text, heading.data, heading.length) != 0)
            continue;
        awaits->is_coroutine[number] = YES;
        break;
    }
    return awaits->is_coroutine[number] == YES;
}

/* Returns whether a line of the application awaits what the step is. */
static bool is_awaited(const struct pt_awaits *awaits, uint32_t number)
{
    const struct step *step = &awaits->steps.items[number];
    if (!number || awaits->steps.items[step->parent].kind != STEP_LINE)
        return false;
    return step->kind == STEP_TASK || step->kind == STEP_THREAD ||
           (step->kind == STEP_FUNCTION && is_coroutine(awaits, step->subject));
}

static bool is_below(const struct pt_awaits *awaits, uint32_t step, uint32_t above)
{
    while (step > above)
        step = awaits->steps.items[step].parent;
    return step == above;
}

static struct pt_awaited described(const struct pt_awaits *awaits, uint32_t number, uint64_t ns)
{
    const struct step *steps = awaits->steps.items, *step = &steps[number], *line = &steps[step->parent];
    struct pt_awaited awaited = {.ns = ns, .line = line->subject, .function = steps[line->parent].subject};
    awaited.what = step->kind == STEP_TASK     ? PT_AWAITED_TASK
                   : step->kind == STEP_THREAD ? PT_AWAITED_THREAD
                                               : PT_AWAITED_COROUTINE;
    if (step->kind == STEP_TASK)
        awaited.name = step->subject;
    else if (step->kind == STEP_FUNCTION)
        awaited.name = awaits->profile->functions.items[step->subject].name;
    for (uint32_t at = step->parent; at && !awaited.outside_task; at = steps[at].parent)
        awaited.outside_task = steps[at].kind == STEP_TASK ? steps[at].subject : 0;
    return awaited;
}

struct pt_awaited pt_hot_awaited(const struct pt_awaits *awaits, uint32_t value)
{
    const struct pt_profile *profile = awaits->profile;
    uint64_t *ns = pt_alloc(awaits->steps.count, sizeof *ns), whole_ns = 0, best_ns = 0;
    uint32_t best = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        if (pt_group_value(&awaits->endpoints, sample) != value)
            continue;
        ns[awaits->step_of[sample->node]] += sample->cpu_ns;
        whole_ns += sample->cpu_ns;
    }
    for (uint32_t i = awaits->steps.count; --i;)
        ns[awaits->steps.items[i].parent] += ns[i];
    for (uint32_t next = 1; next;) {
        double least = best ? DEEPER * (double)best_ns : MIN * (double)whole_ns;
        next = best_ns = 0;
        for (uint32_t i = best + 1; i < awaits->steps.count; i++)
            if (ns[i] > best_ns && (double)ns[i] >= least && is_below(awaits, i, best) && is_awaited(awaits, i))
                best_ns = ns[next = i];
        best = next ?: best;
    }
    struct pt_awaited awaited = best ? described(awaits, best, ns[best]) : (struct pt_awaited){0};
    free(ns);
    return awaited;
}

void pt_awaits_free(struct pt_awaits *awaits)
{
    if (!awaits)
        return;
    pt_group_free(&awaits->endpoints);
    PT_FREE_TABLE(&awaits->steps);
    free(awaits->step_of);
    free(awaits->is_coroutine);
    free(awaits);
}
