#include "source_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../profile/load.h"
#include "../view/summary.h"

#define SOURCE_BYTES    (16u << 20) /* larger files are no source that anybody wrote */
#define DECORATOR_LINES 64u         /* a function's first line is that of its first decorator */
#define NS_PER_SECOND   1000000000u

static bool is_newer(const char *path, uint64_t unix_ns)
{
    struct stat status;
    return unix_ns && stat(path, &status) == 0 &&
           (uint64_t)status.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)status.st_mtim.tv_nsec > unix_ns;
}

/* Whether `word` stands in the text, not as a part of a longer name. */
static bool holds_word(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; (at = memmem(at, length - (size_t)(at - text), word, size)); at++) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        const char *end = at + size;
        if (begins && (end == text + length || !(isalnum((unsigned char)*end) || *end == '_')))
            return true;
    }
    return false;
}

/* Whether the function begins at its first line. Names in brackets: "<lambda>" says so, a comprehension has a "for"
 * somewhere, "<module>" begins anywhere. */
static bool begins_there(const struct pt_source *source, const char *qualname, uint32_t first_line)
{
    const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname, *line;
    size_t length;
    if (strcmp(name, "<lambda>") == 0)
        return (line = pt_source_line(source, first_line, &length)) && holds_word(line, length, "lambda");
    if (*name == '<')
        return pt_source_line(source, first_line, &length) != NULL;
    for (uint32_t i = 0; i < DECORATOR_LINES && (line = pt_source_line(source, first_line + i, &length)); i++) {
        bool defines = holds_word(line, length, "def") || holds_word(line, length, "class");
        if (defines && holds_word(line, length, name))
            return true;
    }
    return false;
}

struct pt_source pt_source_read(const struct pt_profile *profile, const struct pt_function *function)
{
    struct pt_source source = {.state = PT_SOURCE_MISSING};
    struct pt_buffer path = {0};
    const char *file = pt_string(profile, function->file);
    uint64_t start, end;
    if (*file == '<' || !*file)
        return source;
    pt_summary_span(profile, &start, &end);
    pt_buffer_text(&path, file);
    source.text = pt_read_file(path.data, SOURCE_BYTES, &source.size);
    for (uint32_t i = 0; !source.text && *file != '/' && i < profile->processes.count; i++) {
        pt_buffer_clear(&path);
        pt_buffer_format(&path, "%s/%s", pt_string(profile, profile->processes.items[i].cwd), file);
        source.text = pt_read_file(path.data, SOURCE_BYTES, &source.size);
    }
    if (source.text) {
        source.state = is_newer(path.data, start) ? PT_SOURCE_NEWER : PT_SOURCE_READ;
        if (source.state == PT_SOURCE_READ &&
            !begins_there(&source, pt_string(profile, function->name), function->first_line))
            source.state = PT_SOURCE_OTHER;
    }
    if (source.state != PT_SOURCE_READ)
        pt_source_free(&source);
    pt_buffer_free(&path);
    return source;
}

void pt_source_free(struct pt_source *source)
{
    free(source->text);
    source->text = NULL;
    source->size = 0;
}

const char *pt_source_line(const struct pt_source *source, uint32_t line, size_t *length)
{
    const char *at = source->text, *end = at + source->size;
    if (!at || !line)
        return NULL;
    while (at && --line)
        at = (at = memchr(at, '\n', (size_t)(end - at))) ? at + 1 : NULL;
    if (!at || at == end)
        return NULL;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((stop ? stop : end) - at);
    if (*length && at[*length - 1] == '\r')
        --*length;
    return at;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Columns that a terminal takes for the character that begins here: 2 for what East Asian fonts draw in a square. */
static unsigned width_of(const char *at, size_t left)
{
    static const uint32_t wide[][2] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    unsigned char first = (unsigned char)*at;
    uint32_t c = first < 0xe0 ? first & 0x1f : first < 0xf0 ? first & 0x0f : first & 0x07;
    if (first < 0xc0)
        return 1;
    for (size_t i = 1; i < left && continues(at[i]); i++)
        c = c << 6 | ((unsigned char)at[i] & 0x3f);
    if (c >= 0x300 && c <= 0x36f)
        return 0; /* combining */
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (c >= wide[i][0] && c <= wide[i][1])
            return 2;
    return 1;
}

bool pt_source_carets(struct pt_buffer *out, const char *line, size_t length, size_t start, size_t end)
{
    if (start >= end || end > length || isspace((unsigned char)line[start]) || isspace((unsigned char)line[end - 1]) ||
        continues(line[start]) || (end < length && continues(line[end])))
        return false;
    for (size_t i = 0; i < end; i++) {
        if (continues(line[i]))
            continue;
        unsigned columns = line[i] == '\t' ? 1 : width_of(line + i, length - i);
        while (columns--)
            pt_buffer_text(out, i >= start ? "^" : line[i] == '\t' ? "\t" : " ");
    }
    return true;
}
