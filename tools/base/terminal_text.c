/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal_text.h"

#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6"

size_t pt_next_character(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* a longer form of a smaller code is malformed */
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = *at < 0xc0 ? 1 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    *code = bytes == 1 ? *at : *at & (0x7fu >> bytes);
    bool good = *at < 0x80 || (*at >= 0xc0 && *at < 0xf8);
    for (size_t i = 1; good && i < bytes; i++) {
        good = (at[i] & 0xc0) == 0x80;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    if (good && *code >= least[bytes] && *code < 0x110000 && (*code < 0xd800 || *code > 0xdfff))
        return bytes;
    *code = PT_NO_CHARACTER;
    return 1;
}

bool pt_is_harmless(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    bool direction = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
    return !control && !direction && code != 0xfffd && code != PT_NO_CHARACTER;
}

uint32_t pt_character_width(uint32_t code)
{
    int width = pt_is_harmless(code) ? wcwidth((wchar_t)code) : 1;
    return width < 0 ? 1 : (uint32_t)width;
}

uint32_t pt_shown_width(const char *text)
{
    uint32_t width = 0, code;
    while (*text) {
        text += pt_next_character(text, &code);
        width += pt_character_width(code);
    }
    return width;
}

void pt_shown_text(struct pt_buffer *out, const char *text, uint32_t columns)
{
    bool all = !columns || pt_shown_width(text) <= columns;
    uint32_t used = 0, code;
    for (size_t bytes; *text; text += bytes) {
        bytes = pt_next_character(text, &code);
        used += pt_character_width(code);
        if (!all && used > columns - 1)
            break;
        if (pt_is_harmless(code))
            pt_buffer_append(out, text, bytes);
        else
            pt_buffer_text(out, "?");
    }
    if (!all)
        pt_buffer_text(out, ELLIPSIS);
}
