/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/output.h"
#include "../export/export.h"
#include "../load/runs.h"
#include "../model/frame_text.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "compare_runs.h"
#include "request_columns.h"

/* Of two profiles of about the same size: as many samples, all of which are on one side, are no more than chance. Less
 * need not be tested, and do not make the correction for the number of tests harsher. */
#define FEWEST_SAMPLES 6
#define WHOLE_SHARE    100  /* times what a part takes: what is not the part */
#define CHANCE         0.05 /* below it runs differ by more than chance */

struct pt_side pt_side_of(struct pt_profile *profile)
{
    struct pt_side side = {.profile = profile, .draws = pt_draws_of(profile)};
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &side.run_count);
    side.sum = pt_summary_accounting(profile, PT_NONE);
    side.whole_ns = pt_summary_program_ns(profile);
    side.start_unix_ns = side.run_count ? runs[side.run_count - 1].start_unix_ns : 0;
    if (!profile->selected)
        side.runs = pt_cpu_of_runs(profile);
    for (uint32_t i = 0; i < profile->functions.count; i++)
        profile->functions.items[i].first_line = 0;
    return side;
}

bool pt_has_cpu_changed(const struct pt_side sides[2])
{
    const struct pt_several *a = &sides[0].runs, *b = &sides[1].runs;
    return a->count > 1 && b->count > 1 && pt_means_chance(a, b) <= CHANCE;
}

const char *pt_compare_word(enum pt_compare_by by)
{
    static const char *const words[] = {"share", "time", "cpu", "request"};
    return words[by];
}

double pt_compare_unit(const struct pt_side *side, enum pt_compare_by by)
{
    if (by == PT_COMPARE_SHARE || by == PT_COMPARE_REQUEST)
        return side->whole_ns ? 100 / (double)side->whole_ns : 0;
    if (by == PT_COMPARE_TIME)
        return side->sum.wall_ns ? 1e3 / (double)side->sum.wall_ns : 0;
    return side->run_count ? 1e-9 / side->run_count : 0;
}

double pt_compare_value(const struct pt_comparison *comparison, const struct pt_change *change, int side)
{
    if (comparison->by == PT_COMPARE_REQUEST)
        return change->requests[side] ? (double)change->ns[side] / 1e6 / (double)change->requests[side] : 0;
    return (double)change->ns[side] * pt_compare_unit(&comparison->sides[side], comparison->by);
}

double pt_compare_change(const struct pt_comparison *comparison, const struct pt_change *change)
{
    return pt_compare_value(comparison, change, 1) - pt_compare_value(comparison, change, 0);
}

PT_DEFINE_ORDER(by_text, struct pt_compared, strcmp(x->text, y->text))

static void add_change(struct pt_change *sum, const struct pt_change *change)
{
    for (int side = 0; side < 2; side++) {
        sum->ns[side] += change->ns[side];
        sum->counts[side] += change->counts[side];
        sum->requests[side] += change->requests[side];
        if (change->runs[side].count)
            sum->runs[side] = change->runs[side];
    }
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
        add_change(&all[kept - 1].self, &all[i].self);
        add_change(&all[kept - 1].total, &all[i].total);
        add_change(&all[kept - 1].clock, &all[i].clock);
        for (int side = 0; side < 2; side++)
            if (all[i].clocks[side].count)
                all[kept - 1].clocks[side] = all[i].clocks[side];
        if (owned)
            free((char *)(uintptr_t)all[i].text);
    }
    return kept;
}

/* Returns the file that a frame's code is in, a library of native code; NULL: none. */
static const char *file_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return pt_string(profile, profile->functions.items[frame->subject].short_file);
    if (frame->kind != PP_FRAME_NATIVE || frame->subject == PT_NONE)
        return NULL;
    return pt_base_name(pt_string(profile, profile->modules.items[frame->subject].path));
}

