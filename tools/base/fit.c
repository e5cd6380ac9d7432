/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <string.h>

#include "terminal_text.h"

#define ELLIPSIS      "…"
#define SHORTEST_PATH 6 /* columns of a path that is cut for a long name: its end tells most */
#define PATH_PART     8 /* and this part of all columns where the name has to be cut, too */

/* Appends the first characters of the text that fit into so many columns. */
static void append_first(struct pt_buffer *out, const char *text, uint32_t columns)
{
    for (uint32_t code; *text;) {
        size_t bytes = pt_next_character(text, &code);
        uint32_t width = pt_character_width(code);
        if (width > columns)
            return;
        pt_buffer_append(out, text, bytes);
        columns -= width;
        text += bytes;
    }
}

/* Returns the longest end of the text that fits into so many columns. */
static const char *last_of(const char *text, uint32_t columns)
{
    uint32_t width = pt_shown_width(text), code;
    while (width > columns) {
        size_t bytes = pt_next_character(text, &code);
        width -= pt_character_width(code);
        text += bytes;
    }
    return text;
}

/* Appends a text without anything that pt_shown_text would replace; `end` columns of its end are kept if there is
 * room for them. */
static void append_cut(struct pt_buffer *out, const char *text, uint32_t columns, uint32_t end)
{
    if (pt_shown_width(text) <= columns) {
        pt_buffer_text(out, text);
        return;
    }
    if (!columns)
        return;
    end = end < columns ? end : columns - 1;
    append_first(out, text, columns - 1 - end);
    pt_buffer_text(out, ELLIPSIS);
    pt_buffer_text(out, last_of(text, end));
}

void pt_fit_text(struct pt_buffer *out, const char *text, uint32_t columns)
{
    PT_AUTO_BUFFER shown = {0};
    pt_shown_text(&shown, text, 0);
    append_cut(out, shown.length ? shown.data : "", columns ? columns : UINT32_MAX, columns / 2);
}

void pt_fit_frame(struct pt_buffer *out, const char *text, uint32_t columns)
{
    PT_AUTO_BUFFER shown = {0};
    pt_shown_text(&shown, text, 0);
    char *place = shown.length ? strstr(shown.data, " (") : NULL;
    for (char *next = place; next; next = strstr(next + 1, " ("))
        place = next;
    if (!columns || !place || shown.data[shown.length - 1] != ')' || pt_shown_width(shown.data) <= columns) {
        append_cut(out, shown.length ? shown.data : "", columns ? columns : UINT32_MAX, columns / 2);
        return;
    }
    *place = '\0';
    place += 2;
    shown.data[shown.length - 1] = '\0';
    PT_AUTO_BUFFER path = {0};
    char *colon = strrchr(place, ':');
    const char *line = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] ? colon : place + strlen(place);
    pt_buffer_append(&path, place, (size_t)(line - place));
    uint32_t around = 3 + pt_shown_width(line), name = pt_shown_width(shown.data);
    uint32_t most = pt_shown_width(path.data ? path.data : ""), least = SHORTEST_PATH;
    if (around + name + least > columns && columns / PATH_PART > least)
        least = columns / PATH_PART;
    least = most < least ? most : least;
    uint32_t room = columns > around + name ? columns - around - name : 0;
    room = room > least ? room : least;
    uint32_t name_room = columns > around + room ? columns - around - room : 0;
    append_cut(out, shown.data, name_room, name_room / 2);
    pt_buffer_text(out, " (");
    const char *base = path.data ? strrchr(path.data, '/') : NULL;
    append_cut(out, path.data ? path.data : "", room, base ? pt_shown_width(base) : room * 3 / 4);
    pt_buffer_format(out, "%s)", line);
}

void pt_fit_name(struct pt_buffer *out, const char *text, uint32_t columns)
{
    const char *place = NULL;
    for (const char *next = strstr(text, " ("); next; next = strstr(next + 1, " ("))
        place = next;
    PT_AUTO_BUFFER name = {0};
    if (!columns || !place || place == text || pt_shown_width(text) <= columns) {
        pt_fit_text(out, text, columns);
        return;
    }
    pt_buffer_append(&name, text, (size_t)(place - text));
    const char *slash = strrchr(place, '/');
    if (slash) {
        pt_buffer_format(&name, " (%s", slash + 1);
        if (pt_shown_width(name.data) > columns)
            name.data[place - text] = '\0';
    }
    pt_fit_text(out, name.data, columns);
}
