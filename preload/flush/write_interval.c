/* SPDX-License-Identifier: Apache-2.0 */
#include "write_interval.h"
#include "../account/interval_data.h"
#include "../account/short_threads.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../log/disk.h"
#include "../log/notes.h"
#include "../log/segment.h"
#include "requests.h"
#include "traces.h"
#include "waiting.h"
#include <string.h>

#define A_FILE 4096u /* what it takes on the disk beyond its bytes, about */
/* Then another segment begins: `pyprof compact` takes closed ones only. */
#define SEGMENT_NS (6 * 3600 * (uint64_t)1000000000)

static struct pp_segment segment;
static uint64_t segment_since_ns; /* CLOCK_MONOTONIC: when its first interval began */
static unsigned writers;          /* processes that write to the directory, as far as is known */

/* As of the last write. When that failed, its [lost] sample was lost with it, hence unwritten_ns. */
static struct {
    struct pp_account account;
    uint64_t unwritten_ns;
} last_write;
static struct pp_buffer payload;      /* of the block that is being written */
static struct pp_buffer written_sums; /* payload of the last ACCOUNTING block that was written */

static void write_samples(struct pp_buffer *out, uint64_t now_monotonic_ns)
{
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, pp_interval.start_ns);
    pp_put_varint(&payload, now_monotonic_ns - pp_interval.start_monotonic_ns);
    for (uint32_t id = 1; id <= pp_interval.samples.count; id++) {
        const struct pp_intern_entry *entry = pp_intern_entry(&pp_interval.samples, id);
        struct pp_sample_key key;
        memcpy(&key, pp_intern_key(entry), sizeof key);
        size_t record = pp_record_begin(&payload);
        pp_put_varint(&payload, key.thread);
        pp_put_varint(&payload, key.node);
        pp_put_varint(&payload, key.labels);
        pp_put_varint(&payload, key.state);
        pp_put_varint(&payload, entry->value[0]);
        pp_put_varint(&payload, entry->value[1]);
        pp_record_end(&payload, record);
    }
    if (pp_interval.samples.count)
        pp_put_block(out, PP_BLOCK_SAMPLES, &payload, &segment.sequence);
}

/* Encodes the requests as a block's payload. What could not be written is lost with the samples of the same time: CPU
 * time per request stays right. */
static void encode_requests(struct pp_buffer *requests, uint64_t now_monotonic_ns)
{
    static struct pp_buffer records;
    pp_buffer_clear(&records);
    pp_buffer_clear(requests);
    pp_requests_consume(&pp_interval.tables, &records);
    if (!records.length)
        return;
    pp_put_varint(requests, pp_interval.start_ns);
    pp_put_varint(requests, now_monotonic_ns - pp_interval.start_monotonic_ns);
    pp_put_bytes(requests, records.data, records.length);
    requests->failed |= records.failed;
}

static void write_end(struct pp_buffer *out, enum pp_end_reason reason)
{
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, pp_sys_clock_ns(CLOCK_REALTIME));
    pp_put_varint(&payload, reason);
    pp_put_block(out, PP_BLOCK_END, &payload, &segment.sequence);
}

/* Counts what this flush would have written as lost. Its definitions are lost too: a new segment must begin. */
static void count_as_lost(const struct pp_account *before)
{
    struct pp_account *now = &pp_interval.account;
    uint64_t sampled = now->sampled_ns - before->sampled_ns, unsampled = now->unsampled_ns - before->unsampled_ns;
    uint64_t exits = now->thread_exit_ns - before->thread_exit_ns;
    now->sampled_ns = before->sampled_ns;
    now->unsampled_ns = before->unsampled_ns;
    now->estimated_ns = before->estimated_ns;
    now->uneven_ns = before->uneven_ns;
    now->not_selected_ns = before->not_selected_ns;
    now->not_selected = before->not_selected;
    now->other_labels_ns = before->other_labels_ns;
    now->other_labels = before->other_labels;
    now->lost_samples += now->samples - before->samples;
    now->samples = before->samples;
    now->lost_ns += sampled + unsampled + exits;
    now->thread_exit_ns = before->thread_exit_ns;
    pp_interval.unwritten_ns = last_write.unwritten_ns + now->lost_ns - before->lost_ns;
    now->reasons[PP_REASON_WRITE_FAILED]++;
}

