/* SPDX-License-Identifier: Apache-2.0 */
#include "record_text.h"
#include <string.h>

#define LONGEST  4 /* bytes of a character */
#define ELLIPSIS 0x2026

static size_t encode_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if ((c >= 0xD800 && c < 0xE000) || c > 0x10FFFF)
        c = 0xFFFD; /* lone surrogates: file names that are not UTF-8 */
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

size_t pp_record_text_utf8(char *out, size_t room, const struct pp_record_text *text, const uint8_t *characters)
{
    size_t n = 0;
    uint32_t at = 0;
    for (; text->width && at + text->width <= text->bytes && n + 2 * LONGEST <= room; at += text->width) {
        uint32_t c = 0;
        memcpy(&c, characters + at, text->width);
        n += encode_utf8(out + n, c);
    }
    if (text->cut || (text->width && at + text->width <= text->bytes))
        n += encode_utf8(out + n, ELLIPSIS);
    if (!text->width)
        out[n++] = '?';
    return n;
}
