/* Text for people: as wide as their terminal, with colours on one that has them. */
#ifndef PP_TOOLS_PRINT_H
#define PP_TOOLS_PRINT_H

#include <stdint.h>
#include <stdio.h>

/* Columns of the terminal; 0 when it is none. */
uint32_t pp_print_columns(FILE *out);

enum pp_style { PP_STYLE_PLAIN, PP_STYLE_HEADING, PP_STYLE_HOT, PP_STYLE_WARM, PP_STYLE_FAINT, PP_STYLE_WARNING };

/* Plain where it is no terminal, or NO_COLOR is set. */
void pp_print_styled(FILE *out, enum pp_style style, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How a share of the CPU time is shown, in per cent. */
enum pp_style pp_style_of_share(double percent);

/* The end of a line behind so many columns: on a terminal what fits into it, elsewhere all. Nothing of it is obeyed. */
void pp_print_text(FILE *out, const char *text, uint32_t used, enum pp_style style);

/* A text of several lines on stdout, behind so many columns; `indentation` before all but the first. */
void pp_print_paragraph(uint32_t used, uint32_t indentation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
