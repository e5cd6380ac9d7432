/* SPDX-License-Identifier: Apache-2.0 */
/* Merges two profiles: pt_profile_merge. */
#include <stdlib.h>
#include <string.h>

#include "gil_gc.h"
#include "http_requests.h"
#include "model.h"
#include "time_bins.h"

#define FREED_TOGETHER (1u << 17) /* samples */

/* The numbers in `into`, by the numbers in `from`. */
struct maps {
    struct pt_profile *into;
    const struct pt_profile *from;
    uint32_t *strings, *modules, *functions, *frames, *nodes, *label_sets, *intervals, *processes, *threads;
};

/* Allocates the map of a table, and runs the statement that follows for each item from `first` on. */
#define MAP_EACH(maps, table, first)                                                                                   \
    (maps)->table = pt_alloc((maps)->from->table.count, sizeof *(maps)->table);                                        \
    for (uint32_t i = first; i < (maps)->from->table.count; i++)

static void map_modules(struct maps *maps)
{
    MAP_EACH(maps, modules, 0)
    {
        struct pt_module module = maps->from->modules.items[i];
        module.path = maps->strings[module.path];
        module.build_id = maps->strings[module.build_id];
        maps->modules[i] = pt_add_module(maps->into, &module);
    }
}

static void map_functions(struct maps *maps)
{
    MAP_EACH(maps, functions, 0)
    {
        struct pt_function function = maps->from->functions.items[i];
        function.name = maps->strings[function.name];
        function.file = maps->strings[function.file];
        function.short_file = maps->strings[function.short_file];
        maps->functions[i] = pt_add_function(maps->into, &function);
    }
}

static void map_frames(struct maps *maps)
{
    MAP_EACH(maps, frames, 0)
    {
        struct pt_frame frame = maps->from->frames.items[i];
        frame.symbol = maps->strings[frame.symbol];
        if (frame.kind == PP_FRAME_NATIVE)
            frame.subject = frame.subject == PT_NONE ? PT_NONE : maps->modules[frame.subject];
        else if (frame.kind == PP_FRAME_PYTHON)
            frame.subject = maps->functions[frame.subject];
        else
            frame.subject = maps->strings[frame.subject];
        maps->frames[i] = pt_add_frame(maps->into, &frame);
    }
}

static void map_label_sets(struct maps *maps)
{
    PT_AUTO_FREE struct pt_label *labels = NULL;
    uint32_t capacity = 0;
    MAP_EACH(maps, label_sets, 1)
    {
        const struct pt_label_set *set = &maps->from->label_sets.items[i];
        labels = pt_grow(labels, &capacity, set->count, sizeof *labels);
        for (uint32_t j = 0; j < set->count; j++) {
            const struct pt_label *label = &maps->from->labels.items[set->first + j];
            labels[j] = (struct pt_label){maps->strings[label->key], maps->strings[label->value]};
        }
        maps->label_sets[i] = pt_add_label_set(maps->into, labels, set->count);
    }
}

static void map_intervals(struct maps *maps)
{
    MAP_EACH(maps, intervals, 1)
    {
        const struct pt_interval *interval = &maps->from->intervals.items[i];
        maps->intervals[i] = pt_add_interval(maps->into, interval->start_unix_ns, interval->wall_ns);
    }
}

static void map_processes(struct maps *maps)
{
    MAP_EACH(maps, processes, 0)
    {
        struct pt_process process = maps->from->processes.items[i];
#define X(key, field) process.field = maps->strings[process.field];
        PT_PROCESS_TEXTS(X)
#undef X
        for (uint32_t j = 0; j < process.notices.count; j++)
            process.notices.items[j].text = maps->strings[process.notices.items[j].text];
        maps->processes[i] = pt_add_process(maps->into, process.instance);
        /* with the arrays, which `from` has no more */
        maps->into->processes.items[maps->processes[i]] = process;
        maps->from->processes.items[i].notices.items = NULL;
        maps->from->processes.items[i].parts.items = NULL;
        maps->from->processes.items[i].parts.index = (struct pt_index){0};
        maps->from->processes.items[i].usage.items = NULL;
    }
}

static void map_threads(struct maps *maps)
{
    MAP_EACH(maps, threads, 0)
    {
        struct pt_thread thread = maps->from->threads.items[i];
        thread.process = maps->processes[thread.process];
        thread.name = maps->strings[thread.name];
        thread.states = (struct pt_states){0};
        maps->threads[i] = pt_add_thread(maps->into, &thread);
        pt_states_add_all(&maps->into->threads.items[maps->threads[i]].states, &maps->from->threads.items[i].states);
    }
}

