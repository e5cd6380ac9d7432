/* The cells of the page: the CPU time of the tree's nodes by time and thread. */
#include "buckets.h"

#include <stdlib.h>

#include "../base/numbers.h"
#include "../profile/time_bins.h"

#define MOST_BUCKETS 400
/* A flush interval that lies over more buckets than this was not busy all the time: it counts where its middle is. */
#define SPREAD_OVER 4

static int by_value(const void *a, const void *b)
{
    return pt_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Makes buckets of one bin or several, from the run's start on if that is not long before. */
static void choose_buckets_of_slots(struct pt_flame *flame, const struct pt_profile *from, uint64_t start, uint64_t end)
{
    uint64_t width = from->bin_ns, run_start = from->run_start_unix_ns, count;
    bool from_run_start = run_start <= start && start - run_start <= end - start;
    for (;; width *= 2) {
        uint64_t first = run_start % width, into = start < first ? 0 : (start - first) % width;
        flame->start_unix_ns = from_run_start ? run_start : start - into;
        count = (end - flame->start_unix_ns + width - 1) / width;
        if (count <= MOST_BUCKETS)
            break;
    }
    flame->bucket_ns = width;
    flame->buckets = (uint32_t)count;
}

/* Buckets of a profile without bins are no narrower than a flush interval usually is: a log has nothing finer. */
void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from)
{
    uint64_t *walls = pt_alloc(from->intervals.count, sizeof *walls), start = 0, end = 0;
    uint32_t count = 0;
    for (uint32_t i = 1; i < from->intervals.count; i++) {
        const struct pt_interval *interval = &from->intervals.items[i];
        if (!pt_interval_has_time(interval))
            continue;
        walls[count++] = interval->wall_ns;
        if (!start || interval->start_unix_ns < start)
            start = interval->start_unix_ns;
        if (interval->start_unix_ns + interval->wall_ns > end)
            end = interval->start_unix_ns + interval->wall_ns;
    }
    if (count && from->bin_ns) {
        choose_buckets_of_slots(flame, from, start, end);
    } else if (count) {
        qsort(walls, count, sizeof *walls, by_value);
        uint64_t usual = walls[count / 2], least = (end - start) / MOST_BUCKETS + 1;
        flame->start_unix_ns = start;
        flame->bucket_ns = usual > least ? usual : least;
        flame->buckets = (uint32_t)((end - start + flame->bucket_ns - 1) / flame->bucket_ns);
    }
    free(walls);
}

static void add_cell(struct pt_flame *flame, const struct pt_sample *like, uint32_t bucket, uint64_t count,
                     uint64_t cpu_ns)
{
    struct pt_sample cell = *like;
    cell.interval = bucket;
    cell.count = count;
    cell.cpu_ns = cpu_ns;
    if (count || cpu_ns)
        pt_add_sample(flame->merged, &cell);
}

void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval)
{
    if (!pt_interval_has_time(interval) || !flame->buckets) {
        add_cell(flame, like, flame->buckets, like->count, like->cpu_ns);
        return;
    }
    uint64_t start = interval->start_unix_ns - flame->start_unix_ns, end = start + interval->wall_ns;
    uint64_t first = start / flame->bucket_ns, last = (end - 1) / flame->bucket_ns;
    uint64_t middle = (start + interval->wall_ns / 2) / flame->bucket_ns, left = like->cpu_ns;
    if (last - first >= SPREAD_OVER)
        first = last = middle;
    for (uint64_t bucket = first; bucket <= last; bucket++) {
        uint64_t from = bucket * flame->bucket_ns, to = from + flame->bucket_ns, part = left;
        from = from > start ? from : start;
        to = to < end ? to : end;
        if (bucket < last)
            part = (uint64_t)((double)like->cpu_ns * ((double)(to - from) / (double)interval->wall_ns));
        part = part < left ? part : left;
        left -= part;
        add_cell(flame, like, (uint32_t)bucket, bucket == middle ? like->count : 0, part);
    }
}

static void add_samples(struct pt_flame *flame, const struct pt_profile *from, const uint32_t *nodes,
                        uint32_t thread_base)
{
    for (uint32_t i = 0; i < from->samples.count; i++) {
        const struct pt_sample *sample = &from->samples.items[i];
        struct pt_sample like = {
            .thread = thread_base + sample->thread,
            .node = nodes[sample->node],
            .state = sample->state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
            .count = sample->count,
            .cpu_ns = sample->cpu_ns,
        };
        pt_flame_add_timed(flame, &like, &from->intervals.items[sample->interval]);
    }
}

void pt_flame_add_cells(struct pt_flame *flame)
{
    uint64_t count = 0;
    uint32_t thread_base = 0;
    for (unsigned i = 0; i < flame->side_count; i++)
        count += flame->sides[i]->samples.count;
    /* Two runs have no time in common. */
    if (flame->side_count == 1)
        pt_flame_choose_buckets(flame, flame->sides[0]);
    if (!flame->buckets && count > PT_FLAME_MOST_CELLS) {
        pt_flame_add_many(flame);
        return;
    }
    for (unsigned i = 0; i < flame->side_count; i++) {
        uint32_t *nodes = pt_flame_add_nodes(flame, flame->sides[i]);
        add_samples(flame, flame->sides[i], nodes, thread_base);
        thread_base += flame->sides[i]->threads.count;
        free(nodes);
    }
}
