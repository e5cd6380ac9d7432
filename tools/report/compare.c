#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "../export/export.h"
#include "../view/call_tree.h"
#include "../view/summary.h"

struct pt_side pt_side_of(struct pt_profile *profile)
{
    struct pt_side side = {.profile = profile, .cpu_ns = pt_profile_cpu_ns(profile)};
    uint64_t end;
    pt_profile_span(profile, &side.start_unix_ns, &end);
    side.wall_ns = end > side.start_unix_ns ? end - side.start_unix_ns : 0;
    side.sum = pt_summary_accounting(profile, PT_NONE);
    for (uint32_t i = 0; i < profile->functions.count; i++)
        profile->functions.items[i].first_line = 0;
    return side;
}

double pt_compare_value(const struct pt_side *side, enum pt_compare_by by, uint64_t ns)
{
    if (by == PT_COMPARE_CPU)
        return pt_percent(ns, side->cpu_ns);
    if (by == PT_COMPARE_TIME)
        return side->wall_ns ? 1e3 * (double)ns / (double)side->wall_ns : 0;
    return (double)ns / 1e9;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct pt_compared *)a)->text, ((const struct pt_compared *)b)->text);
}

/* Sorts, and merges items with equal texts; frees the texts that are not needed any more, if they are owned. */
static uint32_t unite(struct pt_compared *all, uint32_t count, bool owned)
{
    uint32_t kept = 0;
    if (!all || !count)
        return 0;
    qsort(all, count, sizeof *all, by_text);
    for (uint32_t i = 0; i < count; i++) {
        if (!kept || strcmp(all[kept - 1].text, all[i].text) != 0) {
            all[kept++] = all[i];
            continue;
        }
        for (int side = 0; side < 2; side++) {
            all[kept - 1].self_ns[side] += all[i].self_ns[side];
            all[kept - 1].total_ns[side] += all[i].total_ns[side];
        }
        if (owned)
            free((char *)(uintptr_t)all[i].text);
    }
    return kept;
}

/* Says how the change of a function is measured. */
struct measure {
    const struct pt_side *sides;
    enum pt_compare_by by;
};

static double change_of(const struct measure *measure, const uint64_t ns[2])
{
    double change = pt_compare_value(&measure->sides[1], measure->by, ns[1]) -
                    pt_compare_value(&measure->sides[0], measure->by, ns[0]);
    return change < 0 ? -change : change;
}

static int by_change(const void *a, const void *b, void *measure)
{
    const struct pt_compared *x = a, *y = b;
    double u = change_of(measure, x->self_ns), v = change_of(measure, y->self_ns);
    if (u == v) {
        u = change_of(measure, x->total_ns);
        v = change_of(measure, y->total_ns);
    }
    if (u != v)
        return u > v ? -1 : 1;
    return strcmp(x->text, y->text);
}

struct pt_compared *pt_compare_functions(const struct pt_side sides[2], enum pt_compare_by by, bool lines,
                                         uint32_t *count)
{
    const struct pt_view_options options = {.lines = lines, .only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_compared *all = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t totals_count;
        struct pt_view *view = pt_view_new(sides[side].profile, &options);
        struct pt_total *totals = pt_view_totals(sides[side].profile, view, &totals_count);
        all = pt_grow(all, &capacity, (uint64_t)*count + totals_count + 1, sizeof *all);
        for (uint32_t i = 0; i < totals_count; i++) {
            struct pt_compared *one = &all[(*count)++];
            one->text = pt_string(sides[side].profile, totals[i].text);
            one->self_ns[side] = totals[i].self_ns;
            one->total_ns[side] = totals[i].total_ns;
        }
        free(totals);
        pt_view_free(view);
    }
    *count = unite(all, *count, false);
    qsort_r(all, *count, sizeof *all, by_change, &(struct measure){sides, by});
    return all;
}

struct pt_compared *pt_compare_stacks(const struct pt_side sides[2], bool lines, uint32_t *count)
{
    struct pt_compared *all = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (int side = 0; side < 2; side++) {
        /* The exporter writes them: one place decides how a stack reads. */
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        if (!out)
            break;
        pt_export_collapsed(sides[side].profile, &(struct pt_export_options){.lines = lines}, out);
        fclose(out);
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            char *space = strrchr(line, ' ');
            if (!space)
                continue;
            *space = '\0';
            all = pt_grow(all, &capacity, (uint64_t)*count + 1, sizeof *all);
            all[*count] = (struct pt_compared){.text = pt_strdup(line)};
            all[(*count)++].self_ns[side] = strtoull(space + 1, NULL, 10);
        }
        free(text);
    }
    *count = unite(all, *count, true);
    return all;
}

void pt_compared_stacks_free(struct pt_compared *stacks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free((char *)(uintptr_t)stacks[i].text);
    free(stacks);
}
