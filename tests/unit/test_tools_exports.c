/* All exporters, on profiles that are small, empty or hostile; what their readers say is in tests/bats/formats.bats. */
#include "profile_fixture.h"
#include "tools/base/json.h"
#include "tools/export/export.h"

static const struct pt_load_request with_times = {.timed = true};

#define BIAS 0x7f0000000000u

static struct pt_profile *example(void)
{
    struct fixture log;
    fixture_example(&log, 100, BIAS);
    return profile_of(&log, &with_times);
}

static char *written(struct pt_profile *profile, pt_exporter *write, struct pt_export_options options, size_t *size)
{
    /* static: gcc 12 believes that the stream's end leaves it dangling */
    static char *text;
    static size_t length;
    FILE *out = open_memstream(&text, &length);
    write(profile, &options, out);
    assert_int_equal(fclose(out), 0);
    *size = length;
    return text;
}

TEST(every_option_writes_something_and_twice_the_same)
{
    AUTO_PROFILE *profile = example();
    for (unsigned i = 0; i < pt_format_count; i++) {
        for (unsigned bits = 0; bits < 4; bits++) {
            const struct pt_export_options options = {.samples = bits & 1, .lines = bits & 2, .threads = bits & 2};
            size_t size, again_size;
            PT_AUTO_FREE char *text = written(profile, pt_formats[i].write, options, &size),
                              *again = written(profile, pt_formats[i].write, options, &again_size);
            assert_true(size > 0);
            assert_int_equal(size, again_size);
            assert_memory_equal(text, again, size);
        }
    }
}

TEST(a_profile_without_samples)
{
    struct fixture log = fixture_of(&(struct fixture_process){"run", "one", "/", NULL, NULL, 0, 1, 0});
    AUTO_PROFILE *profile = profile_of(&log, &with_times);
    for (unsigned i = 0; i < pt_format_count; i++) {
        size_t size;
        free(written(profile, pt_formats[i].write, (struct pt_export_options){0}, &size));
    }
}

/* Strings end, and brackets match; tests/bats/formats.bats has it all read. */
static void assert_json(const char *text)
{
    char open[64];
    size_t depth = 0;
    bool quoted = false;
    for (; *text; text++) {
        assert_true((unsigned char)*text >= ' ' || (!quoted && *text == '\n'));
        if (*text == '\\')
            assert_true(quoted && strchr("\"\\u", *++text));
        else if (*text == '"')
            quoted = !quoted;
        else if (!quoted && (*text == '{' || *text == '['))
            open[depth++] = *text == '{' ? '}' : ']';
        else if (!quoted && (*text == '}' || *text == ']'))
            assert_true(depth && open[--depth] == *text);
    }
    assert_false(quoted || depth);
}

/* Names that end a string, a line, a frame or a script in one format or another. */
TEST(hostile_names)
{
    static const char name[] = "</script>\"\\\n\t;'(x) [y] \x01\xff\xe2\x80\xae{};";
    struct fixture log = fixture_of(&(struct fixture_process){"run", name, name, name, name, 0, 1, 0});
    uint32_t thread = fixture_thread(&log, 7, name);
    uint32_t module = fixture_module(&log, name, BIAS, BIAS + 1, BIAS + 100, 0, name, 20);
    uint32_t node = fixture_node(&log, 0, fixture_native(&log, module, BIAS + 5, name, 1));
    node = fixture_node(&log, node, fixture_python(&log, fixture_code(&log, name, name, 1), 4000000000u));
    node = fixture_node(&log, node, fixture_python(&log, fixture_code(&log, "", "", 0), 0));
    fixture_sample(&log, thread, node, fixture_labels(&log, name, name), 0, 3000000000u, 4000000000u);
    AUTO_PROFILE *profile = profile_of(&log, &with_times);
    pt_exporter *const json[] = {pt_export_speedscope, pt_export_firefox};
    size_t size;
    for (unsigned i = 0; i < 2; i++) {
        PT_AUTO_FREE char *text = written(profile, json[i], (struct pt_export_options){0}, &size);
        assert_json(text);
    }
    pt_exporter *const others[] = {pt_export_collapsed, pt_export_pstats, pt_export_callgrind, pt_export_otlp};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        PT_AUTO_FREE char *text = written(profile, others[i], (struct pt_export_options){0}, &size);
        assert_true(size > 0);
        if (others[i] == pt_export_collapsed) {
            assert_int_equal(strspn(strrchr(text, ' ') + 1, "0123456789"), 10);
            assert_int_equal(strcspn(text, "\n"), size - 1);
        }
    }
    PT_AUTO_FREE char *picture = written(profile, pt_export_svg, (struct pt_export_options){0}, &size);
    assert_null(strstr(picture, "script>"));
    assert_non_null(strstr(picture, "&#60;/script&#62;&#34;"));
    for (size_t i = 0; i < size; i++)
        assert_true((unsigned char)picture[i] >= ' ' || picture[i] == '\n');
}

/* In the order of time, not of names; within a second those of one function follow each other. */
TEST(speedscope_samples_are_in_time)
{
    struct fixture log = fixture_of(&(struct fixture_process){"run", "one", "/", NULL, NULL, 0, 1, 0});
    uint32_t thread = fixture_thread(&log, 7, "MainThread");
    uint32_t early = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "z_early", "/a.py", 9), 9));
    uint32_t late = fixture_node(&log, 0, fixture_python(&log, fixture_code(&log, "a_late", "/a.py", 1), 1));
    uint32_t below = fixture_node(&log, late, fixture_python(&log, fixture_code(&log, "below", "/a.py", 5), 5));
    const uint64_t seconds[][3][FIXTURE_SAMPLE_FIELDS] = {
        {{thread, early, 0, 0, 1, 10}, {thread, late, 0, 0, 1, 20}, {thread, below, 0, 0, 1, 30}},
        {{thread, below, 0, 0, 1, 11}, {thread, early, 0, 0, 1, 21}, {thread, late, 0, 0, 1, 31}},
        {{thread, early, 0, 0, 1, 12}, {thread, late, 0, 0, 1, 22}, {thread, below, 0, 0, 1, 32}}};
    for (unsigned i = 0; i < 3; i++)
        fixture_samples_at(&log, i * 1000000000u, 1000000000u, seconds[i], 3);
    AUTO_PROFILE *profile = profile_of(&log, &with_times);
    size_t size;
    PT_AUTO_FREE char *text = written(profile, pt_export_speedscope, (struct pt_export_options){0}, &size);
    assert_non_null(strstr(text, "[10,20,30,21,31,11,12,22,32]"));
}

TEST(json_text)
{
    PT_AUTO_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct pt_json json = {.out = out};
    pt_json_begin(&json, NULL, '[');
    pt_json_text(&json, NULL, "a\"b\\c\n\x7f\xc3\xa9");
    pt_json_text(&json, NULL, "\xc3(\xc0\x80\xed\xa0\x80\xf8\xff\xef\xbf\xbd"); /* not UTF-8 but for the last one */
    pt_json_begin(&json, NULL, '{');
    pt_json_known(&json, "a", 4000000000u, true);
    pt_json_known(&json, "b", 0, false);
    pt_json_begin(&json, "c", '[');
    pt_json_end(&json, ']');
    pt_json_end(&json, '}');
    pt_json_end(&json, ']');
    fclose(out);
    assert_string_equal(text, "[\"a\\\"b\\\\c\\u000a\\u007f\xc3\xa9\",\"?(???????\xef\xbf\xbd\","
                              "{\"a\":4000000000,\"b\":null,\"c\":[]}]");
}
