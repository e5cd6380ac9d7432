/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the text of a profile fit for a terminal. Names come from the profiled program and may hold anything. */
#ifndef PT_BASE_TERMINAL_TEXT_H
#define PT_BASE_TERMINAL_TEXT_H

#include <stdbool.h>

#include "memory.h"

#define PT_NO_CHARACTER UINT32_MAX

/* Bytes of the UTF-8 character at `text`, which must not be empty, and its code. A byte that begins none is one byte
 * of PT_NO_CHARACTER. */
size_t pt_next_character(const char *text, uint32_t *code);

/* Returns whether a terminal shows the character, and neither obeys it nor changes the direction of what is around. */
bool pt_is_harmless(uint32_t code);

/* Appends what of the text fits into so many columns (an ellipsis shows that there was more), with '?' for everything
 * that a terminal could obey or that changes the direction of the text around it. 0 columns: all of it. */
void pt_shown_text(struct pt_buffer *out, const char *text, uint32_t columns);

/* Return the columns that a character or a whole text takes. Characters are as wide as LC_CTYPE says, which main()
 * sets. */
uint32_t pt_character_width(uint32_t code);
uint32_t pt_shown_width(const char *text);

/* Appends a command line without the absolute path of its program, and without the interpreter that runs a script which
 * was found through PATH: "gunicorn app:app" for "/srv/venv/bin/python /srv/venv/bin/gunicorn app:app". */
void pt_typed_command(struct pt_buffer *text, const char *command_line);

/* The same for a row of a table: a command that is longer than so many columns (0: none is) loses the interpreter and
 * the directories before what it runs: "manage.py runserver" for "python3 /srv/shop/manage.py runserver". */
void pt_short_command(struct pt_buffer *text, const char *command_line, uint32_t columns);

#endif
