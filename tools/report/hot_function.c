/* SPDX-License-Identifier: Apache-2.0 */
#include "hot_function.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../model/frame_text.h"
#include "../query/group.h"
#include "../query/package.h"
#include "../view/own_code.h"
#include "report.h"

#define OWN      0.25 /* of the samples, that the application's function must have */
#define COMMON   0.8  /* of an outermost call: a call in it that has as much says nothing */
#define MIN      0.25 /* of such a call: what has less says less than it */
#define UNPARTED 0.6  /* of the first call where they have parted: a call in it that has as much is said instead */

struct call {
    uint32_t parent, text, frame, package;
    uint64_t self_ns, ns, others_ns;
};

struct calls {
    PT_TABLE_OF(struct call) items; /* 0: the root; parents come first */
};
PT_DEFINE_ADD(static uint32_t add_call, struct calls, items, struct call, item->parent, item->text)

/* Returns whether the frame is a Python function, or CPU time without one, and not how Python imports. */
static bool is_shown(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    if (pt_self_frame(profile, number, PT_NONE) != number)
        return false;
    return frame->kind != PP_FRAME_PYTHON || !pt_is_importlib(profile, frame);
}

/* Returns the calls of functions, whatever their lines and the native code between them. The caller frees the items. */
static struct calls calls_of(const struct pt_profile *profile, const uint32_t *texts, const uint32_t *packages,
                             const uint64_t *ns, const uint64_t *others_ns)
{
    struct calls calls = {0};
    PT_AUTO_FREE uint32_t *call_of = pt_alloc(profile->nodes.count, sizeof *call_of);
    add_call(&calls, &(struct call){.parent = PT_NONE, .frame = PT_NONE});
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        call_of[i] = i ? call_of[node->parent] : 0;
        if (i && is_shown(profile, node->frame))
            call_of[i] = add_call(&calls, &(struct call){.parent = call_of[i],
                                                         .text = texts[node->frame],
                                                         .frame = node->frame,
                                                         .package = packages[i]});
        calls.items.items[call_of[i]].ns += ns[i];
        calls.items.items[call_of[i]].others_ns += others_ns[i];
    }
    for (uint32_t i = 0; i < calls.items.count; i++)
        calls.items.items[i].self_ns = calls.items.items[i].ns;
    for (uint32_t i = calls.items.count; --i;) {
        calls.items.items[calls.items.items[i].parent].ns += calls.items.items[i].ns;
        calls.items.items[calls.items.items[i].parent].others_ns += calls.items.items[i].others_ns;
    }
    return calls;
}

/* Returns, by call, the call in it that has most; 0: there is none. The caller frees. */
static uint32_t *largest_calls(const struct calls *calls)
{
    uint32_t *largest = pt_alloc(calls->items.count, sizeof *largest);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        uint32_t *of_parent = &largest[calls->items.items[i].parent];
        if (calls->items.items[i].ns > (*of_parent ? calls->items.items[*of_parent].ns : 0))
            *of_parent = i;
    }
    return largest;
}

/* Returns the application's function that most samples are in, what it calls outside of it included, unless it is what
 * starts the program: what no library calls, and what leads to the other samples, too. What middleware calls counts for
 * the packages. */
static struct pt_hot_function hot_application_function(const struct pt_profile *profile, const struct calls *calls)
{
    const struct call *items = calls->items.items;
    struct pt_hot_function hot = {0};
    PT_AUTO_FREE uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns); /* by text */
    PT_AUTO_FREE bool *in_library = pt_alloc(calls->items.count, sizeof *in_library);
    PT_AUTO_FREE uint32_t *own = pt_alloc(calls->items.count, sizeof *own);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        const struct call *call = &items[i];
        bool application = pt_is_application(profile, call->frame);
        bool apart = items[call->parent].others_ns && call->parent && !call->others_ns;
        in_library[i] = in_library[call->parent] || !application;
        own[i] = application && (in_library[call->parent] || apart) ? call->text : own[call->parent];
        if (own[i] && call->package)
            own[i] = call->package;
        if (!own[i])
            continue;
        ns[own[i]] += call->self_ns;
        if (ns[own[i]] > hot.ns)
            hot = (struct pt_hot_function){.text = own[i], .ns = ns[own[i]]};
    }
    return hot;
}

