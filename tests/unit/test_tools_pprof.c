/* The pprof export, decoded here: what strict readers insist on, and the sums. */
#include "profile_fixture.h"
#include "tools/export/export.h"
#include "tools/log/cursor.h"

#include <zlib.h>

#define BIAS       0x7f0000000000u
#define MAX_STRING 200
#define MAX        64
#define ROOM       (1u << 20)

enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING };

struct decoded {
    struct pt_cursor strings[MAX_STRING], mappings[MAX], locations[MAX], functions[MAX], samples[MAX];
    unsigned string_count, mapping_count, location_count, function_count, sample_count, sample_types;
};

/* One field: number fields give value, others bytes. */
static unsigned read_field(struct pt_cursor *message, uint64_t *value, struct pt_cursor *bytes)
{
    uint64_t key = pt_read_varint(message);
    *value = pt_read_varint(message);
    if ((key & 7) == 2)
        *bytes = pt_read_part(message, *value);
    else
        assert_int_equal(key & 7, 0);
    assert_false(message->bad);
    return (unsigned)(key >> 3);
}

/* The number in a field of a message, 0 when it is not there. */
static uint64_t number_of(struct pt_cursor message, unsigned field)
{
    uint64_t value;
    struct pt_cursor bytes;
    while (pt_left(&message))
        if (read_field(&message, &value, &bytes) == field)
            return value;
    return 0;
}

static struct pt_cursor bytes_of(struct pt_cursor message, unsigned field)
{
    uint64_t value;
    struct pt_cursor bytes = {0};
    while (pt_left(&message))
        if (read_field(&message, &value, &bytes) == field)
            return bytes;
    return pt_cursor("", 0);
}

static bool text_is(const struct decoded *profile, uint64_t string, const char *wanted)
{
    assert_true(string < profile->string_count);
    const struct pt_cursor *text = &profile->strings[string];
    return pt_left(text) == strlen(wanted) && memcmp(text->at, wanted, strlen(wanted)) == 0;
}

static struct decoded decode(struct pt_cursor message)
{
    struct decoded profile = {0};
    while (pt_left(&message)) {
        uint64_t value;
        struct pt_cursor bytes = {0};
        unsigned field = read_field(&message, &value, &bytes);
        profile.sample_types += field == SAMPLE_TYPE;
        if (field == SAMPLE)
            profile.samples[profile.sample_count++] = bytes;
        else if (field == MAPPING)
            profile.mappings[profile.mapping_count++] = bytes;
        else if (field == LOCATION)
            profile.locations[profile.location_count++] = bytes;
        else if (field == FUNCTION)
            profile.functions[profile.function_count++] = bytes;
        else if (field == STRING)
            profile.strings[profile.string_count++] = bytes;
    }
    return profile;
}

static struct pt_profile *example(void)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct fixture log;
        fixture_example(&log, 100 + 100 * i, BIAS + i * 0x1000000);
        add_log(profile, &log);
    }
    pt_profile_finish(profile);
    return profile;
}

static char *export_bytes(size_t *size)
{
    char *data = NULL;
    AUTO_PROFILE *profile = example();
    FILE *out = open_memstream(&data, size);
    pt_export_pprof(profile, &(struct pt_export_options){0}, out);
    fclose(out);
    return data;
}