static void add_requests(struct maps *maps)
{
    for (uint32_t i = 0; i < maps->from->requests.count; i++) {
        struct pt_requests requests = maps->from->requests.items[i];
        requests.process = maps->processes[requests.process];
        requests.endpoint = maps->strings[requests.endpoint];
        requests.interval = maps->intervals[requests.interval];
        pt_add_requests(maps->into, &requests);
    }
}

static void move_sample(const struct maps *maps, struct pt_sample *sample)
{
    sample->thread = sample->thread == PT_NONE ? PT_NONE : maps->threads[sample->thread];
    sample->node = maps->nodes[sample->node];
    sample->labels = maps->label_sets[sample->labels] & PT_MAX_LABEL_SETS;
    sample->interval = maps->intervals[sample->interval];
}

static void add_stacks(struct maps *maps)
{
    for (uint32_t i = 0; i < maps->from->samples.count; i++) {
        struct pt_sample sample = maps->from->samples.items[i];
        move_sample(maps, &sample);
        pt_add_as_kept(maps->into, &sample);
    }
}

/* Gives the samples of a profile that has most of its memory in them to the other one, from the last to the first: what
 * has been moved is freed on the way. */
static void move_samples(struct maps *maps, struct pt_profile *from)
{
    struct pt_profile *into = maps->into;
    uint32_t before = into->samples.count, count = from->samples.count;
    into->samples.items =
        pt_grow_raw(into->samples.items, &into->samples.capacity, (uint64_t)before + count, sizeof(struct pt_sample));
    into->samples.count += count;
    for (uint32_t i = count; i-- > 0;) {
        struct pt_sample sample = from->samples.items[i];
        move_sample(maps, &sample);
        into->samples.items[before + i] = sample;
        if (i && i % FREED_TOGETHER == 0)
            from->samples.items = pt_shrink(from->samples.items, i, sizeof sample);
    }
}

static bool have_process_in_common(const struct pt_profile *a, const struct pt_profile *b)
{
    for (uint32_t i = 0; i < a->processes.count; i++)
        for (uint32_t j = 0; j < b->processes.count; j++)
            if (strcmp(pt_string(a, a->processes.items[i].instance), pt_string(b, b->processes.items[j].instance)) == 0)
                return true;
    return false;
}

static void move_growing(const struct maps *maps, struct pt_growing *growing)
{
    const uint32_t *const numbers[PT_TABLE_COUNT] = {
        [PT_TABLE_STRINGS] = maps->strings,  [PT_TABLE_MODULES] = maps->modules, [PT_TABLE_CODES] = maps->functions,
        [PT_TABLE_FRAMES] = maps->frames,    [PT_TABLE_NODES] = maps->nodes,     [PT_TABLE_THREADS] = maps->threads,
        [PT_TABLE_LABELS] = maps->label_sets};
    pt_growing_move(growing, maps->into, maps->processes, numbers);
}

bool pt_profile_merge(struct pt_profile *into, struct pt_profile *from, struct pt_growing *const *growing,
                      uint32_t count)
{
    if (have_process_in_common(into, from))
        return false;
    pt_time_bins_widen(into, from->bin_ns);
    pt_time_bins_widen(from, into->bin_ns);
    struct maps maps = {.into = into, .from = from};
    MAP_EACH(&maps, strings, 0)
    maps.strings[i] = pt_intern_text(into, from->strings.items[i]);
    map_modules(&maps);
    map_functions(&maps);
    map_frames(&maps);
    MAP_EACH(&maps, nodes, 1)
    {
        const struct pt_node *node = &maps.from->nodes.items[i];
        maps.nodes[i] = pt_add_node(maps.into, maps.nodes[node->parent], maps.frames[node->frame]);
    }
    map_label_sets(&maps);
    map_intervals(&maps);
    map_processes(&maps);
    map_threads(&maps);
    add_requests(&maps);
    for (PT_EACH(const struct pt_trace, trace, &from->traces))
        pt_trace_add(into, maps.strings[trace->id], trace->cpu_ns, trace->samples);
    if (into->keep == PT_KEEP_STACKS)
        add_stacks(&maps);
    else
        move_samples(&maps, from);
    into->too_many |= from->too_many;
    into->waits |= from->waits;
    into->cut_ns += from->cut_ns;
    into->cut_wall_ns = from->cut_wall_ns > into->cut_wall_ns ? from->cut_wall_ns : into->cut_wall_ns;
    pt_time_bins_bound(into);
    pt_read_losses_add(&into->losses, &from->losses);
    for (uint32_t i = 0; i < count; i++)
        move_growing(&maps, growing[i]);
    uint32_t *const all[] = {maps.strings,    maps.modules,   maps.functions, maps.frames, maps.nodes,
                             maps.label_sets, maps.intervals, maps.processes, maps.threads};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    pt_profile_free(from);
    return true;
}