/* Goes along the largest calls, and returns the text of the last that is worth saying; 0: there is none. */
static uint32_t walk(const struct pt_profile *profile, const struct calls *calls, const uint32_t *largest)
{
    const struct call *items = calls->items.items;
    uint32_t at = 0;
    bool starting = true, parted = false; /* only the application's have been called; not all samples are in the call */
    double first_ns = 0;                  /* where they have parted */
    for (uint32_t next = largest[0]; next; next = largest[at = next]) {
        double ns = (double)items[next].ns;
        parted = parted || !(starting || (double)items[at].ns >= COMMON * (double)items[largest[0]].ns);
        if (parted && first_ns <= 0)
            first_ns = (double)items[at].ns;
        if (at && ns < (parted ? UNPARTED * first_ns : MIN * (double)items[at].ns))
            break;
        starting = starting && pt_is_application(profile, items[next].frame);
    }
    return items[at].text;
}

/* Returns what was used in the function and all that it called. */
static uint64_t total_of(const struct calls *calls, uint32_t text)
{
    uint64_t total_ns = 0;
    PT_AUTO_FREE bool *inside = pt_alloc(calls->items.count, sizeof *inside);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        const struct call *call = &calls->items.items[i];
        inside[i] = inside[call->parent] || call->text == text;
        total_ns += inside[i] ? call->self_ns : 0;
    }
    return total_ns;
}

/* Returns the application's function that has most of the samples, or the package that has them below middleware,
 * unless that is little: then goes from the outermost calls to where the samples part, and returns the function there.
 * What starts a server is in all of its stacks and says nothing. texts: by frame (frame_text.h); packages: by node,
 * text for a package that works for middleware or nothing of the application, 0 for others; ns: CPU time of the samples
 * in question, by node; others_ns: of all others. */
static struct pt_hot_function hot_path_function(const struct pt_profile *profile, const uint32_t *texts,
                                                const uint32_t *packages, const uint64_t *ns, const uint64_t *others_ns)
{
    struct calls calls = calls_of(profile, texts, packages, ns, others_ns);
    struct pt_hot_function hot = hot_application_function(profile, &calls);
    if ((double)hot.ns < OWN * (double)calls.items.items[0].ns) {
        PT_AUTO_FREE uint32_t *largest = largest_calls(&calls);
        hot.text = walk(profile, &calls, largest);
        hot.ns = total_of(&calls, hot.text);
    }
    PT_FREE_TABLE(&calls.items);
    return hot;
}

enum outside { OUTSIDE_NONE, OUTSIDE_UNKNOWN_ROUTE, OUTSIDE_COUNT };

struct pt_hot_functions {
    const struct pt_profile *profile;
    uint32_t *texts;   /* by frame */
    uint32_t *package; /* by node: string that says the package that counts; 0: the application's function does */
    uint32_t *shown;   /* by node: what its samples count for, a string */
    uint32_t *line_of; /* by node: the application's frame whose line they count for; PT_NONE: none */
    struct pt_row_parts functions, lines; /* by value: texts of functions or packages, frames */
    uint32_t imports;                     /* string: the row of these; 0: they have none */
    uint32_t *import_package;             /* by node: text that says the package, a string */
    /* What has no value because servers and event loops run it. */
    bool has_outside;
    uint32_t outside[OUTSIDE_COUNT];                  /* strings */
    uint64_t *outside_ns[OUTSIDE_COUNT], *samples_ns; /* by node; of all samples */
};

