/* SPDX-License-Identifier: Apache-2.0 */
#include "source_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/terminal_text.h"
#include "../base/zip_file.h"
#include "files.h"

#define SOURCE_BYTES    (16u << 20) /* larger files are no source that anybody wrote */
#define DECORATOR_LINES 64u         /* a function's first line is that of its first decorator */

/* Returns when the file was written; 0: there is none. */
static uint64_t written_unix_ns(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_mtim.tv_sec * PT_SECOND + (uint64_t)status.st_mtim.tv_nsec
                                    : 0;
}

/* Returns when the source was read, at the latest: when the profile began and, of native code, when its library was
 * written. 0: not known. */
static uint64_t read_unix_ns(const struct pt_profile *profile, uint32_t path)
{
    uint64_t start, end;
    uint32_t last = PT_NONE;
    pt_profile_span(profile, &start, &end);
    for (PT_EACH(const struct pt_frame, frame, &profile->frames)) {
        bool is_native = frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE;
        if (!is_native || frame->source != path || frame->subject == last)
            continue;
        last = frame->subject;
        uint64_t built = written_unix_ns(pt_string(profile, profile->modules.items[last].path));
        start = built && built < start ? built : start;
    }
    return start;
}

/* Returns whether `word` is in the text, not as part of a longer name. */
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

static bool defines(const char *line, size_t length, const char *name)
{
    return (holds_word(line, length, "def") || holds_word(line, length, "class")) && holds_word(line, length, name);
}

/* Returns whether the function begins at its first line. Names in brackets: "<lambda>" says so, a comprehension has a
 * "for" somewhere, "<module>" begins anywhere. */
static bool begins_there(const struct pt_source *source, const char *qualname, uint32_t first_line)
{
    const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname, *line;
    size_t length;
    if (strcmp(name, "<lambda>") == 0)
        return (line = pt_source_line(source, first_line, &length)) && holds_word(line, length, "lambda");
    if (*name == '<')
        return pt_source_line(source, first_line, &length) != NULL;
    for (uint32_t i = 0; i < DECORATOR_LINES && (line = pt_source_line(source, first_line + i, &length)); i++)
        if (defines(line, length, name))
            return true;
    return false;
}