static size_t unzip(const char *data, size_t size, unsigned char *out)
{
    z_stream stream = {
        .next_in = (unsigned char *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = ROOM};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    return ROOM - stream.avail_out;
}

static char *zipped;
static unsigned char plain[ROOM];
static size_t zipped_size, plain_size;
static struct decoded decoded;

void before_all(void)
{
    zipped = export_bytes(&zipped_size);
    plain_size = unzip(zipped, zipped_size, plain);
    decoded = decode(pt_cursor(plain, plain_size));
}

void after_all(void)
{
    free(zipped);
}

TEST(the_same_profile_gives_the_same_bytes)
{
    size_t size;
    PT_AUTO_FREE char *again = export_bytes(&size);
    assert_int_equal(size, zipped_size);
    assert_memory_equal(again, zipped, size);
}

TEST(ids_are_sequential_and_strings_start_empty)
{
    const struct decoded *profile = &decoded;
    assert_int_equal(pt_left(&profile->strings[0]), 0);
    assert_int_equal(profile->sample_types, 2);
    assert_int_equal(profile->mapping_count, 2);
    assert_int_equal(profile->location_count, 7);
    assert_int_equal(profile->function_count, 5); /* main, fib, _start, sum_squares, [unsampled] */
    for (unsigned i = 0; i < profile->mapping_count; i++)
        assert_int_equal(number_of(profile->mappings[i], 1), i + 1);
    for (unsigned i = 0; i < profile->location_count; i++)
        assert_int_equal(number_of(profile->locations[i], 1), i + 1);
    for (unsigned i = 0; i < profile->function_count; i++)
        assert_int_equal(number_of(profile->functions[i], 1), i + 1);
    for (unsigned i = 1; i < profile->string_count; i++)
        for (unsigned j = 0; j < i; j++)
            assert_false(pt_left(&profile->strings[i]) == pt_left(&profile->strings[j]) &&
                         memcmp(profile->strings[i].at, profile->strings[j].at, pt_left(&profile->strings[i])) == 0);
}

TEST(samples_sum_up_and_refer_to_what_there_is)
{
    const struct decoded *profile = &decoded;
    uint64_t count = 0, cpu_ns = 0;
    for (unsigned i = 0; i < profile->sample_count; i++) {
        struct pt_cursor locations = bytes_of(profile->samples[i], 1), values = bytes_of(profile->samples[i], 2);
        while (pt_left(&locations)) {
            uint64_t id = pt_read_varint(&locations);
            assert_in_range(id, 1, profile->location_count);
        }
        count += pt_read_varint(&values);
        cpu_ns += pt_read_varint(&values);
        assert_false(values.bad);
        assert_int_equal(pt_left(&values), 0);
    }
    assert_int_equal(count, 18);
    assert_int_equal(cpu_ns, 2 * (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS));
}

TEST(samples_carry_thread_and_process)
{
    const struct decoded *profile = &decoded;
    unsigned threads = 0, pids = 0, endpoints = 0, held = 0, not_held = 0, gc = 0;
    for (unsigned i = 0; i < profile->sample_count; i++) {
        struct pt_cursor sample = profile->samples[i];
        while (pt_left(&sample)) {
            uint64_t value;
            struct pt_cursor label;
            if (read_field(&sample, &value, &label) != 3)
                continue;
            uint64_t key = number_of(label, 1), text = number_of(label, 2), number = number_of(label, 3);
            assert_true(key && !text != !number);
            threads += text_is(profile, key, "thread") && text;
            pids += text_is(profile, key, "pid") && (number == 100 || number == 200);
            held += text_is(profile, key, "gil") && text_is(profile, text, "held");
            not_held += text_is(profile, key, "gil") && text_is(profile, text, "not held");
            gc += text_is(profile, key, "gc") && text_is(profile, text, "yes");
            endpoints += text_is(profile, key, "endpoint") && text_is(profile, text, "/index");
        }
    }
    assert_int_equal(threads, profile->sample_count);
    assert_int_equal(pids, profile->sample_count);
    assert_int_equal(endpoints, 2);
    assert_int_equal(held, 6); /* of six samples of each process; two say nothing of the GIL */
    assert_int_equal(not_held, 2);
    assert_int_equal(gc, 2);
}

TEST(locations_say_where)
{
    const struct decoded *profile = &decoded;
    unsigned python = 0, native = 0, nameless = 0, pseudo = 0;
    for (unsigned i = 0; i < profile->location_count; i++) {
        struct pt_cursor location = profile->locations[i], line = bytes_of(location, 4);
        uint64_t mapping = number_of(location, 2), address = number_of(location, 3), function = number_of(line, 1);
        assert_in_range(mapping, 0, profile->mapping_count);
        assert_in_range(function, 0, profile->function_count);
        if (!function) {
            nameless++;
            assert_int_equal(address, 0x103456 - 0x100000);
            continue;
        }
        struct pt_cursor named = profile->functions[function - 1];
        if (text_is(profile, number_of(named, 2), "fib")) {
            python++;
            assert_int_equal(mapping, 1);
            assert_in_range(number_of(line, 2), 4, 5);
            assert_int_equal(number_of(line, 3), number_of(line, 2) == 5 ? 7 : 0);
            assert_int_equal(number_of(named, 5), 3);
            assert_true(text_is(profile, number_of(named, 4), "/srv/venv/lib/python3.11/site-packages/numbers/fib.py"));
        }
        native += text_is(profile, number_of(named, 2), "sum_squares") && mapping == 2 && address == 0x2000;
        pseudo += text_is(profile, number_of(named, 2), "[unsampled]") && !mapping && !address;
    }
    assert_int_equal(python, 2);
    assert_int_equal(native, 1);
    assert_int_equal(nameless, 1);
    assert_int_equal(pseudo, 1);
}

TEST(the_executable_is_the_first_mapping)
{
    const struct decoded *profile = &decoded;
    struct pt_cursor python = profile->mappings[0], extension = profile->mappings[1];
    assert_true(text_is(profile, number_of(python, 5), "/opt/py/bin/python"));
    assert_true(text_is(profile, number_of(python, 6), "abcdef0123"));
    assert_int_equal(number_of(python, 2), 0x1000);
    assert_int_equal(number_of(python, 3), 0x9000);
    assert_int_equal(number_of(python, 7), 1);
    assert_true(text_is(profile, number_of(extension, 5), "/srv/venv/lib/libfoo.so"));
    assert_int_equal(number_of(extension, 7), 0); /* one of its functions has no name */
}
