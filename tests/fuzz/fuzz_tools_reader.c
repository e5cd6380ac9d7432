/*
 * The log reader and all that is built from it, on two kinds of input: bytes as they are, and blocks made of them with
 * a right header and checksum (else nothing behind the checksum would ever be reached).
 */
#include "tools/flame/flame.h"
#include "tools/profile/states.h"
#include "tools/profile/view.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MOST_BLOCKS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As `top` reads: a file that grows, piece by piece. */
static void read_growing(const uint8_t *data, size_t size)
{
    struct pp_profile *profile = pp_profile_new();
    struct pp_growing *growing = pp_growing_new(profile, "growing");
    uint64_t end = 0;
    profile->keep_intervals = true;
    profile->apart_from_ns = 1;
    for (size_t length = 0; length < size;) {
        size_t piece = 1 + data[length] % 64;
        length = length + piece < size ? length + piece : size;
        if (pp_growing_read(growing, data + end, length - end, &end) != PP_READ_OK)
            break;
        if (end && pp_segment_begins(data + end, length - end)) {
            pp_growing_free(growing);
            growing = pp_growing_new(profile, "growing");
            data += end;
            size -= end;
            length -= end;
            end = 0;
        }
    }
    pp_growing_free(growing);
    pp_profile_close_sums(profile);
    pp_states_add_gc_frames(profile);
    pp_profile_free(profile);
}

static void read_whole(const void *data, size_t size, bool stacks_only)
{
    struct pp_profile *profile = pp_profile_new();
    profile->stacks_only = stacks_only;
    pp_profile_add_segment(profile, data, size, "fuzz");
    pp_profile_add_segment(profile, data, size, "again");
    pp_profile_finish(profile);
    pp_states_add_gc_frames(profile);
    free(pp_states_by(profile, true));
    const struct pp_view_options options = {
        .lines = true, .gil = !stacks_only, .only_process = PP_NONE, .only_thread = PP_NONE};
    pp_view_free(pp_view_new(profile, &options));
    pp_profile_accounting(profile);
    pp_profile_cpu_ns(profile);
    pp_profile_free(profile);
}

/* As `flame` reads what is large: intervals are merged, and the page has who and when apart. */
static void read_slots(const void *data, size_t size, bool stacks_only)
{
    struct pp_profile *who = pp_profile_new(), *when = pp_profile_new();
    struct pp_buffer page = {0};
    when->keep_intervals = when->merge_intervals = true;
    when->stacks_only = stacks_only;
    when->most_samples = 3;
    when->slots_from_ns = size;
    pp_profile_add_segment(who, data, size, "fuzz");
    pp_profile_add_segment(when, data, size, "fuzz");
    pp_profile_finish(who);
    pp_profile_finish(when);
    uint64_t whole = pp_profile_cpu_ns(who);
    struct pp_flame *flame = pp_flame_new(&who, 1, false);
    pp_flame_add_times(flame, when);
    if (pp_profile_cpu_ns(flame->merged) != 3 * whole || flame->buckets > 400)
        abort();
    pp_flame_encode(&page, flame);
    pp_buffer_free(&page);
    pp_flame_free(flame);
    pp_profile_free(who);
    pp_profile_free(when);
}

static void read_all(const void *data, size_t size)
{
    read_whole(data, size, false);
    read_whole(data, size, true);
    read_slots(data, size, false);
    read_slots(data, size, true);
    read_growing(data, size);
}

/* {u8 type and how far back in the order, u8 length / 4, payload}… becomes a segment. */
static void read_sealed(const uint8_t *data, size_t size)
{
    static const struct pp_log_file_header file_header = {PP_LOG_MAGIC, PP_LOG_VERSION, PP_LOG_BYTE_ORDER};
    uint8_t *log = malloc(sizeof file_header + size + MOST_BLOCKS * sizeof(struct pp_log_block_header));
    size_t length = sizeof file_header;
    memcpy(log, &file_header, sizeof file_header);
    for (uint32_t sequence = 0; sequence < MOST_BLOCKS && size >= 2; sequence++) {
        size_t payload = data[1] * 4u < size - 2 ? data[1] * 4u : size - 2;
        uint32_t back = data[0] / 16u < sequence ? data[0] / 16u : 0;
        struct pp_log_block_header header = {data[0] % 16, (uint32_t)payload, 0, sequence - back};
        uint32_t covered[3] = {header.type, header.length, header.sequence};
        header.crc32 = (uint32_t)crc32(crc32(0, (const Bytef *)covered, sizeof covered), data + 2, (uInt)payload);
        memcpy(log + length, &header, sizeof header);
        memcpy(log + length + sizeof header, data + 2, payload);
        length += sizeof header + payload;
        data += 2 + payload;
        size -= 2 + payload;
    }
    read_all(log, length);
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
