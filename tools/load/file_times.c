/* SPDX-License-Identifier: Apache-2.0 */
#include "file_times.h"

#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "../log/cursor.h"

/* Some file systems round times to two seconds. */
#define ROUNDED_NS 2000000000u

/* A file that seems to be older than its process was copied with a wrong time, or the clock was set back. */
bool pt_file_may_have(const struct pt_file *file, uint64_t from, uint64_t to)
{
    bool known = file->written_unix_ns && file->written_unix_ns + ROUNDED_NS > file->start_unix_ns;
    return file->start_unix_ns < to && (!known || file->written_unix_ns + ROUNDED_NS >= from);
}

/* Returns when the process of a log was last seen: by its last sums, or its end; *ended: it says that it ended. Blocks
 * are passed over by their headers, as far as these make sense. */
static uint64_t last_seen(const char *data, size_t size, bool *ended)
{
    struct pp_log_block_header header;
    uint64_t last = 0;
    *ended = false;
    for (size_t at = 0; size - at >= sizeof header; at += sizeof header + header.length) {
        if (pt_segment_begins(data + at, size - at))
            at += sizeof(struct pp_log_file_header);
        if (size - at < sizeof header)
            break;
        memcpy(&header, data + at, sizeof header);
        if (header.length > size - at - sizeof header)
            break;
        struct pt_cursor payload = pt_cursor(data + at + sizeof header, header.length);
        struct pt_accounting sums = {0};
        uint64_t seen = 0;
        if (header.type == PP_BLOCK_ACCOUNTING && pt_accounting_read(&sums, payload))
            seen = sums.end_unix_ns;
        else if (header.type == PP_BLOCK_END)
            seen = pt_read_varint(&payload);
        if (seen) /* sums that follow say that it went on */
            *ended = header.type == PP_BLOCK_END && pt_read_varint(&payload) != PP_END_SEGMENT;
        last = seen > last ? seen : last;
    }
    return last;
}

PT_DEFINE_ORDER(latest_first, struct pt_file *const, pt_compare((*y)->written_unix_ns, (*x)->written_unix_ns))

static uint64_t last_seen_of(const struct pt_file *file, bool *ended)
{
    size_t size = 0;
    PT_AUTO_FREE char *data = pt_read_file(file->path, file->size, &size);
    *ended = false;
    return data ? last_seen(data, size, ended) : 0;
}

uint64_t pt_files_end(const struct pt_files *files)
{
    uint64_t end = 0;
    bool ended;
    PT_AUTO_FREE const struct pt_file **order = pt_alloc((size_t)files->count + 1, sizeof *order);
    for (uint32_t i = 0; i < files->count; i++) {
        if (files->items[i].alive == PT_ALIVE_YES && last_seen_of(&files->items[i], &ended) && !ended)
            return pt_clock_ns(CLOCK_REALTIME);
        order[i] = &files->items[i];
    }
    qsort(order, files->count, sizeof(struct pt_file *), latest_first);
    for (uint32_t i = 0; i < files->count && order[i]->written_unix_ns > end; i++) {
        uint64_t seen = last_seen_of(order[i], &ended);
        end = seen > end ? seen : end;
    }
    return end;
}
