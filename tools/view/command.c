/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <stdbool.h>
#include <string.h>

#include "../base/terminal_text.h"

/* Returns where the last part of the path begins, which is the first word of `command`. */
static const char *last_part(const char *command)
{
    const char *part = command;
    for (const char *at = command; *at && *at != ' '; at++)
        if (*at == '/' && at[1] && at[1] != ' ')
            part = at + 1;
    return part;
}

/* Returns what the interpreter `program` runs, with its arguments; NULL if it is no interpreter or has options. */
static const char *script_of(const char *program)
{
    size_t length = strcspn(program, " ");
    bool runs = program[length] && program[length + 1] && program[length + 1] != '-';
    return runs && strncmp(last_part(program), "python", 6) == 0 ? program + length + 1 : NULL;
}

static const char *typed(const char *command_line)
{
    const char *program = *command_line == '/' ? last_part(command_line) : command_line;
    const char *script = script_of(program), *name = script ? last_part(script) : NULL;
    bool in_bin = script && *script == '/' && name - script >= 5 && strncmp(name - 5, "/bin/", 5) == 0;
    return in_bin ? name : program;
}

void pt_typed_command(struct pt_buffer *text, const char *command_line)
{
    pt_buffer_text(text, typed(command_line));
}

void pt_short_command(struct pt_buffer *text, const char *command_line, uint32_t columns)
{
    const char *command = typed(command_line), *script = script_of(command);
    bool fits = !columns || pt_shown_width(command) <= columns;
    pt_buffer_text(text, fits ? command : last_part(script ? script : command));
}
