/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal_text.h"

#include <string.h>
#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6"

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

size_t pt_next_character(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* a longer form of a smaller code is malformed */
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = *at < 0xc0 ? 1 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    *code = bytes == 1 ? *at : *at & (0x7fu >> bytes);
    bool good = *at < 0x80 || (*at >= 0xc0 && *at < 0xf8);
    for (size_t i = 1; good && i < bytes; i++) {
        good = (at[i] & 0xc0) == 0x80;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    if (good && *code >= least[bytes] && *code < 0x110000 && (*code < 0xd800 || *code > 0xdfff))
        return bytes;
    *code = PT_NO_CHARACTER;
    return 1;
}

bool pt_is_harmless(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    bool direction = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
    return !control && !direction && code != 0xfffd && code != PT_NO_CHARACTER;
}

uint32_t pt_character_width(uint32_t code)
{
    int width = pt_is_harmless(code) ? wcwidth((wchar_t)code) : 1;
    return width < 0 ? 1 : (uint32_t)width;
}

uint32_t pt_shown_width(const char *text)
{
    uint32_t width = 0, code;
    while (*text) {
        text += pt_next_character(text, &code);
        width += pt_character_width(code);
    }
    return width;
}

void pt_shown_text(struct pt_buffer *out, const char *text, uint32_t columns)
{
    bool all = !columns || pt_shown_width(text) <= columns;
    uint32_t used = 0, code;
    for (size_t bytes; *text; text += bytes) {
        bytes = pt_next_character(text, &code);
        used += pt_character_width(code);
        if (!all && used > columns - 1)
            break;
        if (pt_is_harmless(code))
            pt_buffer_append(out, text, bytes);
        else
            pt_buffer_text(out, "?");
    }
    if (!all)
        pt_buffer_text(out, ELLIPSIS);
}
