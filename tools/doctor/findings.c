#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"

#define COLUMNS       80
#define TOPIC_COLUMNS 9
#define INDENT        (5 + TOPIC_COLUMNS) /* "FAIL topic    " */

static const char *const levels[] = {"ok", "warn", "FAIL"};

static char *format_text(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return pt_strdup("");
    return text;
}

void pt_find(struct pt_findings *findings, enum pt_level level, const char *topic, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    findings->items =
        pt_grow(findings->items, &findings->capacity, (uint64_t)findings->count + 1, sizeof *findings->items);
    findings->items[findings->count++] =
        (struct pt_finding){.level = level, .topic = topic, .what = format_text(what, arguments)};
    va_end(arguments);
}

void pt_remedy(struct pt_findings *findings, const char *remedy, ...)
{
    va_list arguments;
    if (!findings->count)
        return;
    struct pt_finding *last = &findings->items[findings->count - 1];
    va_start(arguments, remedy);
    free(last->remedy);
    last->remedy = format_text(remedy, arguments);
    va_end(arguments);
}

const struct pt_finding *pt_findings_first(const struct pt_findings *findings, enum pt_level level)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == level)
            return &findings->items[i];
    return NULL;
}

/* Control characters of command lines and paths must not reach a terminal. */
static void put_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
}

/* Words from `column` on, never broken, further lines indented. */
static void put_wrapped(const char *text, int column, int indent)
{
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        put_plain(text, (size_t)length);
        column += length;
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void pt_findings_print(const struct pt_findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct pt_finding *one = &findings->items[i];
        printf("%-4s %-*s", levels[one->level], TOPIC_COLUMNS, one->topic);
        put_wrapped(one->what, INDENT, INDENT);
        if (!one->remedy)
            continue;
        printf("%*s-> ", INDENT, "");
        put_wrapped(one->remedy, INDENT + 3, INDENT + 3);
    }
}

/* Paths and command lines need not be UTF-8, which JSON is. */
static json_t *text_json(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *ascii = pt_strdup(text);
    for (char *at = ascii; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

json_t *pt_findings_json(const struct pt_findings *findings)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct pt_finding *one = &findings->items[i];
        json_t *object = json_object();
        json_object_set_new(object, "level", json_string(one->level == PT_LEVEL_FAIL ? "fail" : levels[one->level]));
        json_object_set_new(object, "topic", json_string(one->topic));
        json_object_set_new(object, "what", text_json(one->what));
        json_object_set_new(object, "remedy", one->remedy ? text_json(one->remedy) : json_null());
        json_array_append_new(array, object);
    }
    return array;
}

void pt_findings_free(struct pt_findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++) {
        free(findings->items[i].what);
        free(findings->items[i].remedy);
    }
    free(findings->items);
    *findings = (struct pt_findings){0};
}
