/* Columns of Python frames: from the log to the profile, the views that must not split by them, the text they mark. */
#include "profile_fixture.h"
#include "tools/export/export.h"
#include "tools/load/source_text.h"
#include <locale.h>

void before_all(void)
{
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8")); /* as tools/main.c does */
}

/* {line, end line, column, end column} of three expressions in one line, the last of which cannot be. */
static const uint32_t first[] = {12, 12, 5, 9}, second[] = {12, 14, 11, 3}, reversed[] = {12, 12, 9, 5};

static struct pt_profile *three_expressions(void)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    uint32_t code = fixture_code(&log, "f", "x.py", 10);
    const uint32_t frames[] = {fixture_python_at(&log, code, first), fixture_python_at(&log, code, second),
                               fixture_python_at(&log, code, reversed), fixture_python(&log, code, 12)};
    for (unsigned i = 0; i < 4; i++)
        fixture_sample(&log, 0, fixture_node(&log, 0, frames[i]), 0, 0, 1, 10);
    add_log(profile, &log);
    return profile;
}

TEST(columns_are_kept_where_they_can_be)
{
    AUTO_PROFILE *profile = three_expressions();
    assert_int_equal(profile->losses.damaged_records, 0);
    assert_int_equal(profile->frames.count, 3); /* the impossible one is the one without columns */
    const struct pt_frame *frames = profile->frames.items;
    assert_int_equal(frames[0].column, 5);
    assert_int_equal(frames[0].end_column, 9);
    assert_int_equal(frames[1].end_line, 14);
    assert_int_equal(frames[1].end_column, 3);
    assert_int_equal(frames[2].line, 12);
    assert_int_equal(frames[2].column, 0);
    assert_int_equal(frames[2].end_line, 0);
}

TEST(views_do_not_split_by_columns)
{
    for (int lines = 0; lines < 2; lines++) {
        AUTO_PROFILE *profile = three_expressions();
        PT_AUTO_FREE char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        pt_export_collapsed(profile, &(struct pt_export_options){.lines = lines}, out);
        fclose(out);
        assert_string_equal(text, lines ? "f (x.py:12) 40\n" : "f (x.py:10) 40\n");
    }
}

TEST(a_record_that_ends_within_the_columns_is_damaged)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    struct fixture log = fixture_of(&(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    fixture_code(&log, "f", "x.py", 10);
    static const unsigned char payload[] = {1, 5, PP_FRAME_PYTHON, 1, 12, 12, 5};
    fixture_block(&log, PP_BLOCK_FRAMES, payload, sizeof payload);
    add_log(profile, &log);
    assert_int_equal(profile->losses.damaged_records, 1);
}

static void carets(const char *line, size_t start, size_t end, const char *expected)
{
    PT_AUTO_BUFFER out = {0};
    assert_int_equal(pt_source_carets(&out, line, strlen(line), start, end), expected != NULL);
    if (expected)
        assert_string_equal(out.data, expected);
}

TEST(carets_stand_below_the_expression)
{
    carets("a = f(b) + c", 4, 8, "    ^^^^");
    carets("a\t= f(b)", 4, 8, " \t  ^^^^");
    carets("\xc3\xa9 = f(\xc3\xa9)", 5, 10, "    ^^^^"); /* é: two bytes, one column */
    carets("\xe5\xad\x97 = f(1)", 6, 10, "     ^^^^");   /* a wide character takes two */
    carets("x = '\xe5\xad\x97'", 4, 9, "    ^^^^");
    carets("a = f(b)", 3, 8, NULL); /* begins at a blank */
    carets("a = f(b)", 4, 9, NULL); /* ends behind the line */
    carets("a = f(b)", 4, 4, NULL);
    carets("\xc3\xa9 = f()", 1, 8, NULL); /* begins within a character */
}

static struct pt_source source_of(struct pt_profile *profile, const char *path, const char *name, uint32_t first_line)
{
    struct pt_function function = {
        .name = pt_intern_text(profile, name), .file = pt_intern_text(profile, path), .first_line = first_line};
    return pt_source_read(profile, &function);
}

TEST(source_is_shown_when_it_is_what_ran)
{
    char path[80];
    scratch_make();
    snprintf(path, sizeof path, "%s/source", scratch_path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("import x\n@x.y(\n    1)\ndef named(a):\r\n    return lambda: a\n", file);
    assert_int_equal(fclose(file), 0);
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    pt_add_process(profile, pt_intern_text(profile, "i"));
    const struct {
        const char *name;
        uint32_t first_line;
        enum pt_source_state state;
    } functions[] = {{"Class.named", 2, PT_SOURCE_READ},
                     {"named", 4, PT_SOURCE_READ},
                     {"named.<locals>.<lambda>", 5, PT_SOURCE_READ},
                     {"<module>", 1, PT_SOURCE_READ},
                     {"name", 2, PT_SOURCE_OTHER},
                     {"named", 5, PT_SOURCE_OTHER},
                     {"<lambda>", 1, PT_SOURCE_OTHER},
                     {"<module>", 99, PT_SOURCE_OTHER}};
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        struct pt_source source = source_of(profile, path, functions[i].name, functions[i].first_line);
        assert_int_equal(source.state, functions[i].state);
        size_t length;
        if (source.state == PT_SOURCE_READ) {
            assert_string_equal(strndupa(pt_source_line(&source, 4, &length), length), "def named(a):");
            assert_null(pt_source_line(&source, 6, &length));
            assert_null(pt_source_line(&source, 0, &length));
        } else {
            assert_null(source.text);
        }
        pt_source_free(&source);
    }
    profile->processes.items[0].start_unix_ns = 1; /* long before the file was written */
    assert_int_equal(source_of(profile, path, "named", 4).state, PT_SOURCE_NEWER);
    assert_int_equal(source_of(profile, "/no/such/file.py", "named", 4).state, PT_SOURCE_MISSING);
    assert_int_equal(source_of(profile, "<string>", "named", 4).state, PT_SOURCE_MISSING);
}
