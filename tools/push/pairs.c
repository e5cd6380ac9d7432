/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include <ctype.h>

void pt_pairs_add(struct pt_pairs *pairs, const char *key, size_t key_length, const char *value, size_t value_length)
{
    *PT_APPEND(pairs) = (struct pt_pair){pt_strndup(key, key_length), pt_strndup(value, value_length)};
}

const char *pt_pairs_value(const struct pt_pairs *pairs, const char *key)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    return NULL;
}

static void trim(const char **text, size_t *length)
{
    while (*length && isspace((unsigned char)**text))
        (*text)++, (*length)--;
    while (*length && isspace((unsigned char)(*text)[*length - 1]))
        (*length)--;
}

static int hex_digit(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* Decodes %XX in place. */
static void decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
            int byte = hex_digit(at[1]) * 16 + hex_digit(at[2]);
            if (byte)
                *to++ = (char)byte;
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

bool pt_pairs_read(struct pt_pairs *pairs, const char *text)
{
    bool good = true;
    for (const char *at = text; *at;) {
        size_t whole = strcspn(at, ",");
        const char *equals = memchr(at, '=', whole), *key = at, *value = equals ? equals + 1 : at;
        size_t key_length = equals ? (size_t)(equals - at) : 0, value_length = equals ? whole - key_length - 1 : 0,
               blank = whole;
        const char *item = at;
        trim(&item, &blank);
        trim(&key, &key_length);
        trim(&value, &value_length);
        good = good && (key_length || !blank);
        if (key_length) {
            pt_pairs_add(pairs, key, key_length, value, value_length);
            decode(pairs->items[pairs->count - 1].value);
        }
        at += whole + (at[whole] == ',');
    }
    return good;
}

/* The characters that a name of a header may have (RFC 9110). */
static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
            return false;
    return length;
}

static bool is_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\t')
            return false;
    return true;
}

bool pt_pairs_read_headers(struct pt_pairs *pairs, const char *text)
{
    uint32_t before = pairs->count;
    for (const char *at = text; *at;) {
        size_t whole = strcspn(at, "\n"), length = whole;
        const char *line = at;
        at += whole + (at[whole] == '\n');
        trim(&line, &length);
        if (!length || *line == '#')
            continue;
        const char *colon = memchr(line, ':', length), *value = colon ? colon + 1 : line;
        size_t name = colon ? (size_t)(colon - line) : 0, rest = colon ? length - name - 1 : 0;
        trim(&value, &rest);
        if (!is_name(line, name) || !is_value(value, rest)) {
            while (pairs->count > before) {
                pairs->count--;
                free(pairs->items[pairs->count].key);
                free(pairs->items[pairs->count].value);
            }
            return false;
        }
        pt_pairs_add(pairs, line, name, value, rest);
    }
    return true;
}

bool pt_pairs_are_headers(const struct pt_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (!is_name(pairs->items[i].key, strlen(pairs->items[i].key)) ||
            !is_value(pairs->items[i].value, strlen(pairs->items[i].value)))
            return false;
    return true;
}

void pt_pairs_free(struct pt_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].key);
        free(pairs->items[i].value);
    }
    free(pairs->items);
    *pairs = (struct pt_pairs){0};
}
