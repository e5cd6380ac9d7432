/* SPDX-License-Identifier: Apache-2.0 */
#include "app_labels.h"
#include <stdbool.h>
#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a part of the text and returns its length. No NUL is in it. */
static uint32_t decode(char *out, const char *text, uint32_t length)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < length && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            c = (char)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
            i += 2;
        }
        out[n++] = c ? c : '?';
    }
    return n;
}

/* Returns the bytes of the UTF-8 character that begins here, 0: there is none. */
static uint32_t character(const uint8_t *bytes, uint32_t length)
{
    static const uint8_t low_second[] = {[0xE0] = 0xA0, [0xF0] = 0x90};
    uint8_t first = bytes[0];
    uint32_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size > length)
        return 0;
    for (uint32_t i = 1; i < size; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    if (size > 2 && first < sizeof low_second && bytes[1] < low_second[first])
        return 0; /* longer than it needs to be */
    return (first == 0xED && bytes[1] >= 0xA0) || (first == 0xF4 && bytes[1] >= 0x90) ? 0 : size;
}

static void make_utf8(char *text, uint32_t length)
{
    for (uint32_t at = 0, size; at < length; at += size) {
        size = character((const uint8_t *)text + at, length - at);
        if (!size) {
            text[at] = '?';
            size = 1;
        }
    }
}

/* Writes a key or a value and returns its length with the NUL. */
static uint32_t put(char *out, const char *text, uint32_t length)
{
    length = decode(out, text, length);
    make_utf8(out, length);
    out[length] = 0;
    return length + 1;
}

uint32_t pp_app_labels(char out[PP_APP_LABELS_BYTES], const char *text, const struct pp_record_text *record)
{
    uint32_t written = 0, end;
    for (uint32_t at = 0; at < record->bytes; at = end + 1) {
        const char *semicolon = memchr(text + at, ';', record->bytes - at);
        end = semicolon ? (uint32_t)(semicolon - text) : record->bytes;
        const char *equals = memchr(text + at, '=', end - at);
        if (!equals || equals == text + at || (!semicolon && record->cut))
            continue;
        uint32_t key = (uint32_t)(equals - text) - at;
        written += put(out + written, text + at, key);
        written += put(out + written, equals + 1, end - at - key - 1);
    }
    return written;
}
