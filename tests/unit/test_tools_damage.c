/*
 * The log reader on files that were cut, and on files with random damage: whatever happened, it comes to an end with
 * little memory, and each block that the damage did not touch is read, once. Which blocks those are is known from where
 * the damage was done, and from the format alone (preload/common/log_format.h, zlib).
 *
 * PYPROF_DAMAGE_LOG=FILE has it done to the log of a real process instead.
 */
#include "log_fixture.h"
#include "preload/base/sanitizer.h"
#include "random.h"
#include "tools/log/reader.h"
#include "tools/model/model.h"
#include "unit.h"
#include <sys/resource.h>
#include <zlib.h>

#define GROUPS      60 /* of definitions and samples: five blocks each */
#define TRUNCATIONS (DAMAGES / 10)
#ifdef PP_SANITIZED
#define DAMAGES 10000 /* a tenth: the rest would only take time */
#else
#define DAMAGES 100000
#endif
#define ALSO_AS_PROFILE 20 /* of so many one is read as `report` and `top` do */
#define HANGS_AFTER     120
#define MEMORY_ROOM     ((rlim_t)48 << 20)
#define MAX_BLOCKS      20000
#define FIRST_WEIGHT    1000000007u /* of samples: not in the file by chance */

struct block {
    size_t start, end; /* in the sound file */
    uint32_t type;
    uint64_t weight; /* CPU time of its samples */
};

struct sound {
    const unsigned char *data;
    size_t size;
    unsigned count;
    struct block blocks[MAX_BLOCKS];
};

/* Bytes of the sound file that are somewhere in the damaged one. */
struct piece {
    size_t start, end;
};

struct damaged {
    unsigned char *data;
    size_t size;
    struct piece pieces[4];
    unsigned count;
};

static struct fixture made;
static struct sound sound;

static uint64_t weight_of(const unsigned char *payload, size_t length);

/* By nothing but the format. */
static void list_blocks(struct sound *file, const unsigned char *data, size_t size)
{
    file->data = data;
    file->size = size;
    file->count = 0;
    for (size_t at = sizeof(struct pp_log_file_header); at < size;) {
        struct pp_log_block_header header;
        memcpy(&header, data + at, sizeof header);
        uint32_t covered[3] = {header.type, header.length, header.sequence};
        const unsigned char *payload = data + at + sizeof header;
        assert_true(header.length <= size - at - sizeof header);
        assert_int_equal(header.sequence, file->count);
        assert_int_equal(crc32(crc32(0, (const Bytef *)covered, sizeof covered), payload, header.length), header.crc32);
        assert_true(file->count < MAX_BLOCKS);
        file->blocks[file->count++] =
            (struct block){at, at + sizeof header + header.length, header.type,
                           header.type == PP_BLOCK_SAMPLES ? weight_of(payload, header.length) : 0};
        at += sizeof header + header.length;
    }
}

static uint64_t varint(const unsigned char **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static uint64_t weight_of(const unsigned char *payload, size_t length)
{
    const unsigned char *at = payload, *end = payload + length;
    uint64_t sum = 0;
    varint(&at);
    varint(&at);
    while (at < end) {
        uint64_t record = varint(&at);
        const unsigned char *next = at + record;
        for (int field = 0; field < 5; field++)
            varint(&at);
        sum += varint(&at);
        at = next;
    }
    return sum;
}

static void make_log(void)
{
    char text[64];
    fixture_begin(&made);
    fixture_process(&made, &(struct fixture_process){"run", "instance", "/srv", "3.12.0", "/usr/bin/python3", 0, 1, 1});
    uint32_t thread = fixture_thread(&made, 1, "main");
    for (uint64_t i = 0; i < GROUPS; i++) {
        snprintf(text, sizeof text, "function_%u", (unsigned)i);
        uint32_t code = fixture_code(&made, text, "/srv/app.py", (uint32_t)(i + 1));
        uint32_t node = fixture_node(&made, 0, fixture_python(&made, code, (uint32_t)i + 2));
        fixture_sample(&made, thread, node, 0, 0, 1, FIRST_WEIGHT + i);
        if (i % 8 == 0)
            fixture_notice(&made, 0, text);
        fixture_accounting(&made,
                           (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, (i + 1) * FIRST_WEIGHT}, {0, 0}});
    }
    fixture_exit(&made);
    list_blocks(&sound, made.file.data, made.file.length);
}

/* What came out. In the log that was made here each samples block has a sample of its own weight. */
struct seen {
    uint64_t sum;
    unsigned of_group[GROUPS], others;
};

