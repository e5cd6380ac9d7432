/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <string.h>

/* Returns where the last part of the path begins, which is the first word of `command`. */
static const char *last_part(const char *command)
{
    const char *part = command;
    for (const char *at = command; *at && *at != ' '; at++)
        if (*at == '/' && at[1] && at[1] != ' ')
            part = at + 1;
    return part;
}

void pt_typed_command(struct pt_buffer *text, const char *command_line)
{
    const char *program = *command_line == '/' ? last_part(command_line) : command_line;
    size_t length = strcspn(program, " ");
    const char *script = program[length] ? program + length + 1 : "", *name = last_part(script);
    bool in_bin = name - script >= 5 && strncmp(name - 5, "/bin/", 5) == 0;
    if (strncmp(last_part(program), "python", 6) == 0 && *script == '/' && in_bin)
        program = name;
    pt_buffer_text(text, program);
}
