/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page is given. Numbers are little-endian:
 *   "PYF1", then the length and the text of a JSON object (strings, frames, threads, processes, sums, contexts,
 *   source: pt_flame_sources), then
 *   columns, each its length in bytes and LEB128 numbers:
 *     of nodes, from node 1 on: own number - parent's number; frame
 *     of cells, sorted: node - previous cell's node; thread * 3 + GIL (0 unknown, 1 held, 2 not held); bucket; samples;
 *     nanoseconds; place in each context's values, and no such column if there are none (flame.h says which cells there
 *     are when "apart" is true)
 *     of nodes, from node 1 on, for each level of native code but "all": the node that it is folded into, less that of
 *     the node before: d as 2d, or as -2d - 1 if it is negative; what only others are folded into has 0
 *     of nodes, from node 1 on: the package for which its CPU time counts, a string + 1; 0: its parent's
 * Names come from the profiled program: here they are JSON strings, in the page all of it is base64.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/json.h"
#include "../base/output.h"
#include "../base/proto.h"
#include "../model/traces.h"
#include "../query/group.h"
#include "../query/nothing_left.h"
#include "../view/sample_order.h"
#include "../view/summary.h"
#include "flame.h"

#define NS_PER_MS 1000000u

#define SUM(name) #name, offsetof(struct pt_accounting, name)

static const struct pt_json_field sums[] = {
    {SUM(cpu_ns)},  {SUM(sampled_ns)},   {SUM(estimated_ns)},   {SUM(unsampled_ns)},
    {SUM(lost_ns)}, {SUM(lost_samples)}, {SUM(own_ns)},         {SUM(thread_exit_ns)},
    {SUM(samples)}, {SUM(threads)},      {SUM(exited_threads)},
};

static void put_frames(struct pt_json *json, const struct pt_flame *flame)
{
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {
        {"kind", offsetof(struct pt_flame_frame, kind)}, {"name", offsetof(struct pt_flame_frame, name)},
        {"file", offsetof(struct pt_flame_frame, file)}, {"path", offsetof(struct pt_flame_frame, path)},
        {"line", offsetof(struct pt_flame_frame, line)}, {"module", offsetof(struct pt_flame_frame, module)},
    };
    /* Whole texts are left out: the page makes them of their parts. */
    bool *used = pt_alloc(flame->merged->strings.count, sizeof *used);
    for (PT_EACH(const struct pt_flame_frame, frame, &flame->frames))
        used[frame->name] = used[frame->file] = used[frame->path] = used[frame->module] = true;
    for (uint32_t i = 1; i < flame->folded.count; i++)
        used[flame->folded.items[i].package] = true;
    pt_json_begin(json, "strings", '[');
    for (uint32_t i = 0; i < flame->merged->strings.count; i++)
        pt_json_text(json, NULL, used[i] ? pt_string(flame->merged, i) : "");
    pt_json_end(json, ']');
    free(used);
    pt_json_begin(json, "frames", '{');
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        pt_json_begin(json, columns[i].name, '[');
        for (uint32_t j = 0; j < flame->frames.count; j++) {
            uint32_t value;
            memcpy(&value, (const char *)&flame->frames.items[j] + columns[i].offset, sizeof value);
            pt_json_number(json, NULL, value);
        }
        pt_json_end(json, ']');
    }
    pt_json_end(json, '}');
}

static void put_side(struct pt_json *json, const struct pt_flame *flame, unsigned side)
{
    struct pt_profile *profile = flame->sides[side];
    struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
    uint64_t start, end;
    uint32_t count, *versions = pt_summary_versions(profile, PT_NONE, &count);
    pt_profile_span(profile, &start, &end);
    pt_json_begin(json, NULL, '{');
    pt_json_number(json, "start_ms", start / NS_PER_MS);
    pt_json_number(json, "wall_ns", sum.wall_ns);
    pt_json_fields(json, &sum, sums, sizeof sums / sizeof sums[0]);
    pt_json_format(json, "difference_ns", "%" PRId64, sum.difference_ns);
    pt_json_format(json, "spread", "%.6f", flame->spread[side]);
    pt_json_bool(json, "selected", profile->selected);
    /* As it is typed, with the whole id of the trace. */
    struct pt_selection select = profile->request->select;
    struct pt_buffer text = {0};
    if (select.trace)
        select.trace = pt_trace_asked_for(profile);
    pt_append_selection(&text, &select);
    pt_json_text(json, "selection", text.length ? text.data + 1 : "");
    pt_buffer_free(&text);
    pt_json_begin(json, "pythons", '[');
    for (uint32_t i = 0; i < count; i++)
        pt_json_text(json, NULL, pt_string(profile, versions[i]));
    pt_json_end(json, ']');
    pt_json_begin(json, "warnings", '[');
    pt_summary_warnings(profile, PT_NONE, pt_json_element, json);
    pt_json_end(json, ']');
    pt_json_end(json, '}');
    free(versions);
}

