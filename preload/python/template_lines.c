/* SPDX-License-Identifier: Apache-2.0 */
#include "template_lines.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include <string.h>

#define MAKO_BYTES ((size_t)128 << 10) /* of the end of a file: about 8000 lines of code */

bool pp_template_lines_valid(const char *text, uint32_t size)
{
    char wanted = '='; /* after the number */
    bool digits = false;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            digits = true;
            continue;
        }
        if (!digits || text[i] != wanted)
            return false;
        wanted = wanted == '=' ? '&' : '=';
        digits = false;
    }
    return true;
}

static uint32_t read_number(const char **at, const char *end)
{
    uint32_t number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint32_t)(**at - '0');
    *at += *at < end; /* '=' or '&' */
    return number;
}

uint32_t pp_template_line(const struct pp_template_lines *lines, uint32_t line)
{
    if (!lines->text || !line)
        return line;
    uint32_t found = 1, from = 0;
    for (const char *at = lines->text, *end = at + lines->size; at < end;) {
        uint32_t of_template = read_number(&at, end);
        if (at == end)
            break;
        uint32_t of_code = read_number(&at, end);
        if (of_code > line)
            return from && from != line && lines->extends ? 0 : found;
        found = of_template;
        from = of_code;
    }
    return lines->cut || (from != line && lines->extends) ? 0 : found;
}

/* Reads a string of JSON in ASCII, as Mako writes it. */
static bool read_path(struct pp_mako_map *map, const char *at)
{
    for (map->path_length = 0; *at != '"' && map->path_length < PP_MAKO_PATH; at++) {
        uint32_t character = 0;
        if (*at == '\\' && *++at == 'u')
            for (unsigned i = 0; i < 4 && *++at; i++)
                character = character << 4 | ((uint32_t)(*at & 15) + (*at > '9' ? 9 : 0));
        else
            character = (uint8_t)*at;
        if (!*at || character < ' ')
            return false;
        map->path[map->path_length++] = (uint16_t)character;
    }
    return *at == '"' && map->path_length;
}

/* Makes "16": 0, "21": 3} into 1=16&3=21& and writes no more than was read; 0 is before the template's first line. */
static bool convert_lines(struct pp_mako_map *map, char *text)
{
    char *out = text, pair[24];
    const char *at = text, *end = text + strlen(text);
    do {
        if (*at++ != '"')
            return false;
        uint32_t of_code = read_number(&at, end);
        if (*at++ != ':' || *at++ != ' ')
            return false;
        uint32_t line = read_number(&at, end);
        size_t size = strlen(pp_format(pair, sizeof pair, "%u=%u&", line + !line, of_code));
        out = (char *)memcpy(out, pair, size) + size;
    } while (at[-1] == ',' && *at++ == ' ');
    map->lines = (struct pp_template_lines){.text = text, .size = (uint32_t)(out - text)};
    return at[-1] == '}';
}

bool pp_mako_map_parse(struct pp_mako_map *map, char *text)
{
    static const char file[] = "\"filename\": \"", lines[] = "\"line_map\": {";
    char *begin = strstr(text, "__M_BEGIN_METADATA\n{");
    char *path = begin ? strstr(begin, file) : NULL, *numbers = path ? strstr(path, lines) : NULL;
    return numbers && read_path(map, path + sizeof file - 1) && convert_lines(map, numbers + sizeof lines - 1);
}

bool pp_mako_map_read(struct pp_mako_map *map, const char *qualname, const char *path)
{
    static char text[MAKO_BYTES + 1];
    struct stat status;
    const char *name = *path == '/' ? strrchr(path, '/') : NULL, *dot = name ? strrchr(name, '.') : NULL;
    if (!dot || strcmp(dot, ".py") != 0 || (strncmp(qualname, "render_", 7) != 0 && strchr(name, '.') == dot))
        return false;
    /* opening a pipe would wake its writer */
    bool regular = pp_sys_stat(path, &status, 0) == 0 && S_ISREG(status.st_mode);
    int fd = regular ? pp_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0) : -1;
    if (fd < 0)
        return false;
    uint64_t size = (uint64_t)status.st_size;
    long length = pp_sys_pread(fd, text, MAKO_BYTES, size > MAKO_BYTES ? size - MAKO_BYTES : 0);
    pp_sys_close(fd);
    text[length > 0 ? length : 0] = '\0';
    return pp_mako_map_parse(map, text);
}
