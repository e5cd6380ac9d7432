#include "formats.h"

#include <string.h>

#include "../output.h"
#include "../profile/frame_text.h"

static const struct pp_format formats[] = {
#define X(name, extensions, write, flags, readers) {#name, extensions, write, flags, readers},
    PP_FORMATS(X)
#undef X
};
#define FORMATS (sizeof formats / sizeof formats[0])

const struct pp_format *pp_format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

static bool has_extension_of(const char *path, const struct pp_format *format)
{
    char extension[32];
    for (const char *at = format->extensions; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(extension, sizeof extension, "%.*s", (int)length, at);
        if (pp_has_extension(path, extension))
            return true;
        at += length;
    }
    return false;
}

/* callgrind.out.PID is what kcachegrind looks for. */
static bool is_callgrind_out(const char *path)
{
    return strncmp(pp_base_name(path), "callgrind.out", strlen("callgrind.out")) == 0;
}

const struct pp_format *pp_format_of_path(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (has_extension_of(path, &formats[i]))
            return &formats[i];
    return is_callgrind_out(path) ? pp_format_named("callgrind") : NULL;
}

void pp_formats_line(struct pp_buffer *text)
{
    for (size_t i = 0; i < FORMATS; i++)
        pp_buffer_format(text, "%s%s (%s)", i ? ", " : "", formats[i].name, formats[i].extensions);
}

void pp_formats_table(struct pp_buffer *text)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const char *line = formats[i].readers;
        size_t length = strcspn(line, "\n");
        pp_buffer_format(text, "  %-10s %-28s %.*s\n", formats[i].name, formats[i].extensions, (int)length, line);
        for (line += length; *line; line += length) {
            length = strcspn(++line, "\n");
            pp_buffer_format(text, "  %-10s %-28s %.*s\n", "", "", (int)length, line);
        }
    }
}