/* Returns, by node, text that says the package if the stack has no function of the application but middleware and an
 * installed package below that; 0 for others. The caller frees. */
static uint32_t *packages_below_middleware(struct pt_profile *profile)
{
    uint32_t *of_node = pt_alloc(profile->nodes.count, sizeof *of_node);
    if (!profile->middleware)
        return of_node;
    PT_AUTO_FREE bool *past = pt_past_middleware(profile), *application = pt_applications(profile);
    PT_AUTO_FREE uint32_t *of_frame = pt_alloc(profile->frames.count, sizeof *of_frame);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        if (application[i] || !pt_has_package(profile, i))
            continue;
        PT_AUTO_BUFFER text = pt_formatted(PT_HOT_PACKAGE "%s", pt_string(profile, pt_package_of(profile, i)));
        of_frame[i] = pt_intern_text(profile, text.data);
    }
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        if (!past[i] && !application[node->frame])
            of_node[i] = of_frame[node->frame] ?: of_node[node->parent];
    }
    return of_node;
}

/* Returns the function's text, after that of the application's function that led to it, unless this is middleware or
 * only starts the program: "rank → price_of (shop.py:7)". */
static uint32_t with_caller(struct pt_profile *profile, const struct pt_own_code *own, uint32_t node, uint32_t text)
{
    if (own->caller[node] == PT_NONE)
        return text;
    uint32_t caller = profile->frames.items[own->caller[node]].subject;
    const char *name = pt_string(profile, profile->functions.items[caller].name);
    if ((profile->middleware && profile->middleware[caller]) || strcmp(name, "<module>") == 0)
        return text;
    PT_AUTO_BUFFER both = pt_formatted("%s → %s", name, pt_string(profile, text));
    return pt_intern_text(profile, both.data);
}

/* Fills in, by node, what its samples count for: the innermost function of the application, or the package; without
 * both, or where the values are packages themselves, the innermost function of Python. */
static void choose_shown(struct pt_hot_functions *hot, struct pt_profile *profile, bool by_package)
{
    uint32_t no_python = pt_intern_text(profile, PT_REPORT_NO_PYTHON);
    PT_AUTO_FREE uint32_t *innermost = pt_self_frames(profile);
    PT_AUTO(pt_own_code_free) struct pt_own_code own = pt_own_code_of(profile, false);
    hot->shown = pt_alloc(profile->nodes.count, sizeof *hot->shown);
    hot->line_of = pt_alloc(profile->nodes.count, sizeof *hot->line_of);
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        bool has_own = own.application && own.frame[i] != PT_NONE && !hot->package[i];
        uint32_t frame = has_own ? own.frame[i] : innermost[i];
        uint32_t text = frame == PT_NONE ? no_python : hot->texts[frame];
        hot->line_of[i] = has_own ? frame : PT_NONE;
        hot->shown[i] = hot->package[i] && !by_package ? hot->package[i]
                        : has_own && !by_package       ? with_caller(profile, &own, i, text)
                                                       : text;
    }
}

/* Returns, by node, text that says the package whose code runs. The caller frees. */
static uint32_t *packages_of_imports(struct pt_profile *profile)
{
    uint32_t *packages = pt_packages_by_node(profile);
    PT_AUTO_FREE uint32_t *texts = pt_alloc(profile->strings.count, sizeof *texts);
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        uint32_t package = packages[i];
        if (!package)
            continue;
        if (!texts[package]) {
            PT_AUTO_BUFFER text = pt_formatted(PT_HOT_PACKAGE "%s", pt_string(profile, package));
            texts[package] = pt_intern_text(profile, text.data);
        }
        packages[i] = texts[package];
    }
    return packages;
}

