/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory.h"
#include "terminal_text.h"

#define NARROWEST 60 /* a terminal that says less is not believed */
#define READABLE  80 /* columns of a paragraph */
#define LONG_ROW  200
#define LONG_LINE 400 /* columns of source and command lines where there is no terminal */

static void hand_over(void (*function)(void *data, const char *text), void *data, const char *format, va_list arguments)
{
    if (!function)
        return;
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    function(data, text);
}

void pt_message_to(const struct pt_messages *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (to)
        hand_over(to->message, to->data, format, arguments);
    va_end(arguments);
}

void pt_progress_to(const struct pt_messages *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (to)
        hand_over(to->progress, to->data, format, arguments);
    va_end(arguments);
}

void pt_progress_end(const struct pt_messages *to)
{
    if (to && to->progress)
        to->progress(to->data, NULL);
}

static void print_message(void *data, const char *text)
{
    (void)data;
    pt_message("%s", text);
}

static void print_progress(void *data, const char *text)
{
    static bool shown;
    (void)data;
    if (!isatty(STDERR_FILENO))
        return;
    if (text || shown)
        fprintf(stderr, "\r\033[K%s", text ? text : "");
    shown = text;
}

const struct pt_messages pt_messages_to_stderr = {.message = print_message, .progress = print_progress};

#define HOT_FROM  20.0 /* per cent */
#define WARM_FROM 5.0

bool pt_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("pyprof: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

/* The terminal that a pager writes to. */
static struct {
    bool known, colour;
    uint32_t columns;
} paged;

void pt_print_as_now(void)
{
    paged.columns = pt_print_columns(stdout);
    paged.colour = pt_has_colour(stdout);
    paged.known = true;
}

uint32_t pt_print_columns(FILE *out)
{
    if (paged.known && out == stdout)
        return paged.columns;
    struct winsize window;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &window) != 0 || window.ws_col < NARROWEST)
        return 0;
    return window.ws_col;
}

uint32_t pt_print_row_columns(FILE *out)
{
    uint32_t columns = pt_print_columns(out);
    return columns ? columns : LONG_ROW;
}

bool pt_has_colour(FILE *out)
{
    if (paged.known && out == stdout)
        return paged.colour;
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0 && (!no_colour || !*no_colour);
}

const char *const pt_style_sequences[] = {
    [PT_STYLE_PLAIN] = "\033[0m", [PT_STYLE_HEADING] = "\033[1m", [PT_STYLE_HOT] = "\033[1;31m",
    [PT_STYLE_WARM] = "\033[33m", [PT_STYLE_FAINT] = "\033[2m",   [PT_STYLE_WARNING] = "\033[1;33m",
    [PT_STYLE_BAR] = "\033[7m",
};

void pt_print_styled(FILE *out, enum pt_style style, const char *format, ...)
{
    va_list arguments;
    bool styled = style != PT_STYLE_PLAIN && pt_has_colour(out);
    if (styled)
        fputs(pt_style_sequences[style], out);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    if (styled)
        fputs(pt_style_sequences[PT_STYLE_PLAIN], out);
}

enum pt_style pt_style_of_share(double percent)
{
    return percent >= HOT_FROM ? PT_STYLE_HOT : percent >= WARM_FROM ? PT_STYLE_WARM : PT_STYLE_PLAIN;
}

void pt_print_text(FILE *out, const char *text, uint32_t used, enum pt_style style)
{
    PT_AUTO_BUFFER shown = {0};
    uint32_t columns = pt_print_columns(out) ?: LONG_LINE;
    pt_shown_text(&shown, text, columns > used ? columns - used : 0);
    pt_print_styled(out, style, "%s", shown.length ? shown.data : "");
    putc('\n', out);
}

/* Returns the length of a unit at the beginning of the text, with marks after it; 0 if there is none. */
static size_t unit_length(const char *text)
{
    size_t length = strcspn(text, " ");
    return length && length == 1 + strspn(text + 1, ",.;:)") ? length : 0;
}

/* Returns the length of a word and what belongs to it: a unit stays with its number. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " "), unit;
    while (text[length] && (unit = unit_length(text + length + 1)))
        length += 1 + unit;
    return length;
}

static void print_words(FILE *out, uint32_t used, uint32_t indentation, bool whole, char *text)
{
    uint32_t width = pt_print_columns(out), columns = width && width < READABLE ? width : READABLE;
    PT_AUTO_BUFFER shown = {0};
    bool first = true;
    for (char *at = text, *end; *(at += strspn(at, " ")); at = end) {
        end = at + word_length(at);
        char after = *end;
        *end = '\0';
        pt_buffer_clear(&shown);
        pt_shown_text(&shown, at, width && !whole ? columns - indentation : 0);
        *end = after;
        uint32_t word = pt_shown_width(shown.data);
        if (first) {
            used += word;
        } else if (used + 1 + word <= columns) {
            putc(' ', out);
            used += 1 + word;
        } else {
            fprintf(out, "\n%*s", (int)indentation, "");
            used = indentation + word;
        }
        fputs(shown.data, out);
        first = false;
    }
    putc('\n', out);
}

void pt_put_paragraph(FILE *out, uint32_t used, uint32_t indentation, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    va_end(arguments);
    print_words(out, used, indentation, false, text);
}

void pt_print_whole_words(uint32_t indentation, const char *text)
{
    PT_AUTO_FREE char *copy = pt_strdup(text);
    print_words(stdout, indentation, indentation, true, copy);
}
