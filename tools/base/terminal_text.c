#include "terminal_text.h"

#include <stdbool.h>
#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6"

struct character {
    uint32_t code;
    size_t bytes;
};

/* Text of a profile is UTF-8 (pt_intern); what is not counts as one byte. */
static struct character next_character(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = *at < 0xc0 ? 1 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    uint32_t code = bytes == 1 ? *at : *at & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return (struct character){0xfffd, 1};
        code = code << 6 | (at[i] & 0x3f);
    }
    return (struct character){bytes == 1 && *at >= 0x80 ? 0xfffd : code, bytes};
}

static bool is_harmless(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    bool direction = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
    return !control && !direction && code < 0x110000 && code != 0xfffd;
}

static uint32_t width_of(uint32_t code)
{
    int width = wcwidth((wchar_t)code);
    return width < 0 ? 1 : (uint32_t)width;
}

uint32_t pt_shown_width(const char *text)
{
    uint32_t width = 0;
    for (struct character next; *text; text += next.bytes) {
        next = next_character(text);
        width += is_harmless(next.code) ? width_of(next.code) : 1;
    }
    return width;
}

void pt_shown_text(struct pt_buffer *out, const char *text, uint32_t columns)
{
    bool all = !columns || pt_shown_width(text) <= columns;
    uint32_t used = 0;
    for (struct character next; *text; text += next.bytes) {
        next = next_character(text);
        bool harmless = is_harmless(next.code);
        uint32_t width = harmless ? width_of(next.code) : 1;
        if (!all && used + width > columns - 1)
            break;
        used += width;
        if (harmless)
            pt_buffer_append(out, text, next.bytes);
        else
            pt_buffer_text(out, "?");
    }
    if (!all)
        pt_buffer_text(out, ELLIPSIS);
}
