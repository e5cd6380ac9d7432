/* SPDX-License-Identifier: Apache-2.0 */
#include "compact_segment.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../base/gzip.h"
#include "../log/segment_tables.h"
#include "../model/sample_sums.h"

#define DEFLATED_TOGETHER ((size_t)4 << 20) /* bytes of blocks in a DEFLATED one */
#define DEFINITIONS       (PP_BLOCK_LABELS + 1)

/* Requests of an endpoint in the bin. */
struct requests {
    uint32_t endpoint;
    struct pt_request_sums sums;
};

struct wait {
    uint32_t node;
    uint64_t count;
};

struct compaction {
    uint64_t bin_ns, bin;                /* the number of the bin whose sums these are */
    uint64_t start_unix_ns, end_unix_ns; /* of the intervals in it; 0: there are none */
    struct pt_sample_sums sums;
    PT_TABLE_OF(struct requests) requests;
    PT_TABLE_OF(struct wait) waits;
    const uint8_t *account; /* payload of the last ACCOUNTING block, not written yet; NULL: none */
    size_t account_length;
    uint64_t next[DEFINITIONS]; /* by type of block: the id after the highest that was defined */
    PT_TABLE_OF(void *) inflated;
    struct pt_segment segment; /* for the decoders, which count damaged records in it */
    struct pt_buffer blocks;   /* not deflated yet */
    struct pt_buffer payload, *out;
    uint32_t sequence, first; /* of the next block, and of the first in `blocks` */
    bool has_process;
    const char *why;
};

static void put_bytes(struct pt_buffer *to, const void *data, size_t length)
{
    pt_buffer_append(to, data, length);
}

static void put_varint(struct pt_buffer *to, uint64_t value)
{
    uint8_t bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (uint8_t)(value | 0x80);
    bytes[length++] = (uint8_t)value;
    put_bytes(to, bytes, length);
}

static void put_header(struct pt_buffer *to, uint32_t type, const void *payload, size_t length, uint32_t sequence)
{
    const uint32_t words[] = {type, (uint32_t)length, sequence};
    struct pp_log_block_header header = {type, (uint32_t)length, 0, sequence};
    header.crc32 = pt_crc32(pt_crc32(0, words, sizeof words), payload, length);
    put_bytes(to, &header, sizeof header);
    put_bytes(to, payload, length);
}

static void deflate_blocks(struct compaction *of)
{
    uLongf length = compressBound(of->blocks.length);
    uint8_t *deflated = pt_alloc(length + 1, 1);
    if (!of->blocks.length) {
        free(deflated);
        return;
    }
    bool good = compress2(deflated, &length, (const uint8_t *)of->blocks.data, of->blocks.length, 6) == Z_OK;
    if (good && of->blocks.length <= PP_LOG_MAX_BLOCK && of->blocks.length / PP_LOG_MOST_DEFLATED < length)
        put_header(of->out, PP_BLOCK_DEFLATED, deflated, length, of->first);
    else
        put_bytes(of->out, of->blocks.data, of->blocks.length);
    free(deflated);
    pt_buffer_clear(&of->blocks);
}

static void put_block(struct compaction *of, uint32_t type, const void *payload, size_t length)
{
    if (of->blocks.length + length > DEFLATED_TOGETHER)
        deflate_blocks(of);
    if (!of->blocks.length)
        of->first = of->sequence;
    put_header(&of->blocks, type, payload, length, of->sequence++);
}

static void put_payload(struct compaction *of, uint32_t type)
{
    put_block(of, type, of->payload.data, of->payload.length);
    pt_buffer_clear(&of->payload);
}

static void begin_interval(struct compaction *of)
{
    put_varint(&of->payload, of->start_unix_ns);
    put_varint(&of->payload, of->end_unix_ns - of->start_unix_ns);
}

/* Appends the fields of a record, with their length before them. */
static void put_record(struct compaction *of, const uint64_t *fields, unsigned count)
{
    PT_AUTO_BUFFER record = {0};
    for (unsigned i = 0; i < count; i++)
        put_varint(&record, fields[i]);
    put_varint(&of->payload, record.length);
    put_bytes(&of->payload, record.data, record.length);
}

static void put_samples(struct compaction *of)
{
    struct pt_log_sample sum;
    bool begun = false;
    for (uint64_t at = 0; pt_sample_sums_next(&of->sums, &at, &sum);) {
        if (!begun)
            begin_interval(of);
        begun = true;
        const uint64_t fields[] = {sum.thread, sum.node, sum.labels, sum.state, sum.count, sum.cpu_ns};
        put_record(of, fields, 6);
        if (of->payload.length < DEFLATED_TOGETHER)
            continue;
        put_payload(of, PP_BLOCK_SAMPLES);
        begun = false;
    }
    if (begun)
        put_payload(of, PP_BLOCK_SAMPLES);
    pt_sample_sums_clear(&of->sums);
}

