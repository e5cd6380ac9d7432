/* Names and texts as they are shown. */
#include "profile_fixture.h"
#include "tools/model/frame_text.h"

TEST(paths_are_cut_where_they_begin_to_matter)
{
    static const struct {
        const char *path, *cwd, *wanted;
    } cases[] = {
        {"/srv/app/app.py", "/srv/app", "app.py"},
        {"/srv/app/app.py", "/", "/srv/app/app.py"},
        {"/srv/application.py", "/srv/app", "/srv/application.py"},
        {"/srv/app", "/srv/app", "/srv/app"},
        {"/srv/app/x.py", "", "/srv/app/x.py"},
        {"app.py", "/srv/app", "app.py"},
        {"/srv/app/venv/lib/python3.11/site-packages/flask/app.py", "/srv/app", "flask/app.py"},
        {"/usr/lib/python3/dist-packages/yaml/reader.py", "/", "yaml/reader.py"},
        {"/usr/lib/python3.11/json/decoder.py", "/usr", "json/decoder.py"},
        {"/opt/lib/python3.14t/json/decoder.py", "/", "json/decoder.py"},
        {"/usr/lib/pythonic/x.py", "/", "/usr/lib/pythonic/x.py"},
        {"<frozen importlib._bootstrap>", "/srv", "<frozen importlib._bootstrap>"},
        {"/a/site-packages/b/site-packages/c.py", "/", "c.py"},
        {"/a/site-packages/", "/", "/a/site-packages/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(pt_short_path(cases[i].path, cases[i].cwd), cases[i].wanted);
}

TEST(symbols_read_as_people_know_them)
{
    static const char *const cases[][2] = {
        {"_ZN3foo3barEi", "foo::bar(int)"},
        {"__pyx_f_7fastgeo_5Track_smooth", "fastgeo.Track.smooth"},
        {"__pyx_f_7fastgeo__segment.isra.0", "fastgeo._segment"},
        {"__pyx_f_4pkg1_3mod_a_2b", "pkg1.mod.a_2b"},
        {"__pyx_pw_7fastgeo_5Track_3smooth", "fastgeo.Track.smooth"},
        {"__pyx_pw_7fastgeo_3len_of", "fastgeo.len_of"},
        {"__pyx_pf_7fastgeo_walk", "fastgeo.walk"},
        {"__pyx_pf_7fastgeo_2walk", "fastgeo.walk"},
        {"__pyx_f_99fastgeo_walk", "__pyx_f_99fastgeo_walk"},
        {"__pyx_f_", "__pyx_f_"},
        {"__pyx_pw_7fastgeo_", "__pyx_pw_7fastgeo_"},
        {"__pyx_pw_7fastgeo_3", "__pyx_pw_7fastgeo_3"},
        {"__pyx_f_18446744073709551615a_b", "__pyx_f_18446744073709551615a_b"},
        {"__pyx_mstate_global", "__pyx_mstate_global"},
        {"_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault"},
        {"memcpy@@GLIBC_2.14", "memcpy"},
        {"memcpy@plt", "memcpy@plt"},
        {"gc_collect_main.constprop.0", "gc_collect_main"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.7419", "core::fmt::Write::write_fmt"},
        {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE",
         "<alloc::string::String as core::fmt::Write>::write_str"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_RINvXCs4Q2Qx8jI5j6_1aINtB3_1SAhj4_ENtB3_1T2goNCNvB3_5entry0EB3_",
         "<a::S<[u8; 4]> as a::T>::go::<a::entry::{closure#0}>"},
        {"_RNvNtCs1234_7mycrate3foo3bar.llvm.99", "mycrate::foo::bar"},
        {"_Rest_of_it", "_Rest_of_it"},
        {"_Znonsense", "_Znonsense"},
        {".cold", ".cold"},
        {"_ZN8__main__9hot_numbaB2v1B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dEx", "__main__::hot_numba(long long)"},
        {"cfunc._ZN8__main__1fB2v1B4c8tJEx", "cfunc.__main__::f(long long)"},
        {"_ZN1fB5cxx11Ev", "f[abi:cxx11]()"},
        {"_ZN1fB2v1", "_ZN1fB2v1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_symbol_text(&text, cases[i][0]);
        assert_string_equal(text.data, cases[i][1]);
    }
}

/* What looks like a compiler's suffix is part of the name there. */
TEST(names_of_a_jit_are_whole)
{
    static const char *const cases[][2] = {
        {"handler@/app/a.js:12", "handler@/app/a.js:12 (jit)"},
        {"js.cold.part.7", "js.cold.part.7 (jit)"},
        {"_ZN8__main__1fB2v1B4c8tJEx", "__main__::f(long long) (jit)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_PROFILE *profile = pt_profile_new(NULL);
        const struct pt_frame frame = {
            .kind = PP_FRAME_NATIVE, .subject = PT_NONE, .symbol = pt_intern_text(profile, cases[i][0])};
        PT_AUTO_BUFFER text = {0};
        pt_frame_text(&text, profile, pt_add_frame(profile, &frame), false);
        assert_string_equal(text.data, cases[i][1]);
    }
}

/* Each pair in such a name is two of the one before it. */
TEST(names_that_stand_for_endless_text_are_left_alone)
{
    enum { DOUBLINGS = 34 };
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct pt_buffer symbols[2] = {{0}};
    pt_buffer_text(&symbols[0], "_Z1fSt4pairIiiE");
    for (int i = 0; i < DOUBLINGS; i++)
        pt_buffer_format(&symbols[0], "S_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
                         "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
    pt_buffer_text(&symbols[1], "_RINvC1a1fTmmE");
    for (size_t i = 0, last = sizeof "INvC1a1f" - 1; i < DOUBLINGS; i++) {
        size_t before = last;
        last = symbols[1].length - 2; /* places are counted without "_R" */
        char place[] = {digits[(before - 1) / 62], digits[(before - 1) % 62], '\0'};
        const char *text = before <= 62 ? place + 1 : place;
        pt_buffer_format(&symbols[1], "TB%s_B%s_E", text, text);
    }
    pt_buffer_text(&symbols[1], "E");
    for (int i = 0; i < 2; i++) {
        PT_AUTO_BUFFER text = {0};
        pt_symbol_text(&text, symbols[i].data);
        assert_string_equal(text.data, symbols[i].data);
        pt_buffer_free(&symbols[i]);
    }
}

TEST(text_becomes_utf8)
{
    static const struct {
        const char *text;
        size_t length;
        const char *wanted;
    } cases[] = {
        {"plain", 5, "plain"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8d", 15, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8d"},
        {"a\xff"
         "b",
         3,
         "a\xef\xbf\xbd"
         "b"},
        {"a\0b", 3,
         "a\xef\xbf\xbd"
         "b"},
        {"\xc3", 1, "\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(pt_string(profile, pt_intern(profile, cases[i].text, cases[i].length)), cases[i].wanted);
}