/* Appends the functions and the files of one side. */
static void add_side(struct pt_comparison *comparison, int side, bool lines)
{
    const struct pt_view_options options = {.lines = lines, .only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_profile *profile = comparison->sides[side].profile;
    struct pt_view *view = pt_view_new(profile, &options);
    uint32_t count, room = comparison->function_count, file_room = comparison->file_count;
    PT_AUTO_FREE struct pt_total *totals = pt_view_totals(profile, view, &count);
    struct pt_spread spread = pt_spread_of(&comparison->sides[side], lines);
    comparison->functions =
        pt_grow(comparison->functions, &room, (uint64_t)room + count + 1, sizeof *comparison->functions);
    comparison->files =
        pt_grow(comparison->files, &file_room, (uint64_t)file_room + count + 1, sizeof *comparison->files);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_compared one = {.text = pt_string(profile, totals[i].text)};
        one.self.ns[side] = totals[i].self_ns;
        one.self.counts[side] = totals[i].self_count;
        one.total.ns[side] = totals[i].total_ns;
        one.total.counts[side] = totals[i].total_count;
        if (spread.self) {
            one.self.runs[side] = spread.self[totals[i].text];
            one.total.runs[side] = spread.total[totals[i].text];
        }
        comparison->functions[comparison->function_count++] = one;
        one.text = file_of(profile, &profile->frames.items[totals[i].frame]);
        one.total = (struct pt_change){0};
        one.self.runs[side] = (struct pt_several){0}; /* that of a function is not that of its file */
        if (one.text && *one.text)
            comparison->files[comparison->file_count++] = one;
    }
    free(spread.self);
    free(spread.total);
    pt_view_free(view);
}

/* Appends the values of one side that --by asks for. */
static void add_groups(struct pt_comparison *comparison, int side)
{
    struct pt_profile *profile = comparison->sides[side].profile;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_without_imports(profile, comparison->group);
    uint32_t none = pt_intern_text(profile, PT_NO_GROUP), room = comparison->function_count;
    PT_AUTO_FREE struct pt_change *sums = pt_alloc(profile->strings.count, sizeof *sums);
    PT_AUTO_FREE struct pt_request_sums *requests =
        comparison->by == PT_COMPARE_REQUEST ? pt_requests_by(profile, comparison->group, PT_NONE) : NULL;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        struct pt_change *sum = &sums[pt_group_value(&group, sample) ?: none];
        sum->ns[side] += sample->cpu_ns;
        sum->counts[side] += sample->count;
    }
    pt_spread_groups(&comparison->sides[side], side, &group, none, sums);
    for (uint32_t i = 1; i < profile->strings.count; i++) {
        if (requests && pt_cpu_per_request(profile, i, 1, requests[i].count) > 0)
            sums[i].requests[side] = requests[i].count;
        if (!sums[i].ns[side] && !sums[i].requests[side])
            continue;
        comparison->functions =
            pt_grow(comparison->functions, &room, (uint64_t)comparison->function_count + 1, sizeof(struct pt_compared));
        struct pt_compared *one = &comparison->functions[comparison->function_count++];
        *one = (struct pt_compared){.text = pt_string(profile, i), .self = sums[i], .total = sums[i]};
        if (!sums[i].requests[side])
            continue;
        one->clocks[side] = pt_request_clock(&requests[i]);
        one->clock.requests[side] = one->clocks[side].count;
        one->clock.ns[side] = requests[i].cpu_ns;
    }
}

/* How often a service starts, or is paused, is no change of it. */
static bool is_apart_of_values(const char *text)
{
    return strcmp(text, PT_IMPORTS) == 0 || strcmp(text, PP_PSEUDO_PAUSED) == 0;
}

static void drop_uncounted(struct pt_comparison *comparison)
{
    uint32_t count = comparison->function_count, kept = 0, apart = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_change *change = &comparison->functions[i].self;
        if (change->requests[0] && change->requests[1])
            comparison->functions[kept++] = comparison->functions[i];
        else if (strcmp(comparison->functions[i].text, PT_NO_GROUP) == 0)
            comparison->without_group = true;
        else if (is_apart_of_values(comparison->functions[i].text))
            apart++;
        else if (strcmp(comparison->functions[i].text, PP_UNKNOWN_ROUTE) == 0)
            comparison->without_route = true;
    }
    comparison->function_count = kept;
    comparison->uncounted = count - kept - apart;
}

/* A change of CPU time is one only if it is not within what both sides are unsure of: the share of a function changes
 * when others do, and that is not its change. */
