/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "terminal_text.h"

#define INDENTATION 2
#define REPLACEMENT 0xfffd /* the character that stands for bytes that were no UTF-8; a terminal does not obey it */
#define VERSION     1      /* pt_json_document */

static void begin_line(const struct pt_json *json)
{
    if (json->indented)
        fprintf(json->out, "\n%*s", (int)(INDENTATION * json->depth), "");
}

static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (size_t length; *text; text += length) {
        uint32_t code;
        length = pt_next_character(text, &code);
        if (code == '"' || code == '\\')
            fprintf(out, "\\%c", *text);
        else if (code == PT_NO_CHARACTER)
            putc('?', out);
        else if (code != REPLACEMENT && !pt_is_harmless(code)) /* all of these are below 0x10000 */
            fprintf(out, "\\u%04x", code);
        else
            fwrite(text, 1, length, out);
    }
    putc('"', out);
}

static void begin_value(struct pt_json *json, const char *key)
{
    if (json->comma)
        putc(',', json->out);
    if (json->depth)
        begin_line(json);
    if (key) {
        put_string(json->out, key);
        fputs(json->indented ? ": " : ":", json->out);
    }
    json->comma = true;
}

void pt_json_begin(struct pt_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    putc(bracket, json->out);
    json->depth++;
    json->comma = false;
}

void pt_json_end(struct pt_json *json, char bracket)
{
    json->depth--;
    if (json->comma)
        begin_line(json);
    putc(bracket, json->out);
    json->comma = true;
}

void pt_json_text(struct pt_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    if (text)
        put_string(json->out, text);
    else
        fputs("null", json->out);
}

void pt_json_element(void *json, const char *text)
{
    pt_json_text(json, NULL, text);
}

void pt_json_number(struct pt_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void pt_json_known(struct pt_json *json, const char *key, uint64_t value, bool known)
{
    if (known)
        pt_json_number(json, key, value);
    else
        pt_json_text(json, key, NULL);
}

void pt_json_fields(struct pt_json *json, const void *from, const struct pt_json_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)from + fields[i].offset, sizeof value);
        pt_json_number(json, fields[i].key, value);
    }
}

void pt_json_bool(struct pt_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void pt_json_format(struct pt_json *json, const char *key, const char *format, ...)
{
    va_list arguments;
    begin_value(json, key);
    va_start(arguments, format);
    vfprintf(json->out, format, arguments);
    va_end(arguments);
}

bool pt_json_finish(struct pt_json *json)
{
    putc('\n', json->out);
    return !ferror(json->out);
}

struct pt_json pt_json_document(FILE *out)
{
    struct pt_json json = {.out = out, .indented = true};
    pt_json_begin(&json, NULL, '{');
    pt_json_number(&json, "version", VERSION);
    return json;
}

bool pt_json_end_document(struct pt_json *json)
{
    pt_json_end(json, '}');
    return pt_json_finish(json);
}
