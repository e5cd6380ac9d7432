/* SPDX-License-Identifier: Apache-2.0 */
/* What imports cost: a tree of modules, each below that which imports it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../view/summary.h"
#include "report.h"

#define ROWS          20  /* unless --top says otherwise */
#define LEAST         0.5 /* per cent of all imports: what has less has no row, unless --top asks for many */
#define FIGURES_WIDTH 28  /* of a row, before its text */
#define INDENTATION   2

struct module {
    uint32_t parent, name;      /* name: string */
    uint64_t own_ns, ns;        /* ns: with what it imports */
    uint32_t first_child, next; /* PT_NONE: none */
};

/* 0: all imports; parents come first. */
struct modules {
    PT_TABLE_OF(struct module) items;
};
PT_DEFINE_ADD(static uint32_t add, struct modules, items, struct module, item->parent, item->name)

/* Returns the name of the module in a file, as import has it: "json.decoder". */
static uint32_t name_of(struct pt_profile *profile, const struct pt_function *function)
{
    static const char package[] = "/__init__";
    const char *file = pt_string(profile, function->short_file);
    size_t length = strlen(file), end = sizeof package - 1;
    length -= length > 3 && strcmp(file + length - 3, ".py") == 0 ? 3 : 0;
    length -= length > end && strncmp(file + length - end, package, end) == 0 ? end : 0;
    PT_AUTO_FREE char *name = pt_strndup(file, length);
    for (char *at = *name == '/' || *name == '<' ? NULL : name; at && (at = strchr(at, '/'));)
        *at = '.';
    return pt_intern_text(profile, name);
}

/* Returns, by node, the module whose import it is a part of, the innermost; PT_NONE: of none. The caller frees. What
 * finds and loads a module counts for the module that imports it. */
static uint32_t *modules_by_node(struct pt_profile *profile, struct modules *modules)
{
    uint32_t *of_node = pt_alloc(profile->nodes.count, sizeof *of_node);
    PT_AUTO_FREE bool *loading =
        pt_alloc(profile->nodes.count, sizeof *loading); /* the Python frame above is importlib's */
    of_node[0] = PT_NONE;
    add(modules, &(struct module){.parent = PT_NONE});
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        const struct pt_frame *frame = &profile->frames.items[node->frame];
        of_node[i] = of_node[node->parent];
        loading[i] = loading[node->parent];
        if (frame->kind != PP_FRAME_PYTHON)
            continue;
        const struct pt_function *function = &profile->functions.items[frame->subject];
        bool import = pt_is_importlib(profile, frame);
        if (import && of_node[i] == PT_NONE)
            of_node[i] = 0;
        if (loading[i] && !import && strcmp(pt_string(profile, function->name), "<module>") == 0)
            of_node[i] = add(modules, &(struct module){.parent = of_node[i], .name = name_of(profile, function)});
        loading[i] = import;
    }
    return of_node;
}

/* Puts the modules into the lists of those that import them, the costliest first. */
static void link_children(struct modules *modules)
{
    for (uint32_t i = 0; i < modules->items.count; i++)
        modules->items.items[i].first_child = modules->items.items[i].next = PT_NONE;
    for (uint32_t i = 1; i < modules->items.count; i++) {
        struct module *module = &modules->items.items[i];
        uint32_t *at = &modules->items.items[module->parent].first_child;
        while (*at != PT_NONE && modules->items.items[*at].ns >= module->ns)
            at = &modules->items.items[*at].next;
        module->next = *at;
        *at = i;
    }
}

static struct modules modules_of(const struct pt_report *report)
{
    struct modules modules = {0};
    PT_AUTO_FREE uint32_t *of_node = modules_by_node(report->profile, &modules);
    for (PT_EACH(const struct pt_sample, sample, &report->profile->samples))
        if (of_node[sample->node] != PT_NONE)
            modules.items.items[of_node[sample->node]].own_ns += sample->cpu_ns;
    for (uint32_t i = modules.items.count; i--;) {
        struct module *module = &modules.items.items[i];
        module->ns += module->own_ns;
        if (i)
            modules.items.items[module->parent].ns += module->ns;
    }
    link_children(&modules);
    return modules;
}

/* Returns the module after this one in the order of the tree; PT_NONE at its end. skip: without those below it. */
static uint32_t after(const struct modules *modules, uint32_t at, bool skip, uint32_t *depth)
{
    const struct module *items = modules->items.items;
    if (!skip && items[at].first_child != PT_NONE) {
        ++*depth;
        return items[at].first_child;
    }
    while (at && items[at].next == PT_NONE) {
        at = items[at].parent;
        --*depth;
    }
    return at ? items[at].next : PT_NONE;
}

PT_DEFINE_ORDER(by_cost, uint64_t, pt_compare(*y, *x))

/* Returns the least CPU time of the `most` costliest modules: so what costs much is shown, wherever it is in the tree.
 */
static uint64_t least_of(const struct modules *modules, uint32_t most, bool any)
{
    PT_AUTO_FREE uint64_t *ns = pt_alloc(modules->items.count, sizeof *ns);
    for (uint32_t i = 1; i < modules->items.count; i++)
        ns[i - 1] = modules->items.items[i].ns;
    qsort(ns, modules->items.count - 1, sizeof *ns, by_cost);
    uint64_t least = most < modules->items.count ? ns[most - 1] : 1;
    uint64_t worth = any ? 1 : (uint64_t)(LEAST / 100 * (double)modules->items.items[0].ns);
    return least > worth ? least : worth;
}

static void print_figures(const struct pt_report *report, const struct module *module)
{
    double total = pt_percent(module->ns, report->whole_ns);
    pt_print_styled(stdout, pt_style_of_share(total), "%7.2f s %5.1f %%", pt_seconds(module->ns), total);
    printf("  %5.1f %%  ", pt_percent(module->own_ns, report->whole_ns));
}

void pt_report_imports(const struct pt_report *report)
{
    struct modules modules = modules_of(report);
    const struct module *items = modules.items.items;
    uint32_t depth = 0, shown = 0, columns = pt_print_row_columns(stdout);
    if (!items[0].ns) {
        puts("\nNo import was sampled.");
        PT_FREE_TABLE(&modules.items);
        return;
    }
    uint64_t least = least_of(&modules, report->cli->top ? report->cli->top : ROWS, report->cli->top);
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%9s  MODULE, with what it imports below it\n", "TOTAL", "OWN");
    print_figures(report, &items[0]);
    puts("all imports");
    for (uint32_t at = after(&modules, 0, false, &depth); at != PT_NONE;) {
        bool skip = items[at].ns < least;
        if (!skip) {
            uint32_t indentation = INDENTATION * depth, used = FIGURES_WIDTH + indentation;
            PT_AUTO_BUFFER text = {0};
            print_figures(report, &items[at]);
            pt_fit_text(&text, pt_string(report->profile, items[at].name), columns > used + 10 ? columns - used : 10);
            printf("%*s%s\n", (int)indentation, "", text.data);
            shown++;
        }
        at = after(&modules, at, skip, &depth);
    }
    if (shown + 1 < modules.items.count)
        printf("%*sand %" PRIu32 " more (--top %" PRIu32 ")\n", FIGURES_WIDTH, "", modules.items.count - 1 - shown,
               modules.items.count - 1);
    PT_FREE_TABLE(&modules.items);
}
