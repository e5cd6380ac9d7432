/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/json.h"
#include "../base/memory.h"
#include "../base/print.h"
#include "../base/terminal_text.h"

#define TOPIC_COLUMNS 9
#define INDENT        (5 + TOPIC_COLUMNS) /* "FAIL topic    " */

static const char *const levels[] = {"ok", "warn", "FAIL"};

void pt_find(struct pt_findings *findings, enum pt_level level, const char *topic, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    *PT_APPEND(findings) = (struct pt_finding){.level = level, .topic = topic, .what = pt_format(what, arguments)};
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
    last->remedy = pt_format(remedy, arguments);
    va_end(arguments);
}

const struct pt_finding *pt_findings_first(const struct pt_findings *findings, enum pt_level level)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == level)
            return &findings->items[i];
    return NULL;
}

void pt_findings_print(const struct pt_findings *findings)
{
    for (PT_EACH(const struct pt_finding, one, findings)) {
        printf("%-4s %-*s", levels[one->level], TOPIC_COLUMNS, one->topic);
        pt_print_whole_words(INDENT, one->what);
        if (!one->remedy)
            continue;
        printf("%*s-> ", INDENT, "");
        size_t length = strcspn(one->remedy, "\n");
        char *words = pt_strndup(one->remedy, length);
        pt_print_whole_words(INDENT + 3, words);
        free(words);
        if (one->remedy[length]) {
            /* A command that is to be typed is on one line: a line that breaks in a quoted argument would change it. */
            PT_AUTO_BUFFER shown = {0};
            pt_shown_text(&shown, one->remedy + length + 1, 0);
            printf("%*s%s\n", INDENT + 3, "", shown.length ? shown.data : "");
        }
    }
}

bool pt_findings_json(const struct pt_findings *findings, bool works)
{
    struct pt_json json = pt_json_document(stdout);
    pt_json_bool(&json, "works", works);
    pt_json_begin(&json, "checks", '[');
    for (PT_EACH(const struct pt_finding, one, findings)) {
        pt_json_begin(&json, NULL, '{');
        pt_json_text(&json, "level", one->level == PT_LEVEL_FAIL ? "fail" : levels[one->level]);
        pt_json_text(&json, "topic", one->topic);
        pt_json_text(&json, "what", one->what);
        pt_json_text(&json, "remedy", one->remedy);
        pt_json_end(&json, '}');
    }
    pt_json_end(&json, ']');
    return pt_json_end_document(&json);
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
