#include <string.h>

#include "../base/output.h"
#include "../profile/frame_text.h"
#include "export.h"

const struct pt_format pt_formats[] = {
#define X(...) {__VA_ARGS__},
    PT_FORMATS(X)
#undef X
};
const size_t pt_format_count = sizeof pt_formats / sizeof pt_formats[0];

const struct pt_format *pt_format_named(const char *name)
{
    for (size_t i = 0; i < pt_format_count; i++)
        if (strcmp(name, pt_formats[i].name) == 0)
            return &pt_formats[i];
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

const struct pt_format *pt_format_of_path(const char *path)
{
    for (size_t i = 0; i < pt_format_count; i++)
        if (has_extension_of(path, &pt_formats[i]))
            return &pt_formats[i];
    /* callgrind.out.PID is what kcachegrind opens */
    bool callgrind = strncmp(pt_base_name(path), "callgrind.out", strlen("callgrind.out")) == 0;
    return callgrind ? pt_format_named("callgrind") : NULL;
}

void pt_formats_line(struct pt_buffer *text)
{
    for (size_t i = 0; i < pt_format_count; i++)
        pt_buffer_format(text, "%s%s (%s)", i ? ", " : "", pt_formats[i].name, pt_formats[i].extensions);
}

void pt_formats_table(struct pt_buffer *text)
{
    int names = 0, extensions = 0;
    pt_buffer_text(text, "Formats, by extension or --format:\n");
    for (size_t i = 0; i < pt_format_count; i++) {
        int name = (int)strlen(pt_formats[i].name), extension = (int)strlen(pt_formats[i].extensions);
        names = name > names ? name : names;
        extensions = extension > extensions ? extension : extensions;
    }
    for (size_t i = 0; i < pt_format_count; i++) {
        const char *name = pt_formats[i].name, *extension = pt_formats[i].extensions;
        for (const char *line = pt_formats[i].readers; line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
            pt_buffer_format(text, "  %-*s %-*s %.*s\n", names, name, extensions, extension, (int)strcspn(line, "\n"),
                             line);
            name = extension = "";
        }
    }
    pt_buffer_text(text, "\n");
}
