/* SPDX-License-Identifier: Apache-2.0 */
/* Shows command lines as users type them. */
#ifndef PT_VIEW_COMMAND_H
#define PT_VIEW_COMMAND_H

#include "../base/memory.h"

/* Appends a command line without the absolute path of its program, and without the interpreter that runs a script which
 * was found through PATH: "gunicorn app:app" for "/srv/venv/bin/python /srv/venv/bin/gunicorn app:app". */
void pt_typed_command(struct pt_buffer *text, const char *command_line);

/* The same for a row of a table: a command that is longer than so many columns (0: none is) loses the interpreter and
 * the directories before what it runs: "manage.py runserver" for "python3 /srv/shop/manage.py runserver". */
void pt_short_command(struct pt_buffer *text, const char *command_line, uint32_t columns);

#endif