static void put_requests(struct compaction *of)
{
    if (!of->requests.count)
        return;
    begin_interval(of);
    for (PT_EACH(const struct requests, requests, &of->requests)) {
        uint64_t fields[4 + PP_HANDLER_BUCKETS] = {requests->endpoint, requests->sums.count, requests->sums.measured,
                                                   requests->sums.cpu_ns};
        memcpy(fields + 4, requests->sums.buckets, sizeof requests->sums.buckets);
        put_record(of, fields, 4 + PP_HANDLER_BUCKETS);
    }
    put_payload(of, PP_BLOCK_REQUESTS);
    of->requests.count = 0;
    pt_index_free(&of->requests.index);
}

static void put_waits(struct compaction *of)
{
    if (!of->waits.count)
        return;
    begin_interval(of);
    for (uint32_t i = 0; i < of->waits.count; i++)
        put_record(of, (const uint64_t[]){of->waits.items[i].node, of->waits.items[i].count}, 2);
    put_payload(of, PP_BLOCK_WAITS);
    of->waits.count = 0;
    pt_index_free(&of->waits.index);
}

static void put_sums(struct compaction *of)
{
    put_waits(of);
    put_samples(of);
    put_requests(of);
    of->start_unix_ns = of->end_unix_ns = 0;
}

/* Writes the sums of the bin, in the order in which the library does. */
static void end_bin(struct compaction *of)
{
    put_sums(of);
    if (of->account)
        put_block(of, PP_BLOCK_ACCOUNTING, of->account, of->account_length);
    of->account = NULL;
}

/* Ends the bin, with its sums and what follows as they are: when a process was last seen is read without the rest. */
static void end_blocks(struct compaction *of)
{
    put_sums(of);
    deflate_blocks(of);
    if (of->account)
        put_header(of->out, PP_BLOCK_ACCOUNTING, of->account, of->account_length, of->sequence++);
    of->account = NULL;
}

/* Adds this interval to the bin; if it belongs to another bin, ends the present one first. */
static void enter(struct compaction *of, uint64_t start_unix_ns, uint64_t wall_ns)
{
    uint64_t bin = start_unix_ns / of->bin_ns, end = start_unix_ns + wall_ns;
    if (!start_unix_ns || end < start_unix_ns)
        of->why = "its times make no sense";
    if (of->start_unix_ns && (bin != of->bin || start_unix_ns < of->start_unix_ns))
        end_bin(of);
    of->bin = bin;
    if (!of->start_unix_ns)
        of->start_unix_ns = start_unix_ns;
    of->end_unix_ns = end > of->end_unix_ns ? end : of->end_unix_ns;
}

static void add_samples(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    static const struct pt_sums_by all = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct compaction *of = data;
    (void)segment;
    enter(of, samples->start_unix_ns, samples->wall_ns);
    pt_sample_sums_add(&of->sums, &all, samples->items, samples->count);
}

PT_DEFINE_IDENTITY(requests, struct requests, item->endpoint)
PT_DEFINE_IDENTITY(waits, struct wait, item->node)

static void add_requests(void *data, const struct pt_segment *segment, const struct pt_log_requests *from)
{
    struct compaction *of = data;
    const struct requests wanted = {.endpoint = from->endpoint};
    (void)segment;
    enter(of, from->start_unix_ns, from->wall_ns);
    uint32_t number = PT_FIND_OR_APPEND(&of->requests, requests_hash(&wanted), requests_same, &wanted, wanted);
    struct requests *sum = &of->requests.items[number];
    sum->sums.count += from->sums.count;
    sum->sums.measured += from->sums.measured;
    sum->sums.cpu_ns += from->sums.cpu_ns;
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        sum->sums.buckets[i] += from->sums.buckets[i];
}

static void add_waits(void *data, const struct pt_log_waits *waits)
{
    struct compaction *of = data;
    enter(of, waits->start_unix_ns, waits->wall_ns);
    for (uint32_t i = 0; i < waits->count; i++) {
        const struct wait wanted = {.node = waits->items[i].node};
        uint32_t at = PT_FIND_OR_APPEND(&of->waits, waits_hash(&wanted), waits_same, &wanted, wanted);
        of->waits.items[at].count += waits->items[i].count;
    }
}

/* Returns whether the block gives an id that is defined another meaning, and notes what it defines. */
static bool redefines(struct compaction *of, uint32_t type, struct pt_cursor payload)
{
    uint64_t id = pt_read_varint(&payload);
    bool again = id < of->next[type];
    while (pt_left(&payload)) {
        uint64_t length = pt_read_varint(&payload);
        if (type == PP_BLOCK_NODES)
            pt_read_varint(&payload);
        else
            pt_read_part(&payload, length);
        id++;
    }
    of->next[type] = id > of->next[type] ? id : of->next[type];
    return again;
}