static void see_samples(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    struct seen *seen = data;
    (void)segment;
    for (uint32_t i = 0; i < samples->count; i++) {
        uint64_t group = samples->items[i].cpu_ns - FIRST_WEIGHT;
        seen->sum += samples->items[i].cpu_ns;
        if (group < GROUPS)
            seen->of_group[group]++;
        else
            seen->others++;
    }
}

static bool is_whole(const struct damaged *damaged, const struct block *block)
{
    for (unsigned i = 0; i < damaged->count; i++)
        if (block->start >= damaged->pieces[i].start && block->end <= damaged->pieces[i].end)
            return true;
    return false;
}

/* The string that a block defines first is known. */
static bool is_defined(const struct pt_segment *segment, const struct block *block)
{
    const unsigned char *at = sound.data + block->start + sizeof(struct pp_log_block_header);
    uint64_t id = varint(&at), length = varint(&at);
    struct pt_text text = pt_segment_string(segment, id);
    return text.length == length && memcmp(text.data, at, length) == 0;
}

/* How many blocks that are whole have not been read. */
static unsigned count_missed(const struct damaged *damaged, const struct pt_segment *segment, const struct seen *seen)
{
    unsigned missed = 0;
    uint64_t least = 0;
    for (unsigned i = 0; i < sound.count; i++) {
        const struct block *block = &sound.blocks[i];
        if (!is_whole(damaged, block))
            continue;
        least += block->weight;
        if (block->type == PP_BLOCK_STRINGS)
            missed += !is_defined(segment, block);
        else if (block->type == PP_BLOCK_SAMPLES && sound.data == made.file.data)
            missed += seen->of_group[block->weight - FIRST_WEIGHT] != 1;
    }
    return missed + (seen->sum < least);
}

/* What was read and is not in the sound file. */
static unsigned count_invented(const struct seen *seen)
{
    unsigned invented = 0;
    for (unsigned i = 0; i < GROUPS && sound.data == made.file.data; i++)
        invented += seen->of_group[i] > 1;
    return invented + (sound.data == made.file.data ? seen->others : 0);
}

static uint64_t whole_sum(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < sound.count; i++)
        sum += sound.blocks[i].weight;
    return sum;
}

static void read_as_profile(const struct damaged *damaged, const unsigned char *copy)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    pt_profile_add_segment(profile, copy, damaged->size, "damaged");
    pt_profile_finish(profile);
    pt_profile_free(profile);
    profile = pt_profile_new(NULL);
    struct pt_growing *growing = pt_growing_new(profile, "growing");
    uint64_t end = 0;
    for (size_t length = 0; length < damaged->size;) {
        length += 1 + random_below(4000);
        length = length < damaged->size ? length : damaged->size;
        if (pt_growing_read(growing, copy + end, length - end, &end, NULL) != PT_READ_OK)
            break;
    }
    pt_growing_add(growing);
    pt_growing_free(growing);
    pt_profile_free(profile);
}

/* Reads it from memory of exactly its size. */
static void check(const struct damaged *damaged, unsigned number, const char *how)
{
    struct pt_segment segment;
    static struct seen seen;
    unsigned char *copy = malloc(damaged->size ? damaged->size : 1);
    const struct pt_segment_sink sink = {.data = &seen, .samples = see_samples};
    memcpy(copy, damaged->data, damaged->size);
    memset(&seen, 0, sizeof seen);
    alarm(HANGS_AFTER);
    enum pt_read_result result = pt_segment_read(copy, damaged->size, NULL, &segment, &sink);
    bool header_whole = damaged->size >= sizeof(struct pp_log_file_header) &&
                        memcmp(damaged->data, sound.data, sizeof(struct pp_log_file_header)) == 0;
    unsigned missed = count_missed(damaged, &segment, &seen), invented = count_invented(&seen);
    if ((header_whole && (result != PT_READ_OK || missed)) || invented || seen.sum > whole_sum()) {
        fprintf(stderr, "%s %u: %u whole blocks were not read, %u were that are not there\n", how, number, missed,
                invented);
        fail();
    }
    pt_segment_free(&segment);
    if (number % ALSO_AS_PROFILE == 0)
        read_as_profile(damaged, copy);
    alarm(0);
    free(copy);
}

static void keep(struct damaged *damaged, size_t start, size_t end)
{
    if (start < end)
        damaged->pieces[damaged->count++] = (struct piece){start, end};
}

