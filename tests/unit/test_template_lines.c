/* Lines of Jinja's code become lines of the template, by a text that may be anything. */
#include "preload/python/template_lines.h"
#include "unit.h"
#include <stdlib.h>

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
