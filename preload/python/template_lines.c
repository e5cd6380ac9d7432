/* SPDX-License-Identifier: Apache-2.0 */
#include "template_lines.h"

bool pp_template_lines_valid(const char *text, uint32_t size)
{
    char wanted = '='; /* after the number */
    bool digits = false;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            digits = true;
            continue;
        }
        if (!digits || text[i] != wanted)
            return false;
        wanted = wanted == '=' ? '&' : '=';
        digits = false;
    }
    return true;
}

static uint32_t read_number(const char **at, const char *end)
{
    uint32_t number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint32_t)(**at - '0');
    *at += *at < end; /* '=' or '&' */
    return number;
}

uint32_t pp_template_line(const struct pp_template_lines *lines, uint32_t line)
{
    if (!lines->text || !line)
        return line;
    uint32_t found = 1, from = 0;
    for (const char *at = lines->text, *end = at + lines->size; at < end;) {
        uint32_t of_template = read_number(&at, end);
        if (at == end)
            break;
        uint32_t of_code = read_number(&at, end);
        if (of_code > line)
            return from && from != line && lines->extends ? 0 : found;
        found = of_template;
        from = of_code;
    }
    return lines->cut || (from != line && lines->extends) ? 0 : found;
}
