/* Lines of Jinja's and Mako's code become lines of the template, by a text that may be anything. */
#include "preload/python/template_lines.h"
#include "unit.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t line_by(const char *text, bool cut, bool extends, uint32_t line)
{
    struct pp_template_lines lines = {text, (uint32_t)strlen(text), cut, extends};
    return pp_template_line(&lines, line);
}

TEST(a_line_is_that_of_the_last_pair_before_it)
{
    static const char text[] = "2=12&9=15&4=300";
    const uint32_t expected[][2] = {{1, 1},   {11, 1},  {12, 2},     {14, 2}, {15, 9},
                                    {299, 9}, {300, 4}, {999999, 4}, {0, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(line_by(text, false, false, expected[i][0]), expected[i][1]);
    assert_int_equal(pp_template_line(&(struct pp_template_lines){0}, 77), 77);
    assert_int_equal(line_by("", false, false, 5), 1);
}

TEST(what_is_left_out_is_unknown)
{
    /* of a template that extends another one only what the text has is known, and what comes before it */
    assert_int_equal(line_by("2=12&9=15", false, true, 12), 2);
    assert_int_equal(line_by("2=12&9=15", false, true, 13), 0);
    assert_int_equal(line_by("2=12&9=15", false, true, 16), 0);
    assert_int_equal(line_by("2=12&9=15", false, true, 4), 1);
    /* wherever the text was cut, a line is right or unknown */
    static const char text[] = "2=12&9=15&44=330&45=3000";
    for (size_t size = 0; size < sizeof text; size++) {
        char *cut = strndup(text, size);
        for (uint32_t line = 1; line < 3100; line += 7) {
            uint32_t found = line_by(cut, true, false, line);
            assert_true(!found || found == line_by(text, false, false, line));
        }
        free(cut);
    }
}

TEST(other_texts_are_not_jinjas)
{
    static const char *const good[] = {"", "1=2", "1=2&30=400", "1=2&3", "1=2&3="}, *const bad[] = {
                                                                                        "build 7",  "=",     "&",
                                                                                        "1&2",      "1=2=3", "1==2",
                                                                                        "1=2&&3=4", "x=1",   "1=-2"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(pp_template_lines_valid(good[i], (uint32_t)strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(pp_template_lines_valid(bad[i], (uint32_t)strlen(bad[i])));
}

TEST(any_bytes_are_read_to_their_end)
{
    static const char *const odd[] = {"=",   "&", "1", "1=", "=1", "1==2&&3=", "x=y&1=2", "99999999999999999999=1&5=6",
                                      "1=2&"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        /* a copy of its own size: a byte read after it is seen */
        size_t size = strlen(odd[i]);
        char *text = malloc(size);
        memcpy(text, odd[i], size);
        pp_template_line(&(struct pp_template_lines){text, (uint32_t)size, false, false}, 3);
        free(text);
    }
}

#define MAKO(path, lines)                                                                                              \
    "\"\"\"\n__M_BEGIN_METADATA\n{\"filename\": \"" path "\", \"uri\": \"\\\"line_map\\\": {\", \"line_map\": {" lines \
    "}}\n__M_END_METADATA\n\"\"\"\n"

/* Parses a copy of its own size, and checks that lines are within it. */
static bool parse(struct pp_mako_map *map, const char *text, size_t size, uint32_t line, uint32_t *found)
{
    char *copy = strndup(text, size);
    size = strlen(copy);
    bool parsed = pp_mako_map_parse(map, copy);
    if (parsed) {
        assert_true(map->lines.text >= copy && map->lines.text + map->lines.size <= copy + size);
        *found = pp_template_line(&map->lines, line);
    }
    free(copy);
    return parsed;
}

TEST(lines_of_makos_are_those_of_the_greatest_key_before_them)
{
    static const char text[] = MAKO("/a \\\"\\\\\\u00e9", "\"16\": 0, \"21\": 1, \"22\": 7, \"30\": 5");
    static const uint16_t path[] = {'/', 'a', ' ', '"', '\\', 0xe9};
    const uint32_t expected[][2] = {{1, 1}, {16, 1}, {21, 1}, {22, 7}, {29, 7}, {30, 5}, {400, 5}};
    struct pp_mako_map map;
    uint32_t line;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(parse(&map, text, sizeof text, expected[i][0], &line));
        assert_int_equal(line, expected[i][1]);
    }
    assert_int_equal(map.path_length, sizeof path / sizeof *path);
    assert_memory_equal(map.path, path, sizeof path);
    /* what is not whole is not taken */
    size_t whole = (size_t)(strchr(strstr(text, "\"30\""), '}') - text) + 1;
    for (size_t size = 0; size < sizeof text; size++)
        assert_int_equal(parse(&map, text, size, 25, &line), size >= whole);
}

TEST(any_bytes_for_makos_are_read_to_their_end)
{
    static const char *const bad[] = {MAKO("", "\"1\": 1"),   MAKO("/a\\n\t", "\"1\": 1"), MAKO("/a", ""),
                                      MAKO("/a", "\"1\": x"), MAKO("/a", "\"1\" 1"),       MAKO("/a", "1: 1"),
                                      MAKO("/a", "\"1\": -1")};
    struct pp_mako_map map;
    uint32_t line;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(parse(&map, bad[i], strlen(bad[i]), 3, &line));
    assert_true(parse(&map, MAKO("/a", "\"\": , \"99999999999999999999\": 88888888888888888888"), 4096, 3, &line));
    char text[] = MAKO("/a\\u00e9", "\"16\": 0, \"21\": 1, \"22\": 7"), odd[] = "\"\\,: {}9u\n\x80";
    for (size_t at = 0; at < sizeof text - 1; at++)
        for (size_t i = 0; i < sizeof odd; i++) {
            char was = text[at];
            text[at] = odd[i];
            parse(&map, text, sizeof text, 30, &line);
            text[at] = was;
        }
    char *longest = malloc(4 * PP_MAKO_PATH);
    static const char begin[] = "__M_BEGIN_METADATA\n{\"filename\": \"", end[] = "\", \"line_map\": {\"1\": 1}";
    for (size_t n = PP_MAKO_PATH - 1; n < PP_MAKO_PATH + 2; n++) {
        memcpy(longest, begin, sizeof begin);
        memset(longest + sizeof begin - 1, 'a', n);
        memcpy(longest + sizeof begin - 1 + n, end, sizeof end);
        assert_int_equal(parse(&map, longest, 4 * PP_MAKO_PATH, 3, &line), n <= PP_MAKO_PATH);
    }
    free(longest);
}

TEST(the_end_of_a_regular_file_is_read)
{
    static struct pp_mako_map map;
    char directory[] = "/tmp/template_lines.XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/page.html.py", directory);
    snprintf(other, sizeof other, "%s/page.py", directory);
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < 100000; i++)
        fputs("x = 1\n", file);
    fputs(MAKO("/page.html", "\"16\": 0, \"100000\": 7"), file);
    fclose(file);
    assert_int_equal(link(path, other), 0);
    assert_true(pp_mako_map_read(&map, "f", path));
    assert_int_equal(pp_template_line(&map.lines, 100001), 7);
    assert_true(pp_mako_map_read(&map, "render_body", other));
    assert_false(pp_mako_map_read(&map, "f", other));
    assert_false(pp_mako_map_read(&map, "render_body", "page.html.py"));
    unlink(path);
    assert_false(pp_mako_map_read(&map, "f", path));
    /* it would wait for a writer */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(pp_mako_map_read(&map, "f", path));
    unlink(path);
    unlink(other);
    rmdir(directory);
}