static void put_process(struct pt_json *json, const struct pt_profile *profile, uint32_t number, unsigned side)
{
    const struct pt_process *process = &profile->processes.items[number];
    pt_json_begin(json, NULL, '{');
    pt_json_number(json, "side", side);
    pt_json_number(json, "pid", process->pid);
    pt_json_number(json, "start_ms", process->start_unix_ns / NS_PER_MS);
    pt_json_text(json, "command", pt_string(profile, process->command_line));
    pt_json_bool(json, "ended", process->ended);
    pt_json_end(json, '}');
}

static void put_thread(struct pt_json *json, const struct pt_flame *flame, const struct pt_profile *profile,
                       uint32_t number, uint32_t process_base)
{
    const struct pt_thread *thread = &profile->threads.items[number];
    bool known = thread->tid != UINT64_MAX && flame->detail <= PT_FLAME_THREADS;
    pt_json_begin(json, NULL, '{');
    pt_json_number(json, "process", process_base + thread->process);
    pt_json_number(json, "tid", known ? thread->tid : 0);
    pt_json_text(json, "name", pt_string(profile, thread->name));
    pt_json_end(json, '}');
}

struct encoder {
    struct pt_json *json;
    const struct pt_flame *flame;
};

/* Returns when the first bucket begins, counted from the run's start as by --from and --to. */
static uint64_t ns_into_run(const struct pt_flame *flame)
{
    uint64_t run_start = flame->sides[0]->run_start_unix_ns;
    return flame->buckets && run_start < flame->start_unix_ns ? flame->start_unix_ns - run_start : 0;
}

/* Puts what the page can group by besides threads and packages: the values, by label set. */
static void put_contexts(void *context, const char *word)
{
    struct encoder *encoder = context;
    struct pt_json *json = encoder->json;
    struct pt_profile *profile = encoder->flame->merged;
    if (!strcmp(word, "thread") || !strcmp(word, "package"))
        return;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, word);
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "by", word);
    pt_json_begin(json, "values", '[');
    for (uint32_t i = 0; i < profile->label_sets.count; i++)
        pt_json_text(json, NULL, group.values[i] ? pt_string(profile, group.values[i]) : NULL);
    pt_json_end(json, ']');
    pt_json_end(json, '}');
}

static const char *const native_levels[] = {
    [PT_NATIVE_LIBRARIES] = "libraries", [PT_NATIVE_NONE] = "none", [PT_NATIVE_ALL] = "all"};

static void put_json(struct pt_json *json, const struct pt_flame *flame)
{
    struct encoder encoder = {json, flame};
    uint32_t base = 0;
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "version", PYPROF_VERSION);
    pt_json_number(json, "cpus", flame->side_count == 1 ? pt_summary_cpus(flame->sides[0]) : 0);
    pt_json_number(json, "since_ns", ns_into_run(flame));
    pt_json_number(json, "bucket_ns", flame->bucket_ns);
    pt_json_number(json, "buckets", flame->buckets);
    pt_json_text(json, "by", flame->by_time ? "time" : "cpu");
    pt_json_text(json, "group", flame->group ? flame->group : "");
    pt_json_begin(json, "contexts", '[');
    pt_groups_each(flame->merged, put_contexts, &encoder);
    pt_json_end(json, ']');
    pt_json_text(json, "native", native_levels[flame->native]);
    pt_json_number(json, "detail", flame->detail);
    pt_json_bool(json, "apart", flame->apart);
    pt_json_number(json, "nodes", flame->merged->nodes.count);
    pt_json_number(json, "cells", flame->merged->samples.count);
    pt_json_begin(json, "sides", '[');
    for (unsigned i = 0; i < flame->side_count; i++)
        put_side(json, flame, i);
    pt_json_end(json, ']');
    pt_json_begin(json, "processes", '[');
    for (unsigned i = 0; i < flame->side_count; i++)
        for (uint32_t j = 0; j < flame->sides[i]->processes.count; j++)
            put_process(json, flame->sides[i], j, i);
    pt_json_end(json, ']');
    pt_json_begin(json, "threads", '[');
    for (unsigned i = 0; i < flame->side_count; base += flame->sides[i++]->processes.count)
        for (uint32_t j = 0; j < flame->sides[i]->threads.count; j++)
            put_thread(json, flame, flame->sides[i], j, base);
    pt_json_end(json, ']');
    put_frames(json, flame);
    pt_json_format(json, "source", "%s", flame->source);
    pt_json_end(json, '}');
}

