/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "../base/terminal_text.h"
#include "../model/frame_text.h"
#include "../view/sample_order.h"

uint32_t pt_number(struct pt_numbering *numbering, uint32_t item)
{
    numbering->given = pt_grow(numbering->given, &numbering->capacity, (uint64_t)item + 1, sizeof *numbering->given);
    if (!numbering->given[item]) {
        numbering->order = pt_grow(numbering->order, &numbering->order_capacity, (uint64_t)numbering->count + 1,
                                   sizeof *numbering->order);
        numbering->order[numbering->count++] = item;
        numbering->given[item] = numbering->count;
    }
    return numbering->given[item];
}

void pt_numbering_free(struct pt_numbering *numbering)
{
    free(numbering->given);
    free(numbering->order);
    *numbering = (struct pt_numbering){0};
}

PT_DEFINE_ADD(static uint32_t add, struct pt_function_table, functions, struct pt_table_function, item->name,
              item->system_name, item->file, item->first_line)

uint32_t pt_number_function(struct pt_function_table *table, struct pt_table_function function)
{
    return add(table, &function) + 1;
}

void pt_function_table_free(struct pt_function_table *table)
{
    PT_FREE_TABLE(&table->functions);
    *table = (struct pt_function_table){0};
}

enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { LINE_FUNCTION = 1, LINE_NUMBER, LINE_COLUMN };

void pt_append_value_type(struct pt_buffer *to, unsigned field, struct pt_numbering *strings,
                          struct pt_profile *profile, const char *type, const char *unit)
{
    PT_AUTO_BUFFER message = {0};
    pt_proto_number(&message, VALUE_TYPE, pt_number_text(strings, profile, type));
    pt_proto_number(&message, VALUE_UNIT, pt_number_text(strings, profile, unit));
    pt_proto_message(to, field, &message);
}

void pt_append_line(struct pt_buffer *to, unsigned field, uint32_t function, uint32_t line, uint32_t column)
{
    PT_AUTO_BUFFER message = {0};
    pt_proto_number(&message, LINE_FUNCTION, function);
    pt_proto_number(&message, LINE_NUMBER, line);
    pt_proto_number(&message, LINE_COLUMN, column);
    pt_proto_message(to, field, &message);
}

void pt_append_function_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                               const struct pt_table_function *function)
{
    pt_proto_number(message, first, pt_number_string(strings, function->name));
    pt_proto_number(message, first + 1, pt_number_string(strings, function->system_name));
    pt_proto_number(message, first + 2, pt_number_string(strings, function->file));
    pt_proto_number(message, first + 3, function->first_line);
}

void pt_append_mapping_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                              const struct pt_module *module)
{
    pt_proto_number(message, first, module->start);
    pt_proto_number(message, first + 1, module->limit);
    pt_proto_number(message, first + 2, module->file_offset);
    pt_proto_number(message, first + 3, pt_number_string(strings, module->path));
}

static uint32_t native_name(struct pt_profile *profile, const struct pt_frame *frame)
{
    PT_AUTO_BUFFER name = {0};
    pt_native_name(&name, profile, frame, false);
    return pt_intern_text(profile, name.data);
}

uint32_t pt_plain_symbol(struct pt_profile *profile, const struct pt_frame *frame)
{
    struct pt_frame plain = *frame;
    plain.inlined_into = 0;
    return native_name(profile, &plain);
}

uint32_t pt_below_inlined(const struct pt_profile *profile, uint32_t node)
{
    while (profile->frames.items[profile->nodes.items[node].frame].inlined_into)
        node = profile->nodes.items[node].parent;
    return profile->nodes.items[node].parent;
}

struct pt_frame_parts pt_frame_parts_of(struct pt_profile *profile, uint32_t number, bool lines)
{
    const struct pt_frame frame = profile->frames.items[number];
    struct pt_frame_parts parts = {.kind = frame.kind, .module = PT_NONE};
    if (frame.kind == PP_FRAME_PYTHON) {
        const struct pt_function *function = &profile->functions.items[frame.subject];
        parts.file = function->file;
        parts.line = lines && frame.line ? frame.line : function->first_line;
        parts.name = function->name ? function->name : pt_intern_text(profile, "<unknown>");
    } else if (frame.kind == PP_FRAME_NATIVE) {
        parts.module = frame.subject;
        if (frame.subject != PT_NONE)
            parts.file = profile->modules.items[frame.subject].path;
        else if (frame.symbol)
            parts.file = pt_intern_text(profile, PT_JIT_MODULE);
        if (lines && frame.line) {
            parts.file = frame.source;
            parts.line = frame.line;
        }
        parts.name = native_name(profile, &frame);
    } else {
        parts.name = frame.subject;
    }
    return parts;
}

void pt_append_plain(struct pt_buffer *out, const char *text, const char *special)
{
    size_t start = out->length;
    pt_shown_text(out, text, 0);
    for (size_t i = start; i < out->length; i++)
        if (strchr(special, out->data[i]))
            out->data[i] = '_';
}

PT_DEFINE_ORDER(by_identity, struct pt_sample,
                pt_compare(x->interval, y->interval) ?: pt_compare(x->thread, y->thread)
                    ?: pt_compare(x->node, y->node))

struct pt_sample *pt_merged_samples(const struct pt_profile *profile, uint32_t *count)
{
    struct pt_sample *samples = pt_copy(profile->samples.items, profile->samples.count, sizeof *samples);
    *count = pt_merge_equal(samples, profile->samples.count, by_identity);
    return samples;
}

struct order {
    const struct pt_profile *profile;
    uint32_t *places; /* of nodes, in a depth-first walk of the tree */
};

static void place_nodes(struct order *order)
{
    const struct pt_node *nodes = order->profile->nodes.items;
    uint32_t count = order->profile->nodes.count;
    PT_AUTO_FREE uint32_t *sizes = pt_alloc(count, sizeof *sizes), *next = pt_alloc(count, sizeof *next);
    order->places = pt_alloc(count, sizeof *order->places);
    for (uint32_t i = count; i-- > 1;)
        sizes[nodes[i].parent] += ++sizes[i];
    for (uint32_t i = 1; i < count; i++) {
        order->places[i] = next[nodes[i].parent];
        next[nodes[i].parent] += sizes[i];
        next[i] = order->places[i] + 1;
    }
}

static int by_time(const void *a, const void *b, void *data)
{
    const struct order *order = data;
    const struct pt_sample *x = a, *y = b;
    const struct pt_interval *intervals = order->profile->intervals.items;
    uint64_t u = intervals[x->interval].start_unix_ns + intervals[x->interval].wall_ns / 2;
    uint64_t v = intervals[y->interval].start_unix_ns + intervals[y->interval].wall_ns / 2;
    return pt_compare(x->thread, y->thread) ?: pt_compare(u, v) ?: pt_compare(order->places[x->node], order->places[y->node]);
}

struct pt_sample *pt_samples_in_time(const struct pt_profile *profile, uint32_t *count)
{
    struct order order = {.profile = profile};
    struct pt_sample *samples = pt_merged_samples(profile, count);
    place_nodes(&order);
    qsort_r(samples, *count, sizeof *samples, by_time, &order);
    free(order.places);
    return samples;
}

bool *pt_nodes_used(const struct pt_profile *profile)
{
    bool *used = pt_alloc(profile->nodes.count, sizeof *used);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        used[profile->samples.items[i].node] = true;
    for (uint32_t i = profile->nodes.count; i-- > 1;)
        if (used[i])
            used[profile->nodes.items[i].parent] = true;
    return used;
}
