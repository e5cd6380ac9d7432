/* Text for people: as wide as their terminal, with colours on one that has them. */
#ifndef PT_TOOLS_PRINT_H
#define PT_TOOLS_PRINT_H

#include <stdint.h>
#include <stdio.h>

/* Columns of the terminal; 0 when it is none. */
uint32_t pt_print_columns(FILE *out);

enum pt_style { PT_STYLE_PLAIN, PT_STYLE_HEADING, PT_STYLE_HOT, PT_STYLE_WARM, PT_STYLE_FAINT, PT_STYLE_WARNING };

/* Plain where it is no terminal, or NO_COLOR is set. */
void pt_print_styled(FILE *out, enum pt_style style, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How a share of the CPU time is shown, in per cent. */
enum pt_style pt_style_of_share(double percent);

/* The end of a line behind so many columns: on a terminal what fits into it, elsewhere all. Nothing of it is obeyed. */
void pt_print_text(FILE *out, const char *text, uint32_t used, enum pt_style style);

/* A text of several lines on stdout, behind so many columns; `indentation` before all but the first. */
void pt_print_paragraph(uint32_t used, uint32_t indentation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
