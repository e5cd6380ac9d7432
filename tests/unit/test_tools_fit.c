/* Texts cut to a number of columns, and commands as they were typed. */
#include "tools/base/fit.h"
#include "tools/base/print.h"
#include "tools/base/terminal_text.h"
#include "unit.h"
#include <locale.h>

void before_all(void)
{
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8")); /* as tools/main.c does */
}

TEST(frames_keep_name_and_line)
{
    static const struct {
        const char *text;
        uint32_t columns;
        const char *fitted;
    } cases[] = {
        {"f (a.py:1)", 0, "f (a.py:1)"},
        {"f (a.py:1)", 10, "f (a.py:1)"},
        {"load (shop/api/orders/views.py:1205)", 30, "load (shop/api…/views.py:1205)"},
        {"[unsampled]", 20, "[unsampled]"},
        {"a_function_without_a_place", 11, "a_fun…place"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_AUTO_BUFFER out = {0};
        pt_fit_frame(&out, cases[i].text, cases[i].columns);
        assert_string_equal(out.data, cases[i].fitted);
        assert_true(!cases[i].columns || pt_shown_width(out.data) <= cases[i].columns);
    }
}

TEST(names_lose_directories_then_the_place)
{
    static const struct {
        uint32_t columns;
        const char *fitted;
    } cases[] = {{0, "rank → price (shop/api/views.py:12)"}, {27, "rank → price (views.py:12)"}, {20, "rank → price"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_AUTO_BUFFER out = {0};
        pt_fit_name(&out, "rank → price (shop/api/views.py:12)", cases[i].columns);
        assert_string_equal(out.data, cases[i].fitted);
    }
}

/* Whatever the widths are, the result fits, and has the line number and the end of the file's name. */
TEST(all_widths)
{
    static const char *const names[] = {"f", "Class.method.<locals>.<genexpr>",
                                        "a_name_that_is_far_longer_than_the_row_in_which_it_has_to_be_shown_somehow"};
    static const char *const paths[] = {"a.py", "shop/api/orders/views.py",
                                        "one/two/three/four/five/six/a_file_with_a_very_long_name_of_its_own.py"};
    for (size_t i = 0; i < 9; i++)
        for (uint32_t columns = 24; columns < 160; columns++) {
            char text[256];
            PT_AUTO_BUFFER out = {0};
            snprintf(text, sizeof text, "%s (%s:1234)", names[i / 3], paths[i % 3]);
            pt_fit_frame(&out, text, columns);
            uint32_t width = pt_shown_width(out.data);
            assert_true(width <= columns);
            assert_true(columns < strlen(text) ? width == columns : strcmp(out.data, text) == 0);
            assert_non_null(strstr(out.data, "py:1234)"));
            bool room = strlen(names[i / 3]) + strlen(" (…s.py:1234)") <= columns;
            assert_true(!room || strncmp(out.data, names[i / 3], strlen(names[i / 3])) == 0);
        }
}

TEST(wide_characters)
{
    PT_AUTO_BUFFER out = {0};
    for (uint32_t columns = 16; columns < 40; columns++) {
        pt_buffer_clear(&out);
        pt_fit_frame(&out, "größe_der_schlange (größen/maße.py:17)", columns);
        assert_true(pt_shown_width(out.data) <= columns);
        assert_non_null(strstr(out.data, "py:17)"));
    }
}

TEST(commands_as_typed)
{
    static const char *const cases[][2] = {
        {"python3 app.py", "python3 app.py"},
        {"/home/me/.pyenv/versions/3.12.1/bin/python3 app.py --out /tmp/x", "python3 app.py --out /tmp/x"},
        {"/srv/venv/bin/python /srv/venv/bin/gunicorn -w 2 app:app", "gunicorn -w 2 app:app"},
        {"/srv/venv/bin/python3.12 -m http.server", "python3.12 -m http.server"},
        {"python3 /srv/app.py", "python3 /srv/app.py"},
        {"./serve --port 80", "./serve --port 80"},
        {"venv/bin/python app.py", "venv/bin/python app.py"},
        {"gunicorn: worker [app]", "gunicorn: worker [app]"},
        {"/usr/bin/python3", "python3"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_typed_command(&text, cases[i][0]);
        assert_string_equal(text.length ? text.data : "", cases[i][1]);
    }
}

TEST(long_commands_keep_what_they_run)
{
    static const struct {
        const char *command;
        uint32_t columns;
        const char *shown;
    } cases[] = {
        {"/usr/bin/python3 /srv/shop/manage.py runserver", 0, "python3 /srv/shop/manage.py runserver"},
        {"/usr/bin/python3 /srv/shop/manage.py runserver", 37, "python3 /srv/shop/manage.py runserver"},
        {"/usr/bin/python3 /srv/shop/manage.py runserver", 36, "manage.py runserver"},
        {"venv/bin/python3.12 jobs/nightly.py --all", 20, "nightly.py --all"},
        {"/venv/bin/python /venv/bin/gunicorn -w 2 app:app", 12, "gunicorn -w 2 app:app"},
        {"python3 -m http.server --directory /srv/files", 20, "python3 -m http.server --directory /srv/files"},
        {"./build/tools/serve --port 80", 20, "serve --port 80"},
        {"python3", 3, "python3"},
        {"", 3, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_short_command(&text, cases[i].command, cases[i].columns);
        assert_string_equal(text.length ? text.data : "", cases[i].shown);
    }
}

/* Wherever the line ends. */
TEST(units_stay_with_their_numbers)
{
    FILE *out = tmpfile();
    int own = dup(STDOUT_FILENO);
    char line[400];
    bool broken = false;
    assert_non_null(out);
    fflush(stdout);
    dup2(fileno(out), STDOUT_FILENO);
    for (int used = 0; used < 80; used++)
        pt_print_paragraph(0, 2, "%.*s numpy 12.5 %%, json 4.0 %% (all 99 %%), 3.5 s.", used,
                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    fflush(stdout);
    dup2(own, STDOUT_FILENO);
    close(own);
    rewind(out);
    while (fgets(line, sizeof line, out)) {
        const char *word = line + strspn(line, " ");
        broken |= *word == '%' || strncmp(word, "s.", 2) == 0;
    }
    fclose(out);
    assert_false(broken);
}