static void put_process(struct compaction *of, const uint8_t *payload, size_t length)
{
    PT_AUTO_BUFFER value = {0};
    put_varint(&value, of->bin_ns);
    put_bytes(&of->payload, payload, length);
    put_varint(&of->payload, PP_PROCESS_COMPACTED_NS);
    put_varint(&of->payload, value.length);
    put_bytes(&of->payload, value.data, value.length);
    put_header(of->out, PP_BLOCK_PROCESS, of->payload.data, of->payload.length, of->sequence++);
    pt_buffer_clear(&of->payload);
    of->has_process = true;
}

static void take_block(struct compaction *of, const struct pp_log_block_header *header, const uint8_t *payload)
{
    const struct pt_segment_sink sink = {
        .data = of, .samples = add_samples, .waits = add_waits, .requests = add_requests};
    struct pt_cursor cursor = pt_cursor(payload, header->length);
    switch (header->type) {
    case PP_BLOCK_SAMPLES:
    case PP_BLOCK_WAITS:
    case PP_BLOCK_REQUESTS:
        pt_segment_parse_block(&of->segment, header->type, cursor, &sink);
        return;
    case PP_BLOCK_ACCOUNTING:
        of->account = payload;
        of->account_length = header->length;
        return;
    case PP_BLOCK_PROCESS:
        if (!of->has_process) {
            put_process(of, payload, header->length);
            return;
        }
        break;
    case PP_BLOCK_END:
        end_blocks(of);
        put_header(of->out, PP_BLOCK_END, payload, header->length, of->sequence++);
        return;
    case PP_BLOCK_NOTICE:
    case PP_BLOCK_EARLIER:
    case PP_BLOCK_TRACES:
        break;
    default: /* definitions, and what is not known */
        if (header->type >= DEFINITIONS || redefines(of, header->type, cursor))
            end_bin(of);
    }
    put_block(of, header->type, payload, header->length);
}

static bool is_sound(const struct pp_log_block_header *header, const uint8_t *payload)
{
    const uint32_t words[] = {header->type, header->length, header->sequence};
    return pt_crc32(pt_crc32(0, words, sizeof words), payload, header->length) == header->crc32;
}

static void take_blocks(struct compaction *of, const uint8_t *data, size_t size, bool inner);

static void take_deflated(struct compaction *of, const uint8_t *payload, size_t length)
{
    uLongf got = PP_LOG_MAX_BLOCK;
    uint8_t *blocks = pt_alloc(got, 1);
    *PT_APPEND(&of->inflated) = blocks; /* of->account may be in it */
    if (uncompress(blocks, &got, payload, length) != Z_OK) {
        of->why = "it is damaged";
        return;
    }
    of->inflated.items[of->inflated.count - 1] = blocks = pt_shrink(blocks, (uint32_t)got + 1, 1);
    take_blocks(of, blocks, got, true);
}

static void take_blocks(struct compaction *of, const uint8_t *data, size_t size, bool inner)
{
    struct pp_log_block_header header;
    for (size_t at = 0; at < size && !of->why; at += sizeof header + header.length) {
        if (size - at >= sizeof header)
            memcpy(&header, data + at, sizeof header);
        bool whole = size - at >= sizeof header && header.length <= size - at - sizeof header;
        if (!whole || !is_sound(&header, data + at + sizeof header) ||
            (!of->has_process && header.type != PP_BLOCK_PROCESS))
            of->why = "it is damaged";
        else if (header.type == PP_BLOCK_DEFLATED && !inner)
            take_deflated(of, data + at + sizeof header, header.length);
        else
            take_block(of, &header, data + at + sizeof header);
    }
}

bool pt_compact_segment(const void *data, const struct pt_segment *segment, uint64_t bin_ns, struct pt_buffer *out,
                        const char **why)
{
    const struct pt_read_losses *losses = &segment->losses;
    struct compaction of = {.bin_ns = bin_ns, .out = out, .segment = {.size = segment->size}};
    size_t end = segment->end - losses->truncated_bytes, header = sizeof(struct pp_log_file_header);
    for (unsigned i = 0; i < DEFINITIONS; i++)
        of.next[i] = 1;
    if (segment->end < segment->size)
        of.why = "it holds several parts";
    else if (!segment->has_process || losses->damaged_blocks || losses->damaged_records || losses->missing_blocks ||
             losses->repeated_blocks)
        of.why = "it is damaged";
    else if (losses->unknown_blocks)
        of.why = "it is of a newer version";
    if (!of.why) {
        put_bytes(out, data, header);
        take_blocks(&of, (const uint8_t *)data + header, end - header, false);
        end_blocks(&of);
    }
    pt_sample_sums_free(&of.sums);
    PT_FREE_TABLE(&of.requests);
    PT_FREE_TABLE(&of.waits);
    for (uint32_t i = 0; i < of.inflated.count; i++)
        free(of.inflated.items[i]);
    PT_FREE_TABLE(&of.inflated);
    pt_segment_free(&of.segment);
    pt_buffer_free(&of.blocks);
    pt_buffer_free(&of.payload);
    *why = of.why;
    return !of.why;
}
