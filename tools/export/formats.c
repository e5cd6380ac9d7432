#include "formats.h"

#include <string.h>

#include "../base/output.h"
#include "../view/frame_text.h"

static const struct pt_format formats[] = {
#define X(name, extensions, write, flags, readers) {#name, extensions, write, flags, readers},
    PT_FORMATS(X)
#undef X
};
#define FORMATS (sizeof formats / sizeof formats[0])

const struct pt_format *pt_format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

static bool has_extension_of(const char *path, const struct pt_format *format)
{
    char extension[32];
    for (const char *at = format->extensions; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(extension, sizeof extension, "%.*s", (int)length, at);
        if (pt_has_extension(path, extension))
            return true;
        at += length;
    }
    return false;
}

/* callgrind.out.PID is what kcachegrind looks for. */
static bool is_callgrind_out(const char *path)
{
    return strncmp(pt_base_name(path), "callgrind.out", strlen("callgrind.out")) == 0;
}

const struct pt_format *pt_format_of_path(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (has_extension_of(path, &formats[i]))
            return &formats[i];
    return is_callgrind_out(path) ? pt_format_named("callgrind") : NULL;
}

void pt_formats_line(struct pt_buffer *text)
{
    for (size_t i = 0; i < FORMATS; i++)
        pt_buffer_format(text, "%s%s (%s)", i ? ", " : "", formats[i].name, formats[i].extensions);
}

void pt_formats_table(struct pt_buffer *text)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const char *line = formats[i].readers;
        size_t length = strcspn(line, "\n");
        pt_buffer_format(text, "  %-10s %-28s %.*s\n", formats[i].name, formats[i].extensions, (int)length, line);
        for (line += length; *line; line += length) {
            length = strcspn(++line, "\n");
            pt_buffer_format(text, "  %-10s %-28s %.*s\n", "", "", (int)length, line);
        }
    }
}
