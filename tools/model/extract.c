/* SPDX-License-Identifier: Apache-2.0 */
#include "extract.h"

#include <stdlib.h>
#include <string.h>

#include "gil_gc.h"
#include "http_requests.h"
#include "selection.h"

/* Numbers in `into` by those in `from`; 0: not copied yet, else 1 more. */
struct copies {
    const struct pt_profile *from;
    struct pt_profile *into;
    uint32_t *strings, *modules, *functions, *frames, *nodes, *threads, *processes, *label_sets;
    uint32_t *path, path_capacity; /* nodes that are about to be copied, the innermost first */
};

static uint32_t copy_string(struct copies *copies, uint32_t string)
{
    if (!copies->strings[string])
        copies->strings[string] = pt_intern_text(copies->into, pt_string(copies->from, string)) + 1;
    return copies->strings[string] - 1;
}

static uint32_t copy_module(struct copies *copies, uint32_t number)
{
    if (number == PT_NONE)
        return PT_NONE;
    if (!copies->modules[number]) {
        struct pt_module module = copies->from->modules.items[number];
        module.path = copy_string(copies, module.path);
        module.build_id = copy_string(copies, module.build_id);
        copies->modules[number] = pt_add_module(copies->into, &module) + 1;
    }
    return copies->modules[number] - 1;
}

static uint32_t copy_function(struct copies *copies, uint32_t number)
{
    if (!copies->functions[number]) {
        struct pt_function function = copies->from->functions.items[number];
        function.name = copy_string(copies, function.name);
        function.file = copy_string(copies, function.file);
        function.short_file = copy_string(copies, function.short_file);
        copies->functions[number] = pt_add_function(copies->into, &function) + 1;
    }
    return copies->functions[number] - 1;
}

static uint32_t copy_frame(struct copies *copies, uint32_t number)
{
    if (!copies->frames[number]) {
        struct pt_frame frame = copies->from->frames.items[number];
        frame.symbol = copy_string(copies, frame.symbol);
        if (frame.kind == PP_FRAME_NATIVE)
            frame.subject = copy_module(copies, frame.subject);
        else if (frame.kind == PP_FRAME_PYTHON)
            frame.subject = copy_function(copies, frame.subject);
        else
            frame.subject = copy_string(copies, frame.subject);
        copies->frames[number] = pt_add_frame(copies->into, &frame) + 1;
    }
    return copies->frames[number] - 1;
}

static uint32_t copy_node(struct copies *copies, uint32_t number)
{
    uint32_t depth = 0;
    for (uint32_t at = number; at && !copies->nodes[at]; at = copies->from->nodes.items[at].parent) {
        copies->path = pt_grow(copies->path, &copies->path_capacity, (uint64_t)depth + 1, sizeof *copies->path);
        copies->path[depth++] = at;
    }
    while (depth) {
        const struct pt_node node = copies->from->nodes.items[copies->path[--depth]];
        uint32_t parent = node.parent ? copies->nodes[node.parent] - 1 : 0;
        copies->nodes[copies->path[depth]] = pt_add_node(copies->into, parent, copy_frame(copies, node.frame)) + 1;
    }
    return number ? copies->nodes[number] - 1 : 0;
}

static uint32_t copy_process(struct copies *copies, uint32_t number)
{
    if (!copies->processes[number]) {
        struct pt_process process = copies->from->processes.items[number];
#define X(key, field) process.field = copy_string(copies, process.field);
        PT_PROCESS_TEXTS(X)
#undef X
        memset(&process.notices, 0, sizeof process.notices);
        memset(&process.parts, 0, sizeof process.parts);
        memset(&process.usage, 0, sizeof process.usage);
        process.found_ns = process.samples = process.accounting.pending_ns = 0;
        process.passed_over = process.sums_open = false;
        uint32_t copy = pt_add_process(copies->into, process.instance);
        copies->into->processes.items[copy] = process;
        copies->processes[number] = copy + 1;
    }
    return copies->processes[number] - 1;
}

static uint32_t copy_thread(struct copies *copies, uint32_t number)
{
    if (!copies->threads[number]) {
        struct pt_thread thread = copies->from->threads.items[number];
        thread.process = copy_process(copies, thread.process);
        thread.name = copy_string(copies, thread.name);
        thread.states = (struct pt_states){0};
        copies->threads[number] = pt_add_thread(copies->into, &thread) + 1;
    }
    return copies->threads[number] - 1;
}

static uint32_t copy_label_set(struct copies *copies, uint32_t number)
{
    if (number && !copies->label_sets[number]) {
        const struct pt_label_set *set = &copies->from->label_sets.items[number];
        PT_AUTO_FREE struct pt_label *labels = pt_alloc((size_t)set->count + 1, sizeof *labels);
        for (uint32_t i = 0; i < set->count; i++) {
            const struct pt_label *label = &copies->from->labels.items[set->first + i];
            labels[i] = (struct pt_label){copy_string(copies, label->key), copy_string(copies, label->value)};
        }
        copies->label_sets[number] = pt_add_label_set(copies->into, labels, set->count) + 1;
    }
    return number ? copies->label_sets[number] - 1 : 0;
}

static void copy_sample(struct copies *copies, const struct pt_sample *from)
{
    struct pt_sample sample = *from;
    sample.thread = copy_thread(copies, sample.thread);
    if (!pt_accepts_thread(copies->into, sample.thread))
        return;
    sample.node = copy_node(copies, sample.node);
    sample.labels = copy_label_set(copies, sample.labels) & PT_MAX_LABEL_SETS;
    sample.interval = 0;
    struct pt_thread *thread = &copies->into->threads.items[sample.thread];
    struct pt_process *process = &copies->into->processes.items[thread->process];
    process->found_ns += sample.cpu_ns;
    process->samples += sample.count;
    pt_states_add(&thread->states, sample.state, sample.cpu_ns);
    pt_add_sample(copies->into, &sample);
}

struct pt_profile *pt_extract(const struct pt_profile *from, const struct pt_load_request *request,
                              const struct pt_sample *samples, uint32_t count, const struct pt_requests *requests,
                              uint32_t request_count)
{
    struct copies copies = {.from = from, .into = pt_profile_new(request)};
    const struct {
        uint32_t **map, count;
    } maps[] = {{&copies.strings, from->strings.count},     {&copies.modules, from->modules.count},
                {&copies.functions, from->functions.count}, {&copies.frames, from->frames.count},
                {&copies.nodes, from->nodes.count},         {&copies.threads, from->threads.count},
                {&copies.processes, from->processes.count}, {&copies.label_sets, from->label_sets.count}};
    const size_t map_count = sizeof maps / sizeof maps[0];
    for (size_t i = 0; i < map_count; i++)
        *maps[i].map = pt_alloc((size_t)maps[i].count + 1, sizeof(uint32_t));
    copies.into->run_start_unix_ns = from->run_start_unix_ns;
    for (uint32_t i = 0; i < count; i++)
        copy_sample(&copies, &samples[i]);
    for (uint32_t i = 0; i < request_count; i++) {
        struct pt_requests one = requests[i];
        one.process = copy_process(&copies, one.process);
        one.endpoint = copy_string(&copies, one.endpoint);
        one.interval = 0;
        if (pt_accepts_process(copies.into, one.process))
            pt_add_requests(copies.into, &one);
    }
    for (size_t i = 0; i < map_count; i++)
        free(*maps[i].map);
    free(copies.path);
    return copies.into;
}
