/*
 * The log reader and all that is built from it, on two kinds of input: bytes as they are, and blocks made of them with
 * a right header and checksum (else nothing after the checksum would ever be reached).
 */
#include "tools/compact/compact_segment.h"
#include "tools/flame/flame.h"
#include "tools/model/gil_gc.h"
#include "tools/query/select.h"
#include "tools/report/debug_log.h"
#include "tools/view/call_tree.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_BLOCKS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As `top` reads: a file that grows, piece by piece; or as `push` does, up to times of which each piece has a later
 * one.
 */
static void read_growing(const uint8_t *data, size_t size, bool windows)
{
    const struct pt_load_request request = {
        .timed = !windows, .timed_from_ns = !windows, .whole = windows, .select.join_pools = true};
    struct pt_growing_part part = {.counts = true};
    struct pt_profile *profile = pt_profile_new(&request);
    struct pt_growing *growing = pt_growing_new(profile, "growing");
    uint64_t end = 0;
    for (size_t length = 0; length < size;) {
        size_t piece = 1 + data[length] % 64;
        length = length + piece < size ? length + piece : size;
        part.until_unix_ns = part.compacted_until_unix_ns = UINT64_C(1) << (length < 63 ? length : 63);
        if (pt_growing_read(growing, data + end, length - end, &end, windows ? &part : NULL) != PT_READ_OK)
            break;
        bool ends = end && pt_segment_begins(data + end, length - end);
        if (ends || piece > 32)
            pt_growing_add(growing);
        if (ends) {
            pt_growing_free(growing);
            growing = pt_growing_new(profile, "growing");
            data += end;
            size -= end;
            length -= end;
            end = 0;
        }
    }
    pt_growing_add(growing);
    pt_growing_free(growing);
    pt_profile_close_sums(profile);
    pt_states_add_gc_frames(profile);
    pt_profile_free(profile);
}

static void read_whole(const void *data, size_t size, enum pt_keep keep)
{
    const struct pt_load_request request = {
        .keep = keep, .by = keep == PT_KEEP_SAMPLES ? "package" : "task", .by_roots = true};
    struct pt_profile *profile = pt_profile_new(&request);
    pt_profile_add_segment(profile, data, size, "fuzz");
    pt_profile_add_segment(profile, data, size, "again");
    pt_profile_finish(profile);
    pt_states_add_gc_frames(profile);
    free(pt_states_by(profile, true));
    uint64_t whole = pt_profile_cpu_ns(profile);
    pt_select(profile);
    if (pt_profile_cpu_ns(profile) != whole)
        abort();
    const struct pt_view_options options = {
        .lines = true, .gil = keep == PT_KEEP_SAMPLES, .only_process = PT_NONE, .only_thread = PT_NONE};
    pt_view_free(pt_view_new(profile, &options));
    pt_profile_accounting(profile);
    pt_profile_cpu_ns(profile);
    pt_profile_free(profile);
}

/* As `flame` reads what is large: intervals are merged, and the page has who and when apart. */
static void read_bins(const void *data, size_t size, enum pt_keep keep)
{
    const struct pt_load_request request = {.keep = keep, .timed = true, .merge_intervals = true, .most_samples = 3};
    struct pt_profile *who = pt_profile_new(NULL), *when = pt_profile_new(&request);
    struct pt_buffer page = {0};
    when->run_start_unix_ns = size;
    pt_profile_add_segment(who, data, size, "fuzz");
    pt_profile_add_segment(when, data, size, "fuzz");
    pt_profile_finish(who);
    pt_profile_finish(when);
    uint64_t whole = pt_profile_cpu_ns(who);
    struct pt_flame *flame = pt_flame_new(&who, 1, false);
    pt_flame_add_times(flame, when);
    if (pt_profile_cpu_ns(flame->merged) != 3 * whole || flame->buckets > 400)
        abort();
    pt_flame_encode(&page, flame);
    pt_buffer_free(&page);
    pt_flame_free(flame);
    pt_profile_free(who);
    pt_profile_free(when);
}

