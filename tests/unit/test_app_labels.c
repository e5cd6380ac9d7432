/* The labels that a program has set for itself, taken apart. */
#include "preload/labels/app_labels.h"
#include "unit.h"
#include <stdbool.h>

static void gives(const char *text, bool cut, const char *wanted, uint32_t length)
{
    char out[PP_APP_LABELS_BYTES];
    struct pp_record_text record = {(uint32_t)strlen(text), 1, cut, 0};
    assert_int_equal(pp_app_labels(out, text, &record), length);
    assert_memory_equal(out, wanted, length);
}

#define GIVES(text, wanted) gives(text, false, wanted, sizeof wanted - 1)

TEST(pairs)
{
    GIVES("", "");
    GIVES("a=b", "a\0b\0");
    GIVES("endpoint=/items;customer=7", "endpoint\0/items\0customer\0007\0");
    GIVES("a=b=c;", "a\0b=c\0");
    GIVES("a=;b=1", "a\0\0b\0001\0");
    GIVES("nothing;=value;;a=b", "a\0b\0");
    gives("a=b;c=d", true, "a\0b\0", 4);
    gives("a=b;c=d;", true, "a\0b\0c\0d\0", 8);
}

TEST(encoded)
{
    GIVES("a%3Db=c%3bd", "a=b\0c;d\0");
    GIVES("a=100%;b=%4;c=%zz", "a\000100%\0b\0%4\0c\0%zz\0");
    GIVES("a=%00b", "a\0?b\0");
    GIVES("a=%C3%A9\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "a\0\xC3\xA9\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0");
}

TEST(not_utf8)
{
    GIVES("a=\xE9", "a\0?\0");
    GIVES("a=\xC3", "a\0?\0");
    GIVES("a=\xC0\x80\xE0\x80\x80", "a\0?????\0");
    GIVES("a=\xED\xA0\x80", "a\0???\0");
    GIVES("a=\xF4\x90\x80\x80\xFF", "a\0?????\0");
    GIVES("a=%E2%82;b=c", "a\0??\0b\0c\0");
}

TEST(longest)
{
    char text[PP_CONTEXT_TEXT_MAX + 1];
    for (size_t i = 0; i < PP_CONTEXT_TEXT_MAX; i++)
        text[i] = "a=;"[i % 3];
    text[PP_CONTEXT_TEXT_MAX] = 0;
    char out[PP_APP_LABELS_BYTES];
    struct pp_record_text record = {PP_CONTEXT_TEXT_MAX, 1, 0, 0};
    assert_in_range(pp_app_labels(out, text, &record), 200, sizeof out);
    memset(text, 'x', PP_CONTEXT_TEXT_MAX);
    text[1] = '=';
    assert_int_equal(pp_app_labels(out, text, &record), PP_CONTEXT_TEXT_MAX + 1);
}
