/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text for people: as wide as their terminal, with colours on one that has them. */
#ifndef PT_BASE_PRINT_H
#define PT_BASE_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "numbers.h"

/* Prints a line to stderr, "pyprof: " before it, and returns false. An error reads like any other message; what ends
 * the program evaluates to its exit status. */
bool pt_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define pt_error(...)             pt_message(__VA_ARGS__)
#define pt_exit_with(status, ...) (pt_message(__VA_ARGS__), status)

/* Returns the columns of the terminal; 0 if it is none. */
uint32_t pt_print_columns(FILE *out);

/* Keeps what stdout's terminal is like: it will be a pipe to a pager on that terminal. */
void pt_print_as_now(void);

/* Returns the columns of a row with a name in it: those of the terminal, else so many that hardly any path is cut, but
 * names of thousands of characters are, as templates have them. */
uint32_t pt_print_row_columns(FILE *out);

enum pt_style {
    PT_STYLE_PLAIN,
    PT_STYLE_HEADING,
    PT_STYLE_HOT,
    PT_STYLE_WARM,
    PT_STYLE_FAINT,
    PT_STYLE_WARNING,
    PT_STYLE_BAR
};
/* The control sequences of styles. */
extern const char *const pt_style_sequences[];

/* Returns whether it is a terminal that can show styles, and NO_COLOR is not set. */
bool pt_has_colour(FILE *out);

/* Prints in a style, plain without pt_has_colour(). */
void pt_print_styled(FILE *out, enum pt_style style, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns the style of a row with this share of the CPU time, in per cent. */
enum pt_style pt_style_of_share(double percent);

/* Prints the rest of a line after `used` columns, as pt_shown_text() shows it: what fits on the terminal; elsewhere
 * what fits 400 columns, as command lines may have thousands of characters. */
void pt_print_text(FILE *out, const char *text, uint32_t used, enum pt_style style);

/* Prints a text of several lines, after `used` columns; `indentation` before all but the first line. */
void pt_put_paragraph(FILE *out, uint32_t used, uint32_t indentation, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define pt_print_paragraph(...) pt_put_paragraph(stdout, __VA_ARGS__)
/* Prints a paragraph below a heading, indented as a whole. */
#define pt_print_note(...) (fputs("  ", stdout), pt_print_paragraph(2, 2, __VA_ARGS__))

/* Prints a paragraph after `indentation` columns whose words are not cut, so that paths can be copied. */
void pt_print_whole_words(uint32_t indentation, const char *text);

/* Receives messages and progress; called in the thread that loads. A NULL function drops its lines. */
struct pt_messages {
    void (*message)(void *data, const char *text);
    void (*progress)(void *data, const char *text); /* replaces the last one; NULL: the work has ended */
    void *data;
};

/* `to` may be NULL: the lines are dropped. */
void pt_message_to(const struct pt_messages *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_progress_to(const struct pt_messages *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_progress_end(const struct pt_messages *to);

/* Writes the messages of the program: lines on stderr with "pyprof: " before them, and progress if that is a terminal.
 */
extern const struct pt_messages pt_messages_to_stderr;

#endif