static bool is_apart(const struct pt_comparison *comparison, const struct pt_change *change)
{
    struct pt_bounds bounds[2];
    for (int i = 0; i < 2; i++) {
        const struct pt_side *side = &comparison->sides[i];
        double whole = (double)side->whole_ns * pt_compare_unit(side, comparison->by);
        bounds[i] = pt_share_bounds(&side->draws, change->counts[i], change->ns[i], side->whole_ns);
        bounds[i].low *= whole;
        bounds[i].high *= whole;
    }
    return bounds[0].high < bounds[1].low || bounds[1].high < bounds[0].low;
}

struct tests {
    struct pt_change **changes;
    uint32_t count, capacity;
};

/* Makes draws in which a part has equal shares if it takes equal CPU time each time, for a request or in a run: all is
 * a multiple of what it takes on the side where it takes more. */
static void draw_times(struct pt_draws draws[2], const struct pt_change *change, const uint64_t times[2])
{
    double each[2];
    for (int side = 0; side < 2; side++)
        each[side] = (double)change->ns[side] / (double)times[side];
    for (int side = 0; side < 2; side++) {
        double ns = WHOLE_SHARE * fmax(each[0], each[1]) * (double)times[side];
        /* a side without samples would have them as large as the other's */
        int of = change->counts[side] ? side : !side;
        draws[side].ns = (uint64_t)ns;
        draws[side].count = (uint64_t)(ns * (double)change->counts[of] / (double)change->ns[of]);
    }
}

static void add_test(struct tests *tests, struct pt_change *change, double chance)
{
    change->chance = chance;
    tests->changes = pt_grow(tests->changes, &tests->capacity, (uint64_t)tests->count + 1, sizeof(struct pt_change *));
    tests->changes[tests->count++] = change;
}

static void test_samples(const struct pt_comparison *comparison, struct tests *tests, struct pt_change *change)
{
    struct pt_draws draws[] = {comparison->sides[0].draws, comparison->sides[1].draws};
    change->chance = 1;
    if (change->counts[0] + change->counts[1] < FEWEST_SAMPLES)
        return;
    if (comparison->by == PT_COMPARE_REQUEST)
        draw_times(draws, change, change->requests);
    else if (comparison->by == PT_COMPARE_CPU && pt_has_runs(&comparison->sides[0]) &&
             pt_has_runs(&comparison->sides[1]))
        draw_times(draws, change, (const uint64_t[]){comparison->sides[0].run_count, comparison->sides[1].run_count});
    add_test(tests, change, pt_change_chance(draws, change->counts, change->ns));
}

/* Whether the runs of both sides differ by more than they do among themselves: what the machine adds to a run is in no
 * sample's uncertainty. If that is not known, what the sides are unsure of must not overlap. */
static bool do_runs_differ(const struct pt_comparison *comparison, const struct pt_change *change)
{
    struct pt_several runs[2];
    for (int i = 0; i < 2; i++) {
        const struct pt_side *side = &comparison->sides[i];
        runs[i] = change->runs[i];
        if (change->runs[!i].count && !change->ns[i] && pt_has_runs(side)) /* a function that no run of this side has */
            runs[i].count = side->run_count;
    }
    if (runs[0].count < 2 || runs[1].count < 2)
        return is_apart(comparison, change);
    return pt_means_chance(&runs[0], &runs[1]) <= CHANCE;
}

/* Whether a change that samples mark is one in the unit of the comparison, too. */
static bool is_change(const struct pt_comparison *comparison, const struct pt_change *change)
{
    if (comparison->by == PT_COMPARE_CPU)
        return do_runs_differ(comparison, change);
    return comparison->by != PT_COMPARE_TIME || is_apart(comparison, change);
}

static bool is_leaf(const struct pt_compared *one)
{
    return one->self.ns[0] == one->total.ns[0] && one->self.ns[1] == one->total.ns[1];
}

/* Shares are what is tested, in any unit: the speed of a machine differs from run to run, and with it all CPU time. Of
 * several runs it is known by how much, and CPU times are tested. */
