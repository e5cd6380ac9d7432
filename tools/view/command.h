/* SPDX-License-Identifier: Apache-2.0 */
/* Shows command lines as users type them. */
#ifndef PT_VIEW_COMMAND_H
#define PT_VIEW_COMMAND_H

#include "../profile/model.h"

/* Appends a command line without the absolute path of its program, and without the interpreter that runs a script which
 * was found through PATH: "gunicorn app:app" for "/srv/venv/bin/python /srv/venv/bin/gunicorn app:app". */
void pt_typed_command(struct pt_buffer *text, const char *command_line);

#endif