/* Reads a file that is in an archive: the part of the path up to some '/' is its file. The path becomes that part. */
static char *read_from_archive(struct pt_buffer *path, size_t *size)
{
    struct stat status;
    for (char *slash = path->data; slash && (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        if (stat(path->data, &status) != 0)
            break;
        if (!S_ISREG(status.st_mode))
            continue;
        int archive = open(path->data, O_RDONLY | O_CLOEXEC);
        if (archive < 0)
            break;
        char *text = pt_zip_read(archive, slash + 1, SOURCE_BYTES, size);
        close(archive);
        return text;
    }
    return NULL;
}

static char *read_text(struct pt_buffer *path, size_t *size)
{
    char *text = pt_read_file(path->data, SOURCE_BYTES, size);
    return text || errno != ENOTDIR ? text : read_from_archive(path, size);
}

static struct pt_source read_file(const struct pt_profile *profile, uint32_t name)
{
    struct pt_source source = {.state = PT_SOURCE_MISSING};
    PT_AUTO_BUFFER path = {0};
    const char *file = pt_string(profile, name);
    if (*file == '<' || !*file)
        return source;
    pt_buffer_text(&path, file);
    source.text = read_text(&path, &source.size);
    for (uint32_t i = 0; !source.text && *file != '/' && i < profile->processes.count; i++) {
        pt_buffer_clear(&path);
        pt_buffer_format(&path, "%s/%s", pt_string(profile, profile->processes.items[i].cwd), file);
        source.text = read_text(&path, &source.size);
    }
    uint64_t read = source.text ? read_unix_ns(profile, name) : 0;
    if (source.text)
        source.state = read && written_unix_ns(path.data) > read ? PT_SOURCE_NEWER : PT_SOURCE_READ;
    if (source.state == PT_SOURCE_NEWER)
        pt_source_free(&source);
    return source;
}

/* Returns whether a function of a template begins at its first line, by the names that Jinja gives to those of blocks
 * (preload/merge/code_objects.c), macros, blocks of calls and loops; the template's own code begins anywhere, and
 * Mako's, which does not map all first lines. */
static bool begins_in_template(const struct pt_source *source, const char *qualname, uint32_t first_line)
{
    char block[64] = "";
    size_t length;
    const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname;
    const char *line = pt_source_line(source, first_line, &length);
    bool mako = strncmp(qualname, "render_body", 11) == 0 || memmem(source->text, source->size, "<%", 2);
    if (!line || mako || strcmp(qualname, "top-level template code") == 0)
        return line != NULL;
    if (sscanf(qualname, "block '%63[^']'", block) == 1)
        return holds_word(line, length, "block") && holds_word(line, length, block);
    if (strcmp(name, "macro") == 0)
        return holds_word(line, length, "macro") || holds_word(line, length, "call");
    return (strcmp(name, "loop") == 0 || strncmp(name, "t_", 2) == 0) && holds_word(line, length, "for");
}

static void check(struct pt_source *source, const struct pt_profile *profile, const struct pt_function *function)
{
    const char *name = pt_string(profile, function->name);
    bool python = pt_source_is_python(pt_string(profile, function->file));
    if (source->state == PT_SOURCE_READ && !begins_there(source, name, function->first_line) &&
        (python || !begins_in_template(source, name, function->first_line))) {
        source->state = PT_SOURCE_OTHER;
        pt_source_free(source);
    }
}

/* Returns whether the line defines the name, or is a decorator, after which a definition follows. */
static bool may_define(const char *line, size_t length, const char *name)
{
    size_t indent = 0;
    while (indent < length && isspace((unsigned char)line[indent]))
        indent++;
    return defines(line, length, name) || (indent < length && line[indent] == '@');
}

bool pt_source_defines(const struct pt_source *source, const char *qualname, uint32_t first_line)
{
    const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname;
    size_t length;
    const char *line = pt_source_line(source, first_line, &length);
    bool may = line && (*name != '<'                    ? may_define(line, length, name)
                        : strcmp(name, "<lambda>") == 0 ? true
                                                        : holds_word(line, length, "for"));
    return may && begins_there(source, qualname, first_line);
}

struct pt_source pt_source_read(const struct pt_profile *profile, const struct pt_function *function)
{
    struct pt_source source = read_file(profile, function->file);
    check(&source, profile, function);
    return source;
}

struct pt_source pt_source_of_file(const struct pt_profile *profile, uint32_t path)
{
    struct pt_source source = read_file(profile, path);
    for (uint32_t i = 0; i < profile->functions.count; i++)
        if (profile->functions.items[i].file == path)
            check(&source, profile, &profile->functions.items[i]);
    return source;
}

bool pt_source_is_python(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
    return *path == '<' || !dot || strcmp(dot, ".py") == 0 || strcmp(dot, ".pyw") == 0;
}

const char *pt_source_state_text(enum pt_source_state state, const char *path)
{
    switch (state) {
    case PT_SOURCE_MISSING:
        return "the source is not here: lines without their text";
    case PT_SOURCE_NEWER:
        return "the source was changed, it is newer than what ran: lines without their text";
    case PT_SOURCE_OTHER:
        return pt_source_is_python(path) ? "the source is not what ran (functions are elsewhere in it): lines without "
                                           "their text"
                                         : "a template: lines of the Python code that its engine made of it";
    default:
        return "";
    }
}

void pt_source_free(struct pt_source *source)
{
    free(source->text);
    source->text = NULL;
    source->size = 0;
}

const char *pt_source_line(const struct pt_source *source, uint32_t line, size_t *length)
{
    const char *at = source->text;
    if (!at || !line)
        return NULL;
    const char *end = at + source->size;
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

bool pt_source_carets(struct pt_buffer *out, const char *line, size_t length, size_t start, size_t end)
{
    if (start >= end || end > length || isspace((unsigned char)line[start]) || isspace((unsigned char)line[end - 1]) ||
        continues(line[start]) || (end < length && continues(line[end])))
        return false;
    struct pt_buffer text = {0}; /* ends with a NUL, unlike the line */
    pt_buffer_append(&text, line, length);
    for (size_t i = 0, bytes; i < end; i += bytes) {
        uint32_t code;
        bytes = pt_next_character(text.data + i, &code);
        for (uint32_t column = pt_character_width(code); column; column--)
            pt_buffer_text(out, i >= start ? "^" : code == '\t' ? "\t" : " ");
    }
    pt_buffer_free(&text);
    return true;
}