static void mark(struct pt_comparison *comparison)
{
    struct tests tests = {0};
    for (uint32_t i = 0; i < comparison->function_count; i++) {
        struct pt_compared *one = &comparison->functions[i];
        one->self.chance = one->total.chance = one->clock.chance = 1;
        if (comparison->group && is_apart_of_values(one->text))
            continue;
        test_samples(comparison, &tests, &one->self);
        if (!is_leaf(one))
            test_samples(comparison, &tests, &one->total);
        one->clock.chance = pt_request_clocks_chance(one->clocks);
        if (one->clock.chance < 1)
            add_test(&tests, &one->clock, one->clock.chance);
    }
    for (uint32_t i = 0; i < comparison->file_count; i++)
        test_samples(comparison, &tests, &comparison->files[i].self);
    PT_AUTO_FREE double *chances = pt_alloc(tests.count, sizeof *chances);
    PT_AUTO_FREE bool *marks = pt_alloc(tests.count, sizeof *marks);
    for (uint32_t i = 0; i < tests.count; i++)
        chances[i] = tests.changes[i]->chance;
    pt_mark_changes(chances, tests.count, marks);
    for (uint32_t i = 0; i < tests.count; i++)
        tests.changes[i]->marked = marks[i] && is_change(comparison, tests.changes[i]);
    for (uint32_t i = 0; i < comparison->function_count; i++)
        if (is_leaf(&comparison->functions[i]))
            comparison->functions[i].total = comparison->functions[i].self;
    comparison->tested = tests.count;
    free(tests.changes);
}

static int by_size(const struct pt_comparison *comparison, const struct pt_change *a, const struct pt_change *b)
{
    double x = fabs(pt_compare_change(comparison, a)), y = fabs(pt_compare_change(comparison, b));
    return (x < y) - (x > y);
}

/* Where the time is comes before its callers. */
static int by_change(const void *a, const void *b, void *comparison)
{
    const struct pt_compared *x = a, *y = b;
    int self = (y->self.marked || y->clock.marked) - (x->self.marked || x->clock.marked),
        total = y->total.marked - x->total.marked;
    int by_self = by_size(comparison, &x->self, &y->self), by_total = by_size(comparison, &x->total, &y->total);
    if (self || total)
        return self ?: total;
    if (x->total.marked && !x->self.marked)
        return by_total ?: by_self ?: by_text(x, y);
    return by_self ?: by_total ?: by_text(x, y);
}

struct pt_comparison pt_comparison_of(const struct pt_side sides[2], enum pt_compare_by by, const char *group,
                                      bool lines)
{
    struct pt_comparison comparison = {.sides = sides, .by = by, .group = group};
    for (int side = 0; side < 2; side++)
        if (group)
            add_groups(&comparison, side);
        else
            add_side(&comparison, side, lines);
    comparison.function_count = unite(comparison.functions, comparison.function_count, false);
    comparison.file_count = unite(comparison.files, comparison.file_count, false);
    if (by == PT_COMPARE_REQUEST)
        drop_uncounted(&comparison);
    mark(&comparison);
    qsort_r(comparison.functions, comparison.function_count, sizeof *comparison.functions, by_change, &comparison);
    if (comparison.file_count) /* groups have none */
        qsort_r(comparison.files, comparison.file_count, sizeof *comparison.files, by_change, &comparison);
    return comparison;
}

void pt_comparison_free(struct pt_comparison *comparison)
{
    free(comparison->functions);
    free(comparison->files);
}

struct pt_compared *pt_compare_stacks(const struct pt_side sides[2], bool lines, uint32_t *count)
{
    struct pt_compared *all = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (int side = 0; side < 2; side++) {
        /* The exporter writes them: one place decides how a stack reads. */
        PT_AUTO_BUFFER text = {0};
        FILE *out = pt_buffer_stream(&text);
        pt_export_collapsed(sides[side].profile, &(struct pt_export_options){.lines = lines}, out);
        fclose(out);
        for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            char *space = strrchr(line, ' ');
            if (!space)
                continue;
            *space = '\0';
            all = pt_grow(all, &capacity, (uint64_t)*count + 1, sizeof *all);
            all[*count] = (struct pt_compared){.text = pt_strdup(line)};
            all[(*count)++].self.ns[side] = strtoull(space + 1, NULL, 10);
        }
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
