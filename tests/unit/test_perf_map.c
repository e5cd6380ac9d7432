/* Names of code that JITs make: ranges that replace each other, a map that grows, is torn, exchanged or hostile, and
 * the list that debuggers read. */
#include "../../preload/modules/gdb_jit.h"
#include "../../preload/modules/perf_map.h"
#include "../workloads/lib/jit_object.h"
#include "random.h"
#include "unit.h"
#include <fcntl.h>
#include <sys/stat.h>

#define PLACES 4096

static struct pp_code_ranges ranges;
static struct pp_perf_map map;
static const char path[] = "map";

void before_each(void)
{
    memset(&map, 0, sizeof map);
    scratch_make();
}

void after_each(void)
{
    pp_code_ranges_clear(&ranges);
}

static void assert_name(uintptr_t address, const char *expected)
{
    const struct pp_code_range *range = pp_code_ranges_find(&ranges, address);
    if (!expected) {
        assert_null(range);
        return;
    }
    size_t length;
    assert_non_null(range);
    const char *name = pp_code_ranges_name(&ranges, range, &length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(name, expected, length);
}

static void put(uintptr_t start, uint64_t size, const char *name, uint32_t number)
{
    assert_true(pp_code_ranges_put(&ranges, start, size, name, strlen(name), 1, number));
}

TEST(test_later_wins)
{
    put(0x1000, 0x1000, "whole", 1);
    put(0x1400, 0x100, "middle", 1);
    assert_name(0x13ff, "whole");
    assert_name(0x1400, "middle");
    assert_name(0x14ff, "middle");
    assert_name(0x1500, "whole");
    assert_name(0x2000, NULL);
    assert_name(0xfff, NULL);
    assert_int_equal(ranges.count, 3);
    put(0x1300, 0x1000, "next", 2);
    assert_name(0x12ff, "whole");
    assert_name(0x1450, "next");
    assert_name(0x22ff, "next");
    assert_int_equal(pp_code_ranges_find(&ranges, 0x1450)->refresh, 2);
    assert_int_equal(pp_code_ranges_find(&ranges, 0x12ff)->refresh, 0);
    /* the same name once more changes nothing */
    put(0x1300, 0x1000, "next", 3);
    assert_int_equal(pp_code_ranges_find(&ranges, 0x1450)->refresh, 0);
    assert_false(pp_code_ranges_put(&ranges, 0, 1, "n", 1, 1, 1));
    assert_false(pp_code_ranges_put(&ranges, 1, 0, "n", 1, 1, 1));
    assert_false(pp_code_ranges_put(&ranges, UINTPTR_MAX, 2, "n", 1, 1, 1));
    assert_false(pp_code_ranges_put(&ranges, 1, UINT64_MAX, "n", 1, 1, 1));
}

/* The same as one name per address. */
TEST(test_random_ranges)
{
    static uint32_t truth[PLACES];
    for (unsigned n = 1; n < 60000; n++) {
        uint32_t start = random_below(PLACES), size = 1 + random_below(4);
        char name[16];
        if (start + size > PLACES)
            continue;
        if (n % 1000 == 0)
            size = PLACES - start;
        snprintf(name, sizeof name, "%u", n);
        put(0x1000 + start, size, name, n);
        for (uint32_t i = 0; i < size; i++)
            truth[start + i] = n;
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", truth[i]);
        assert_name(0x1000 + i, truth[i] ? name : NULL);
    }
}

TEST(test_bounded)
{
    for (uint32_t i = 0; i < PP_CODE_RANGES_MAX + 10; i++)
        pp_code_ranges_put(&ranges, 0x100000000u - 16 * (uintptr_t)i, 8, "name", 4, 1, 1);
    assert_int_equal(ranges.count, PP_CODE_RANGES_MAX);
    assert_int_equal(ranges.dropped, 10);
    assert_name(0x100000000u, "name");
    pp_code_ranges_clear(&ranges);
    /* names that are replaced all the time */
    char name[PP_CODE_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    for (unsigned i = 0; i < ROUNDS(100000, 70000); i++) {
        snprintf(name, 16, "%u ", i);
        name[strlen(name)] = 'n';
        assert_true(pp_code_ranges_put(&ranges, 0x1000 + 16 * (i % 100), 16, name, PP_CODE_NAME_MAX, 1, 1));
    }
    assert_int_equal(ranges.dropped, 0);
    assert_true(ranges.arena.mapped < 2 * PP_CODE_NAMES_MAX);
}

/* Once there was no more room, there is some again when the code with the long names is gone. */
TEST(test_names_full)
{
    char name[PP_CODE_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    for (unsigned i = 0; i < 60000; i++) {
        snprintf(name, 16, "%u ", i);
        name[strlen(name)] = 'n';
        pp_code_ranges_put(&ranges, 0x1000 + 16 * (uintptr_t)i, 16, name, PP_CODE_NAME_MAX, 1, 1);
    }
    assert_true(ranges.dropped > 0);
    for (unsigned i = 0; i < 5 * 60000; i++) {
        snprintf(name, 16, "f%u", i % 100);
        pp_code_ranges_put(&ranges, 0x1000 + 16 * (uintptr_t)(i % 60000), 16, name, strlen(name), 1, 1);
    }
    assert_int_equal(ranges.count, 60000);
    assert_name(0x1000, "f0");
    assert_name(0x1000 + 16 * 59999, "f99");
    assert_true(ranges.arena.mapped <= PP_CODE_NAMES_MAX);
}

static void append(const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    close(fd);
}

#define APPEND(text) append(text, sizeof(text) - 1)

static enum pp_perf_map_result read_map(void)
{
    return pp_perf_map_read(&map, path, &ranges, 1, 1);
}

TEST(test_growth)
{
    assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
    APPEND("1000 10 first\n2000 20 py::f:/a b.py\n3000 1");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_name(0x1008, "first");
    assert_name(0x2000, "py::f:/a b.py");
    assert_name(0x3000, NULL); /* torn */
    APPEND("0 third\r\n0x4000 0x10 fourth\n");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_name(0x300f, "third");
    assert_name(0x4000, "fourth");
    assert_int_equal(ranges.count, 4);
    APPEND("1000 8 again\n");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_name(0x1007, "again");
    assert_name(0x1008, "first");
    /* written anew, as long as before: the bytes differ */
    unlink(path);
    char line[256];
    memset(line, 'x', sizeof line);
    memcpy(line, "9000 10 ", 8);
    line[255] = '\n';
    append(line, 256);
    assert_int_equal(read_map(), PP_PERF_MAP_ANOTHER);
    assert_int_equal(map.offset, 0);
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_non_null(pp_code_ranges_find(&ranges, 0x9000));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(read_map(), PP_PERF_MAP_ANOTHER);
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
}

/* What a process that had the same pid has left. */
TEST(test_older_file)
{
    pp_perf_map_skip(&map, path);
    assert_int_equal(map.offset, 0);
    APPEND("1000 10 dead\n2000 20 dead_too\n3000 1");
    pp_perf_map_skip(&map, path);
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_int_equal(ranges.count, 0);
    /* CPython opens it for appending */
    APPEND("1000 10 alive\n");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_int_equal(ranges.count, 1);
    assert_name(0x1000, "alive");
    pp_code_ranges_clear(&ranges);
    /* others write it anew, in place or not */
    pp_perf_map_skip(&map, path);
    assert_int_equal(truncate(path, 0), 0);
    APPEND("4000 10 in_place, and soon it is longer than the one that was there before\n");
    assert_int_equal(read_map(), PP_PERF_MAP_ANOTHER);
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_int_equal(ranges.count, 1);
    pp_code_ranges_clear(&ranges);
    pp_perf_map_skip(&map, path);
    unlink(path);
    assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
    APPEND("5000 10 new\n");
    assert_int_equal(read_map(), PP_PERF_MAP_ANOTHER);
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_name(0x5000, "new");
}

TEST(test_bad_lines)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "1000\n",
                                      "1000 \n",
                                      "1000 10\n",
                                      "1000 10 \n",
                                      "g000 10 n\n",
                                      "1000 -1 n\n",
                                      " 1000 10 n\n",
                                      "1000 0 n\n",
                                      "0x 10 n\n",
                                      "10000000000000000 10 n\n",
                                      "1000 ffffffffff n\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        append(bad[i], strlen(bad[i]));
    APPEND("1000 10 a\0b\tc\033[1m\xff\xc3\xa9\xed\xa0\x80\n");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    assert_int_equal(ranges.count, 1);
    assert_name(0x1000, "a?b?c?[1m?\xc3\xa9???");
    /* a line that is longer than any buffer, and one behind it */
    size_t length = 300000;
    char *line = malloc(length);
    memset(line, 'l', length);
    memcpy(line, "2000 10 ", 8);
    line[length - 1] = '\n';
    append(line, length);
    APPEND("3000 10 after\n");
    assert_int_equal(read_map(), PP_PERF_MAP_READ);
    size_t found;
    const struct pp_code_range *range = pp_code_ranges_find(&ranges, 0x2000);
    assert_non_null(range);
    pp_code_ranges_name(&ranges, range, &found);
    assert_int_equal(found, PP_CODE_NAME_MAX);
    assert_name(0x3000, "after");
    assert_int_equal(ranges.count, 3);
    free(line);
}

TEST(test_not_a_file_of_ours)
{
    char target[80];
    snprintf(target, sizeof target, "%s.target", path);
    APPEND("1000 10 name\n");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
    unlink(path);
    unlink(target);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
    rmdir(path);
    if (geteuid() == 0) {
        APPEND("1000 10 name\n");
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(read_map(), PP_PERF_MAP_ABSENT);
        unlink(path);
    }
    assert_int_equal(ranges.count, 0);
}

static struct {
    uint32_t version, action;
    struct jit_entry *relevant, *first;
} descriptor = {.version = 1};

/* As LLVM registers it. */
static void make_object(struct jit_object *object, uintptr_t at, const char *name)
{
    make_jit_object(object, at, 0x100, 0x10, 0x20, name);
}

static bool refresh(struct pp_gdb_jit *jit, uint32_t number)
{
    pp_gdb_jit_begin(jit, &ranges, number);
    pp_gdb_jit_walk(jit, (uintptr_t)&descriptor);
    return pp_gdb_jit_end(jit);
}

TEST(test_gdb_list)
{
    static struct jit_object objects[2];
    static struct jit_entry entries[2];
    struct pp_gdb_jit jit = {0};
    make_object(&objects[0], 0x10000, "one");
    make_object(&objects[1], 0x20000, "two");
    entries[0] = (struct jit_entry){NULL, NULL, &objects[0], sizeof objects[0]};
    descriptor.first = &entries[0];
    assert_true(refresh(&jit, 1));
    assert_name(0x10010, "one");
    assert_name(0x1002f, "one");
    assert_name(0x10030, NULL);
    entries[1] = (struct jit_entry){&entries[0], NULL, &objects[1], sizeof objects[1]};
    entries[0].previous = &entries[1];
    descriptor.first = &entries[1];
    assert_true(refresh(&jit, 2));
    assert_name(0x20010, "two");
    assert_int_equal(jit.objects.count, 2);
    /* gone: earlier samples may be in it, later ones not */
    entries[1].next = NULL;
    assert_true(refresh(&jit, 3));
    assert_name(0x10010, "one");
    assert_true(refresh(&jit, 4));
    assert_name(0x10010, NULL);
    assert_name(0x20010, "two");
    /* another one at the same place */
    make_object(&objects[1], 0x30000, "new");
    assert_true(refresh(&jit, 5));
    assert_name(0x30010, "new");
    /* endless, torn, unmapped, no object */
    entries[1].next = &entries[1];
    assert_false(refresh(&jit, 6));
    entries[1].next = (struct jit_entry *)0x10;
    assert_false(refresh(&jit, 7));
    entries[1].next = NULL;
    entries[1].image = (const void *)0x1000;
    assert_true(refresh(&jit, 8));
    entries[1].image = &objects[1];
    for (uint32_t i = 0; i < 20000; i++) {
        make_object(&objects[1], 0x30000, "new");
        ((uint8_t *)&objects[1])[random_below(sizeof objects[1])] ^= (uint8_t)(1 + random_below(255));
        entries[1].size = i % 3 ? sizeof objects[1] : random_below(sizeof objects[1] + 1);
        refresh(&jit, 9 + i);
    }
    descriptor.first = NULL;
    pp_arena_reset(&jit.arena);
}

/* A list that is longer than what is read of it, and never ends while the program adds to it. */
TEST(test_long_gdb_list)
{
    static struct jit_object object;
    static struct jit_entry entries[3 * PP_GDB_JIT_OBJECTS_MAX];
    struct pp_gdb_jit jit = {0};
    size_t count = sizeof entries / sizeof *entries;
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct jit_entry){i + 1 < count ? &entries[i + 1] : NULL, i ? &entries[i - 1] : NULL, &object, 0};
    descriptor.first = entries;
    assert_false(refresh(&jit, 1));
    assert_in_range(jit.walked, PP_GDB_JIT_OBJECTS_MAX, PP_GDB_JIT_OBJECTS_MAX + 1);
    /* and so is what is read of objects in one refresh */
    make_object(&object, 0x10000, "name");
    for (size_t i = 0; i < count; i++)
        entries[i].size = sizeof object;
    assert_false(refresh(&jit, 2));
    assert_in_range(jit.fresh, 1, PP_GDB_JIT_OBJECTS_MAX + 1);
    assert_name(0x10010, "name");
    descriptor.first = NULL;
    pp_arena_reset(&jit.arena);
}

/* Addresses begin again at 0 after the highest: a reader that goes on from there never ends. */
TEST(test_gdb_list_at_the_end)
{
    static struct jit_object object;
    struct jit_entry entry = {NULL, NULL, &object, sizeof object};
    struct pp_gdb_jit jit = {0};
    descriptor.first = &entry;
    unsigned number = 0;
    alarm(20);
    for (unsigned below = 0; below < 0x40; below++) {
        make_object(&object, UINTPTR_MAX - 0xff, "last");
        object.sections[1].sh_size = 0x80;
        object.symbols[1].st_value = 0xff - below;
        object.symbols[2] = object.symbols[1];
        object.symbols[2].st_value = 0x100 + below; /* beyond it */
        assert_true(refresh(&jit, ++number));
    }
    alarm(0);
    assert_name(0x10, NULL);
    descriptor.first = NULL;
    pp_arena_reset(&jit.arena);
}
