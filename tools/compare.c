#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "profile/summary.h"
#include "profile/view.h"

struct pp_side pp_side_of(struct pp_profile *profile)
{
    struct pp_side side = {.profile = profile, .cpu_ns = pp_profile_cpu_ns(profile)};
    uint64_t end;
    pp_summary_span(profile, &side.start_unix_ns, &end);
    side.wall_ns = end > side.start_unix_ns ? end - side.start_unix_ns : 0;
    side.sum = pp_summary_accounting(profile, PP_NONE);
    for (uint32_t i = 0; i < profile->functions.count; i++)
        profile->functions.items[i].first_line = 0;
    return side;
}

void pp_side_free(struct pp_side *side)
{
    pp_profile_free(side->profile);
    *side = (struct pp_side){0};
}

double pp_compare_value(const struct pp_side *side, enum pp_compare_by by, uint64_t ns)
{
    if (by == PP_COMPARE_CPU)
        return pp_percent(ns, side->cpu_ns);
    if (by == PP_COMPARE_TIME)
        return side->wall_ns ? 1e3 * (double)ns / (double)side->wall_ns : 0;
    return (double)ns / 1e9;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct pp_compared *)a)->text, ((const struct pp_compared *)b)->text);
}

/* Sorts, and makes one of what reads the same; the texts of the others are handed to drop(). */
static uint32_t unite(struct pp_compared *all, uint32_t count, void (*drop)(const char *text))
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
        if (drop)
            drop(all[i].text);
    }
    return kept;
}

static const struct pp_side *sorted_sides;
static enum pp_compare_by sorted_by;

static double change_of(const uint64_t ns[2])
{
    double change =
        pp_compare_value(&sorted_sides[1], sorted_by, ns[1]) - pp_compare_value(&sorted_sides[0], sorted_by, ns[0]);
    return change < 0 ? -change : change;
}

static int by_change(const void *a, const void *b)
{
    const struct pp_compared *x = a, *y = b;
    double u = change_of(x->self_ns), v = change_of(y->self_ns);
    if (u == v) {
        u = change_of(x->total_ns);
        v = change_of(y->total_ns);
    }
    if (u != v)
        return u > v ? -1 : 1;
    return strcmp(x->text, y->text);
}

struct pp_compared *pp_compare_functions(const struct pp_side sides[2], enum pp_compare_by by, bool lines,
                                         uint32_t *count)
{
    const struct pp_view_options options = {.lines = lines, .only_process = PP_NONE, .only_thread = PP_NONE};
    struct pp_compared *all = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t totals_count;
        struct pp_view *view = pp_view_new(sides[side].profile, &options);
        struct pp_total *totals = pp_view_totals(sides[side].profile, view, &totals_count);
        all = pp_grow(all, &capacity, (uint64_t)*count + totals_count + 1, sizeof *all);
        for (uint32_t i = 0; i < totals_count; i++) {
            struct pp_compared *one = &all[(*count)++];
            one->text = pp_string(sides[side].profile, totals[i].text);
            one->self_ns[side] = totals[i].self_ns;
            one->total_ns[side] = totals[i].total_ns;
        }
        free(totals);
        pp_view_free(view);
    }
    *count = unite(all, *count, NULL);
    sorted_sides = sides;
    sorted_by = by;
    qsort(all, *count, sizeof *all, by_change);
    return all;
}

static void drop(const char *text)
{
    free((char *)(uintptr_t)text);
}

struct pp_compared *pp_compare_stacks(const struct pp_side sides[2], bool lines, uint32_t *count)
{
    struct pp_compared *all = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (int side = 0; side < 2; side++) {
        /* As the exporter writes them: one place says how a stack reads. */
        static char *text;
        static size_t size;
        FILE *out = open_memstream(&text, &size);
        if (!out)
            break;
        pp_export_collapsed(sides[side].profile, &(struct pp_export_options){.lines = lines}, out);
        fclose(out);
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            char *space = strrchr(line, ' ');
            if (!space)
                continue;
            *space = '\0';
            all = pp_grow(all, &capacity, (uint64_t)*count + 1, sizeof *all);
            all[*count] = (struct pp_compared){.text = pp_strdup(line)};
            all[(*count)++].self_ns[side] = strtoull(space + 1, NULL, 10);
        }
        free(text);
    }
    *count = unite(all, *count, drop);
    return all;
}

void pp_compared_stacks_free(struct pp_compared *stacks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        drop(stacks[i].text);
    free(stacks);
}
