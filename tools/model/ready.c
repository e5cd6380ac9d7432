/* SPDX-License-Identifier: Apache-2.0 */
#include "ready.h"

#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../log/cursor.h"

#define MOST_FRAMES 10000 /* of a stack: a damaged log may have any number */

static bool is_text(struct pt_text text, const char *wanted)
{
    return text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

/* Asyncio's tasks have the key of jobs. */
static bool has_request(const struct pt_segment *segment, uint32_t labels, bool in_task)
{
    const struct pt_log_labels *set = pt_segment_find(segment, PT_TABLE_LABELS, labels);
    struct pt_cursor pairs = set ? pt_cursor(set->pairs.data, set->pairs.length) : (struct pt_cursor){0};
    while (set && pt_left(&pairs)) {
        struct pt_text key = pt_segment_string(segment, pt_read_varint(&pairs));
        pt_read_varint(&pairs);
        if (pairs.bad)
            break;
        if (is_text(key, PP_KEY_ENDPOINT) || is_text(key, PP_KEY_TEST) || (is_text(key, PP_KEY_TASK) && !in_task))
            return true;
    }
    return false;
}

static enum {
    SERVES,
    RUNS,
    STARTS,
    UNKNOWN
} part_of(const struct pt_segment *segment, const struct pt_log_sample *sample)
{
    bool python = false, import = false, native = false, in_task = false;
    const struct pt_log_node *node;
    uint32_t id = sample->node;
    for (uint32_t i = 0; i < MOST_FRAMES && (node = pt_segment_find(segment, PT_TABLE_NODES, id)); i++) {
        id = node->parent;
        const struct pt_log_frame *frame = pt_segment_find(segment, PT_TABLE_FRAMES, node->frame);
        const struct pt_log_code *code =
            frame && frame->kind == PP_FRAME_PYTHON ? pt_segment_find(segment, PT_TABLE_CODES, frame->subject) : NULL;
        struct pt_text file = code ? pt_segment_string(segment, code->file) : (struct pt_text){0};
        python |= code != NULL;
        native |= frame && frame->kind == PP_FRAME_NATIVE;
        import |= file.length >= strlen(PT_IMPORTLIB) && memcmp(file.data, PT_IMPORTLIB, strlen(PT_IMPORTLIB)) == 0;
        /* before and after a task's own frames there is no mark of a task */
        in_task |= code && memmem(file.data, file.length, "/asyncio/", strlen("/asyncio/"));
    }
    if (has_request(segment, sample->labels, in_task))
        return SERVES;
    const struct pt_log_thread *thread = pt_segment_find(segment, PT_TABLE_THREADS, sample->thread);
    bool is_main = thread && thread->tid == segment->process.pid;
    return import || (native && !python && is_main) ? STARTS : python ? RUNS : UNKNOWN;
}

static void note(uint64_t *earliest, uint64_t unix_ns)
{
    *earliest = *earliest && *earliest < unix_ns ? *earliest : unix_ns;
}

void pt_ready_samples(struct pt_ready *ready, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    for (uint32_t i = 0; i < samples->count; i++) {
        if (!samples->items[i].labels && ready->runs_unix_ns && ready->runs_unix_ns <= samples->start_unix_ns)
            continue;
        int part = part_of(segment, &samples->items[i]);
        if (part == SERVES)
            note(&ready->serves_unix_ns, samples->start_unix_ns);
        else if (part == RUNS)
            note(&ready->runs_unix_ns, samples->start_unix_ns);
    }
}

void pt_ready_requests(struct pt_ready *ready, uint64_t start_unix_ns)
{
    note(&ready->serves_unix_ns, start_unix_ns);
}

uint64_t pt_ready_unix_ns(const struct pt_ready *ready)
{
    return ready->serves_unix_ns ?: ready->runs_unix_ns ?: UINT64_MAX;
}

bool pt_ready_in(const struct pt_ready *ready, const struct pt_interval *interval)
{
    uint64_t at = pt_ready_unix_ns(ready);
    return at >= interval->start_unix_ns && at - interval->start_unix_ns < interval->wall_ns;
}

bool pt_is_of_start(const struct pt_segment *segment, const struct pt_log_sample *sample)
{
    return part_of(segment, sample) == STARTS;
}