struct pt_hot_functions *pt_hot_functions_new(struct pt_profile *profile, const char *by, bool lines)
{
    struct pt_hot_functions *hot = pt_alloc(1, sizeof *hot);
    *hot = (struct pt_hot_functions){.profile = profile, .texts = pt_frame_texts(profile, lines)};
    hot->package = packages_below_middleware(profile);
    choose_shown(hot, profile, strcmp(by, "package") == 0);
    hot->has_outside = pt_has_outside(by);
    if (!hot->has_outside)
        return hot;
    hot->imports = pt_intern_text(profile, PT_IMPORTS);
    hot->import_package = packages_of_imports(profile);
    hot->outside[OUTSIDE_UNKNOWN_ROUTE] = pt_intern_text(profile, PP_UNKNOWN_ROUTE);
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        hot->outside_ns[i] = pt_alloc(profile->nodes.count, sizeof *hot->outside_ns[i]);
    hot->samples_ns = pt_alloc(profile->nodes.count, sizeof *hot->samples_ns);
    return hot;
}

void pt_hot_functions_add(struct pt_hot_functions *hot, uint32_t value, const struct pt_sample *sample)
{
    bool import = value && value == hot->imports;
    uint32_t text = import ? hot->import_package[sample->node] : hot->shown[sample->node];
    pt_row_parts_add(&hot->functions, value, text, sample->cpu_ns);
    if (hot->line_of[sample->node] != PT_NONE)
        pt_row_parts_add(&hot->lines, value, hot->line_of[sample->node], sample->cpu_ns);
    if (!hot->has_outside)
        return;
    hot->samples_ns[sample->node] += sample->cpu_ns;
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        hot->outside_ns[i][sample->node] += hot->outside[i] == value ? sample->cpu_ns : 0;
}

void pt_hot_functions_join(struct pt_hot_functions *hot, const uint32_t *rows)
{
    pt_row_parts_join(&hot->functions, rows);
    pt_row_parts_join(&hot->lines, rows);
}

/* Returns it for a value that is none: the application's innermost function would be what started the server. */
static struct pt_hot_function hot_outside(const struct pt_hot_functions *hot, const uint64_t *ns)
{
    PT_AUTO_FREE uint64_t *others_ns = pt_alloc(hot->profile->nodes.count, sizeof *others_ns);
    for (uint32_t i = 0; i < hot->profile->nodes.count; i++)
        others_ns[i] = hot->samples_ns[i] - ns[i];
    return hot_path_function(hot->profile, hot->texts, hot->package, ns, others_ns);
}

struct pt_hot_function *pt_hot_functions_by_value(const struct pt_hot_functions *hot)
{
    uint32_t strings = hot->profile->strings.count;
    struct pt_hot_function *functions = pt_alloc(strings, sizeof *functions);
    PT_AUTO_FREE struct pt_row_part *most = pt_row_parts_most(&hot->functions, strings);
    for (uint32_t i = 0; i < strings; i++)
        functions[i] = (struct pt_hot_function){.text = most[i].part, .ns = most[i].ns};
    for (int i = 0; hot->has_outside && i < OUTSIDE_COUNT; i++) {
        struct pt_hot_function *of_value = &functions[hot->outside[i]];
        struct pt_hot_function outside = of_value->ns ? hot_outside(hot, hot->outside_ns[i]) : *of_value;
        *of_value = outside.text ? outside : *of_value;
    }
    uint32_t count;
    uint32_t *rows;
    PT_AUTO_FREE struct pt_hot_line *lines = pt_hot_lines_sorted(hot->profile, &hot->lines, &rows, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!functions[rows[i]].line.ns)
            functions[rows[i]].line = lines[i];
    free(rows);
    return functions;
}

void pt_hot_functions_free(struct pt_hot_functions *hot)
{
    free(hot->texts);
    free(hot->package);
    free(hot->shown);
    free(hot->line_of);
    free(hot->import_package);
    pt_row_parts_free(&hot->lines);
    pt_row_parts_free(&hot->functions);
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        free(hot->outside_ns[i]);
    free(hot->samples_ns);
    free(hot);
}
