/*
 * What the page is given. Numbers are little-endian:
 *   "PYF1", then the length and the text of a JSON object (strings, frames, threads, processes, sums), then seven
 *   columns, each its length in bytes and LEB128 numbers:
 *     of nodes, from node 1 on: own number - parent's number; frame
 *     of cells, sorted: node - previous cell's node; thread * 3 + GIL (0 unknown, 1 held, 2 not held); bucket; samples;
 *     nanoseconds (flame.h says which cells there are when "apart" is true)
 * Names come from the profiled program: here they are JSON strings, in the page all of it is base64.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/options.h"
#include "../view/gil_gc.h"
#include "../view/summary.h"
#include "flame.h"

#define SUM(name) #name, offsetof(struct pt_accounting, name)

static const struct {
    const char *name;
    size_t offset;
} sums[] = {
    {SUM(cpu_ns)},  {SUM(sampled_ns)},   {SUM(estimated_ns)},   {SUM(unsampled_ns)},
    {SUM(lost_ns)}, {SUM(lost_samples)}, {SUM(own_ns)},         {SUM(thread_exit_ns)},
    {SUM(samples)}, {SUM(threads)},      {SUM(exited_threads)},
};

void pt_flame_json_string(struct pt_buffer *json, const char *text)
{
    pt_buffer_text(json, "\"");
    while (*text) {
        size_t plain = strcspn(text, "\"\\<>&'\x7f\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12"
                                     "\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f");
        pt_buffer_append(json, text, plain);
        text += plain;
        if (*text)
            pt_buffer_format(json, "\\u%04x", (unsigned char)*text++);
    }
    pt_buffer_text(json, "\"");
}

static void put_text(struct pt_buffer *json, const char *key, const char *text)
{
    pt_buffer_format(json, ",\"%s\":", key);
    pt_flame_json_string(json, text);
}

static void put_frames(struct pt_buffer *json, const struct pt_flame *flame)
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
    for (uint32_t i = 0; i < flame->frames.count; i++) {
        const struct pt_flame_frame *frame = &flame->frames.items[i];
        used[frame->name] = used[frame->file] = used[frame->path] = used[frame->module] = true;
    }
    pt_buffer_text(json, ",\"strings\":[");
    for (uint32_t i = 0; i < flame->merged->strings.count; i++) {
        pt_buffer_text(json, i ? "," : "");
        pt_flame_json_string(json, used[i] ? pt_string(flame->merged, i) : "");
    }
    free(used);
    pt_buffer_text(json, "],\"frames\":{");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        pt_buffer_format(json, "%s\"%s\":[", i ? "," : "", columns[i].name);
        for (uint32_t j = 0; j < flame->frames.count; j++) {
            uint32_t value;
            memcpy(&value, (const char *)&flame->frames.items[j] + columns[i].offset, sizeof value);
            pt_buffer_format(json, "%s%" PRIu32, j ? "," : "", value);
        }
        pt_buffer_text(json, "]");
    }
    pt_buffer_text(json, "}");
}

static void put_warning(void *context, const char *text)
{
    struct pt_buffer *json = context;
    pt_buffer_text(json, json->data[json->length - 1] == '[' ? "" : ",");
    pt_flame_json_string(json, text);
}

static void put_sums(struct pt_buffer *json, const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum = pt_summary_accounting(profile, process);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&sum + sums[i].offset, sizeof value);
        pt_buffer_format(json, ",\"%s\":%" PRIu64, sums[i].name, value);
    }
    pt_buffer_format(json, ",\"difference_ns\":%" PRId64, sum.difference_ns);
}

static void put_side(struct pt_buffer *json, struct pt_profile *profile)
{
    uint64_t start, end;
    uint32_t count, *versions = pt_summary_versions(profile, PT_NONE, &count);
    pt_summary_span(profile, &start, &end);
    pt_buffer_format(json, "{\"start_ms\":%" PRIu64 ",\"end_ms\":%" PRIu64, start / 1000000, end / 1000000);
    put_sums(json, profile, PT_NONE);
    pt_buffer_format(json, ",\"selected\":%s", profile->selected ? "true" : "false");
    pt_buffer_text(json, ",\"pythons\":[");
    for (uint32_t i = 0; i < count; i++) {
        pt_buffer_text(json, i ? "," : "");
        pt_flame_json_string(json, pt_string(profile, versions[i]));
    }
    free(versions);
    pt_buffer_text(json, "],\"warnings\":[");
    pt_summary_warnings(profile, PT_NONE, put_warning, json);
    pt_buffer_text(json, "]}");
}

static void put_process(struct pt_buffer *json, const struct pt_profile *profile, uint32_t number, unsigned side)
{
    const struct pt_process *process = &profile->processes.items[number];
    pt_buffer_format(json, "{\"side\":%u,\"pid\":%" PRIu64 ",\"start_ms\":%" PRIu64, side, process->pid,
                     process->start_unix_ns / 1000000);
    put_text(json, "command", pt_string(profile, process->command_line));
    pt_buffer_format(json, ",\"ended\":%s}", process->ended ? "true" : "false");
}

static void put_thread(struct pt_buffer *json, const struct pt_flame *flame, const struct pt_profile *profile,
                       uint32_t number, uint32_t process_base)
{
    const struct pt_thread *thread = &profile->threads.items[number];
    bool known = thread->tid != UINT64_MAX && flame->detail <= PT_FLAME_THREADS;
    pt_buffer_format(json, "{\"process\":%" PRIu32 ",\"tid\":%" PRIu64, process_base + thread->process,
                     known ? thread->tid : 0);
    put_text(json, "name", pt_string(profile, thread->name));
    pt_buffer_text(json, "}");
}

static void put_json(struct pt_buffer *json, const struct pt_flame *flame)
{
    uint32_t base = 0;
    pt_buffer_format(json,
                     "{\"version\":\"%s\",\"start_ms\":%" PRIu64 ",\"bucket_ns\":%" PRIu64 ",\"buckets\":%" PRIu32,
                     PYPROF_VERSION, flame->start_unix_ns / 1000000, flame->bucket_ns, flame->buckets);
    pt_buffer_format(json, ",\"by\":\"%s\",\"detail\":%d,\"apart\":%s", flame->by_time ? "time" : "cpu", flame->detail,
                     flame->apart ? "true" : "false");
    pt_buffer_format(json, ",\"nodes\":%" PRIu32 ",\"cells\":%" PRIu32, flame->merged->nodes.count,
                     flame->merged->samples.count);
    pt_buffer_text(json, ",\"sides\":[");
    for (unsigned i = 0; i < flame->side_count; i++) {
        pt_buffer_text(json, i ? "," : "");
        put_side(json, flame->sides[i]);
    }
    pt_buffer_text(json, "],\"processes\":[");
    for (unsigned i = 0; i < flame->side_count; i++)
        for (uint32_t j = 0; j < flame->sides[i]->processes.count; j++) {
            pt_buffer_text(json, i || j ? "," : "");
            put_process(json, flame->sides[i], j, i);
        }
    pt_buffer_text(json, "],\"threads\":[");
    for (unsigned i = 0; i < flame->side_count; i++) {
        for (uint32_t j = 0; j < flame->sides[i]->threads.count; j++) {
            pt_buffer_text(json, i || j ? "," : "");
            put_thread(json, flame, flame->sides[i], j, base);
        }
        base += flame->sides[i]->processes.count;
    }
    pt_buffer_text(json, "]");
    put_frames(json, flame);
    pt_buffer_text(json, "}");
}

static void put_word(struct pt_buffer *data, size_t value)
{
    const unsigned char bytes[] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                                   (unsigned char)(value >> 24)};
    pt_buffer_append(data, bytes, sizeof bytes);
}

static void put_varint(struct pt_buffer *data, uint64_t value)
{
    unsigned char bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    pt_buffer_append(data, bytes, length);
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
        put_varint(&parents, i - node->parent);
        put_varint(&frames, node->frame);
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

static int by_node(const void *a, const void *b)
{
    const struct pt_sample *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return x->interval < y->interval ? -1 : x->interval > y->interval;
}

static void put_cells(struct pt_buffer *data, const struct pt_flame *flame)
{
    uint32_t count = flame->merged->samples.count, node = 0;
    struct pt_sample *cells = pt_copy(flame->merged->samples.items, count, sizeof *cells);
    struct pt_buffer columns[5] = {{0}};
    qsort(cells, count, sizeof *cells, by_node);
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sample *cell = &cells[i];
        put_varint(&columns[0], cell->node - node);
        put_varint(&columns[1], (uint64_t)cell->thread * 3 + gil(cell));
        put_varint(&columns[2], cell->interval);
        put_varint(&columns[3], cell->count);
        put_varint(&columns[4], cell->cpu_ns);
        node = cell->node;
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        end_column(data, &columns[i]);
    free(cells);
}

void pt_flame_encode(struct pt_buffer *data, const struct pt_flame *flame)
{
    struct pt_buffer json = {0};
    put_json(&json, flame);
    pt_buffer_append(data, "PYF1", 4);
    put_word(data, json.length);
    pt_buffer_append(data, json.data, json.length);
    pt_buffer_free(&json);
    put_nodes(data, flame);
    put_cells(data, flame);
}