/* As exports read single samples of traces: apart from the sums, beside them, and alone. */
static void read_traces(const void *data, size_t size)
{
    uint64_t ns[PT_TRACES_BESIDE + 1];
    for (enum pt_traces traces = PT_TRACES_NONE; traces <= PT_TRACES_BESIDE; traces++) {
        const struct pt_load_request request = {.traces = traces, .timed = traces == PT_TRACES_BESIDE};
        struct pt_profile *profile = pt_profile_new(&request);
        pt_profile_add_segment(profile, data, size, "fuzz");
        pt_profile_finish(profile);
        ns[traces] = pt_profile_cpu_ns(profile);
        pt_select(profile);
        pt_profile_free(profile);
    }
    if (ns[PT_TRACES_APART] != ns[PT_TRACES_NONE] || ns[PT_TRACES_BESIDE] != ns[PT_TRACES_NONE] + ns[PT_TRACES_ONLY])
        abort();
}

static void print_blocks(const void *data, size_t size)
{
    static FILE *nowhere;
    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    pt_debug_log(nowhere, data, size);
}

static void read_all(const void *data, size_t size)
{
    print_blocks(data, size);
    read_whole(data, size, PT_KEEP_SAMPLES);
    read_whole(data, size, PT_KEEP_STACKS);
    read_traces(data, size);
    read_bins(data, size, PT_KEEP_SAMPLES);
    read_bins(data, size, PT_KEEP_STACKS);
    read_growing(data, size, false);
    read_growing(data, size, true);
}

static uint64_t cpu_ns_of(const void *data, size_t size)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    pt_profile_add_segment(profile, data, size, "fuzz");
    pt_profile_finish(profile);
    uint64_t ns = pt_profile_cpu_ns(profile);
    pt_profile_free(profile);
    return ns;
}

/* What is compacted has the same sum. */
static void compact(const void *data, size_t size)
{
    struct pt_segment segment;
    struct pt_buffer bytes = {0};
    const char *why;
    bool read = pt_segment_read(data, size, NULL, &segment, NULL) == PT_READ_OK;
    if (read && pt_compact_segment(data, &segment, 60000000000u, &bytes, &why) &&
        cpu_ns_of(data, size) != cpu_ns_of(bytes.data, bytes.length))
        abort();
    pt_segment_free(&segment);
    pt_buffer_free(&bytes);
}

/* The blocks of a log in a DEFLATED one. */
static void read_deflated(const uint8_t *log, size_t length)
{
    const size_t before = sizeof(struct pp_log_file_header);
    uLongf deflated = compressBound(length - before);
    uint8_t *other = malloc(before + sizeof(struct pp_log_block_header) + deflated);
    uint8_t *payload = other + before + sizeof(struct pp_log_block_header);
    memcpy(other, log, before);
    compress(payload, &deflated, log + before, length - before);
    struct pp_log_block_header header = {PP_BLOCK_DEFLATED, (uint32_t)deflated, 0, 0};
    uint32_t covered[3] = {header.type, header.length, header.sequence};
    header.crc32 = (uint32_t)crc32(crc32(0, (const Bytef *)covered, sizeof covered), payload, (uInt)deflated);
    memcpy(other + before, &header, sizeof header);
    read_all(other, before + sizeof header + deflated);
    free(other);
}

/* {u8 type and how far back in the order, u8 length / 4, payload}… becomes a segment. */
static void read_sealed(const uint8_t *data, size_t size)
{
    static const struct pp_log_file_header file_header = {PP_LOG_MAGIC, PP_LOG_VERSION, PP_LOG_BYTE_ORDER};
    uint8_t *log = malloc(sizeof file_header + size + MAX_BLOCKS * sizeof(struct pp_log_block_header));
    size_t length = sizeof file_header;
    memcpy(log, &file_header, sizeof file_header);
    for (uint32_t sequence = 0; sequence < MAX_BLOCKS && size >= 2; sequence++) {
        size_t payload = data[1] * 4u < size - 2 ? data[1] * 4u : size - 2;
        uint32_t back = data[0] / (PP_BLOCK_WAITS + 1u) < sequence ? data[0] / (PP_BLOCK_WAITS + 1u) : 0;
        struct pp_log_block_header header = {data[0] % (PP_BLOCK_WAITS + 1), (uint32_t)payload, 0, sequence - back};
        uint32_t covered[3] = {header.type, header.length, header.sequence};
        header.crc32 = (uint32_t)crc32(crc32(0, (const Bytef *)covered, sizeof covered), data + 2, (uInt)payload);
        memcpy(log + length, &header, sizeof header);
        memcpy(log + length + sizeof header, data + 2, payload);
        length += sizeof header + payload;
        data += 2 + payload;
        size -= 2 + payload;
    }
    read_all(log, length);
    compact(log, length);
    read_deflated(log, length);
    free(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        read_sealed(data + 1, size - 1);
    else
        read_all(data + 1, size - 1);
    return 0;
}