static void put_word(struct pt_buffer *data, size_t value)
{
    const unsigned char bytes[] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                                   (unsigned char)(value >> 24)};
    pt_buffer_append(data, bytes, sizeof bytes);
}

static void end_column(struct pt_buffer *data, struct pt_buffer *column)
{
    put_word(data, column->length);
    if (column->length)
        pt_buffer_append(data, column->data, column->length);
    pt_buffer_free(column);
    *column = (struct pt_buffer){0};
}

static void put_nodes(struct pt_buffer *data, const struct pt_flame *flame)
{
    struct pt_buffer parents = {0}, frames = {0};
    for (uint32_t i = 1; i < flame->merged->nodes.count; i++) {
        const struct pt_node *node = &flame->merged->nodes.items[i];
        pt_append_varint(&parents, i - node->parent);
        pt_append_varint(&frames, node->frame);
    }
    end_column(data, &parents);
    end_column(data, &frames);
}

static uint32_t gil(const struct pt_sample *cell)
{
    if (!(cell->state & PP_STATE_GIL_KNOWN))
        return 0;
    return cell->state & PP_STATE_HOLDS_GIL ? 1 : 2;
}

static void put_cells(struct pt_buffer *data, const struct pt_flame *flame)
{
    struct pt_sample_order *order = pt_sample_order_new(flame->merged, PT_MAX_STATES, true);
    struct pt_buffer columns[6] = {{0}};
    uint32_t last = 0;
    for (uint32_t node = 0; node < flame->merged->nodes.count; node++) {
        const struct pt_sample *cells;
        uint32_t count = pt_samples_of_node(order, node, &cells);
        for (uint32_t i = 0; i < count; i++) {
            pt_append_varint(&columns[0], node - last);
            pt_append_varint(&columns[1], (uint64_t)cells[i].thread * 3 + gil(&cells[i]));
            pt_append_varint(&columns[2], cells[i].interval);
            pt_append_varint(&columns[3], cells[i].count);
            pt_append_varint(&columns[4], cells[i].cpu_ns);
            if (flame->merged->label_sets.count > 1)
                pt_append_varint(&columns[5], cells[i].labels);
            last = node;
        }
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        end_column(data, &columns[i]);
    pt_sample_order_free(order);
}

static void put_folded(struct pt_buffer *data, const struct pt_flame *flame)
{
    for (enum pt_native native = 0; native < PT_NATIVE_ALL; native++) {
        struct pt_buffer column = {0};
        int64_t last = 0;
        for (uint32_t i = 1; i < flame->folded.count; i++) {
            int64_t at = flame->folded.items[i].at[native];
            pt_append_varint(&column, (uint64_t)(at < last ? 2 * (last - at) - 1 : 2 * (at - last)));
            last = at;
        }
        end_column(data, &column);
    }
}

static void put_packages(struct pt_buffer *data, const struct pt_flame *flame)
{
    struct pt_buffer column = {0};
    for (uint32_t i = 1; i < flame->folded.count; i++) {
        uint32_t package = flame->folded.items[i].package, parent = flame->merged->nodes.items[i].parent;
        pt_append_varint(&column, package == flame->folded.items[parent].package ? 0 : package + 1);
    }
    end_column(data, &column);
}

void pt_flame_encode(struct pt_buffer *data, const struct pt_flame *flame)
{
    PT_AUTO_BUFFER text = {0};
    struct pt_json json = {.out = pt_buffer_stream(&text)};
    put_json(&json, flame);
    fclose(json.out);
    pt_buffer_append(data, "PYF1", 4);
    put_word(data, text.length);
    pt_buffer_append(data, text.data, text.length);
    put_nodes(data, flame);
    put_cells(data, flame);
    put_folded(data, flame);
    put_packages(data, flame);
}