/* Invalidates all ids of the segment. Short threads wait with ids of the segment; none waits when the segment was full.
 */
static void forget_segment(void)
{
    segment.open = false;
    pp_tables_reset(&pp_interval.tables);
    pp_interval.unwritten_ns += pp_short_threads_waiting_ns();
    pp_interval.account.lost_ns += pp_short_threads_waiting_ns();
    pp_short_threads_reset();
}

static void note_written(void)
{
    last_write.account = pp_interval.account;
    last_write.unwritten_ns = pp_interval.unwritten_ns;
}

void pp_write_check_file(void)
{
    if (!segment.open || pp_segment_is_intact(&segment))
        return;
    if (pp_interval.samples.count) {
        count_as_lost(&last_write.account);
        pp_samples_clear();
    }
    forget_segment();
    note_written();
}

static void keep_below_limit(uint64_t written)
{
    uint64_t first = segment.whole_bytes == written ? A_FILE : 0;
    if (!pp_disk_is_due(written + first, segment.whole_bytes + first, pp_config.max_disk))
        return;
    const char *name = segment.path + strlen(segment.directory) + 1;
    struct pp_disk_trimmed trimmed = pp_disk_trim(segment.directory, name, pp_config.max_disk);
    pp_interval.account.removed_files += trimmed.files;
    pp_interval.account.removed_bytes += trimmed.bytes;
    writers = trimmed.writers;
}

bool pp_write_interval(uint64_t profiler_threads_ns, uint64_t now_monotonic_ns, enum pp_end_reason end, bool last)
{
    static struct pp_buffer out, fields, requests;
    pp_buffer_clear(&out);
    pp_buffer_clear(&fields);
    if (!segment.open) {
        pp_segment_begin(&segment, &out);
        segment_since_ns = pp_interval.start_monotonic_ns;
        pp_notes_begin_segment();
        if (written_sums.length && !written_sums.failed)
            pp_put_block(&out, PP_BLOCK_EARLIER, &written_sums, &segment.sequence);
    }
    pp_segment_renew(&segment, &out);
    encode_requests(&requests, now_monotonic_ns);
    pp_tables_write(&pp_interval.tables, &out, &segment.sequence);
    pp_waiting_write(&out, pp_interval.start_ns, now_monotonic_ns - pp_interval.start_monotonic_ns, &segment.sequence);
    write_samples(&out, now_monotonic_ns);
    pp_traces_write(&out, &segment.sequence);
    if (requests.length)
        pp_put_block(&out, PP_BLOCK_REQUESTS, &requests, &segment.sequence);
    pp_notes_write(&out, &segment.sequence);
    pp_account_write(&pp_interval.account, profiler_threads_ns, segment.bytes + out.length, &fields);
    pp_put_block(&out, PP_BLOCK_ACCOUNTING, &fields, &segment.sequence);
    bool full = pp_write_is_full();
    if (end != PP_END_NOT || full)
        write_end(&out, end != PP_END_NOT ? end : PP_END_SEGMENT);
    if (out.failed)
        pp_warn_once(PP_CAUSE_OUTPUT, "no memory to write the profile with: what it lacks counts as lost");
    bool written = !out.failed && pp_segment_append(&segment, &out, last);
    if (written) {
        pp_notes_written();
        pp_buffer_clear(&written_sums);
        pp_put_bytes(&written_sums, fields.data, fields.length);
        keep_below_limit(out.length);
    } else {
        count_as_lost(&last_write.account);
    }
    if (!written || full)
        forget_segment();
    note_written();
    return written;
}

bool pp_write_has_begun(void)
{
    return segment.number > 0;
}

const char *pp_write_directory(void)
{
    return pp_write_has_begun() && segment.directory[0] ? segment.directory : pp_config.out;
}

bool pp_write_is_full(void)
{
    bool large =
        segment.open && pp_config.max_disk && segment.whole_bytes > pp_disk_file_limit(pp_config.max_disk, writers);
    /* The same until the interval is written: ids of a full segment end with it. */
    bool old = segment.open && pp_interval.start_monotonic_ns - segment_since_ns >= SEGMENT_NS;
    return large || old || pp_tables_full(&pp_interval.tables);
}

void pp_write_after_fork(void)
{
    memset(&last_write, 0, sizeof last_write);
    pp_notes_after_fork();
    pp_buffer_clear(&written_sums);
    pp_segment_after_fork(&segment);
}