static void append(struct damaged *damaged, size_t start, size_t end)
{
    memcpy(damaged->data + damaged->size, sound.data + start, end - start);
    damaged->size += end - start;
    keep(damaged, start, end);
}

static void append_noise(struct damaged *damaged, size_t length)
{
    uint32_t kind = random_below(4);
    for (size_t i = 0; i < length; i++)
        damaged->data[damaged->size++] = kind == 0 ? 0 : kind == 1 ? 0xff : (unsigned char)random_below(256);
}

static size_t some_length(void)
{
    static const uint32_t most[] = {1, 4, 16, 64, 512, 4096};
    return 1 + random_below(most[random_below(6)]);
}

static const char *do_damage(struct damaged *damaged)
{
    size_t at = random_below((uint32_t)sound.size), length = some_length(), to;
    damaged->size = damaged->count = 0;
    length = length < sound.size - at ? length : sound.size - at;
    switch (random_below(7)) {
    case 0:
        append(damaged, 0, sound.size);
        damaged->data[at] ^= (unsigned char)(1u << random_below(8));
        damaged->count = 0;
        keep(damaged, 0, at);
        keep(damaged, at + 1, sound.size);
        return "bit flipped";
    case 1:
        append(damaged, 0, at);
        append_noise(damaged, length);
        append(damaged, at + length, sound.size);
        return "bytes overwritten";
    case 2:
        append(damaged, 0, at);
        append_noise(damaged, length);
        append(damaged, at, sound.size);
        return "bytes put in";
    case 3:
        append(damaged, 0, at);
        append(damaged, at + length, sound.size);
        /* what follows may begin with the same bytes: then it is read as what is gone, and what follows that is cut */
        for (size_t i = at + length; i < sound.size && sound.data[i] == sound.data[i - length]; i++)
            damaged->pieces[damaged->count - 1].start++;
        return "bytes taken out";
    case 4:
        to = at + length + random_below((uint32_t)(sound.size - at - length + 1));
        length = length < sound.size - to ? length : sound.size - to;
        append(damaged, 0, at);
        /* in another order: what is whole in them need not be believed, what stays in its place must be */
        memcpy(damaged->data + damaged->size, sound.data + to, length);
        damaged->size += length;
        append(damaged, at + length, to);
        memcpy(damaged->data + damaged->size, sound.data + at, length);
        damaged->size += length;
        append(damaged, to + length, sound.size);
        return "bytes swapped";
    case 5:
        append(damaged, 0, at);
        append(damaged, length < at ? at - length : sizeof(struct pp_log_file_header), sound.size);
        return "bytes there twice";
    default:
        append(damaged, 0, at);
        append_noise(damaged, 64 * length);
        return "the end replaced by noise";
    }
}

static void set_memory_limit(struct rlimit *old)
{
#ifdef PP_SANITIZED
    (void)old;
#else
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    getrlimit(RLIMIT_AS, old);
    struct rlimit tight = {(rlim_t)pages * 4096 + MEMORY_ROOM, old->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
#endif
}

static void end_memory_limit(const struct rlimit *old)
{
#ifdef PP_SANITIZED
    (void)old;
#else
    setrlimit(RLIMIT_AS, old);
#endif
}

static void cut_and_damage(unsigned truncations, unsigned damages)
{
    struct damaged damaged = {.data = malloc(sound.size + 64 * 4097)};
    struct rlimit old;
    set_memory_limit(&old);
    for (unsigned i = 0; i < truncations; i++) {
        damaged.size = damaged.count = 0;
        append(&damaged, 0,
               sound.size <= truncations ? i % (sound.size + 1) : (size_t)i * sound.size / (truncations - 1));
        check(&damaged, i, "cut");
    }
    for (unsigned i = 0; i < damages; i++) {
        const char *how = do_damage(&damaged);
        check(&damaged, i, how);
    }
    end_memory_limit(&old);
    free(damaged.data);
}

static void read_log(const char *path)
{
    static unsigned char data[4 << 20];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    list_blocks(&sound, data, size);
    fprintf(stderr, "%u blocks, %zu bytes\n", sound.count, size);
}

TEST(cut_or_damaged_what_is_whole_is_read)
{
    const char *real = getenv("PYPROF_DAMAGE_LOG");
    if (real)
        read_log(real);
    else
        make_log();
    assert_true(real || sound.count > 300);
    cut_and_damage(TRUNCATIONS, DAMAGES);
    fixture_end(&made);
}
