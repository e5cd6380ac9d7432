/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../base/output.h"
#include "../model/frame_text.h"
#include "../model/request.h"
#include "export.h"

/* The limits for formats that show times: more samples are merged over time. */
#define MAX_TIMED_SAMPLES (1u << 21)
#define MAX_WHOLE_STACKS  (1u << 17)

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

const struct pt_format *pt_format_of_path(const char *path)
{
    for (size_t i = 0; i < pt_format_count; i++)
        if (pt_has_extension(path, pt_formats[i].extension))
            return &pt_formats[i];
    if (pt_has_extension(path, ".folded")) /* flamegraph.pl's word */
        return pt_format_named("collapsed");
    /* callgrind.out.PID is what kcachegrind opens */
    bool callgrind = strncmp(pt_base_name(path), "callgrind.out", strlen("callgrind.out")) == 0;
    return callgrind ? pt_format_named("callgrind") : NULL;
}

void pt_format_request(const struct pt_format *format, const struct pt_export_options *options,
                       struct pt_load_request *request)
{
    request->callers = request->by_roots = true;
    request->timed = request->merge_intervals = request->plain = format->flags & PT_FORMAT_TIMED;
    if (!request->traces && format->flags & (PT_FORMAT_APART | PT_FORMAT_BESIDE))
        request->traces = format->flags & PT_FORMAT_APART ? PT_TRACES_APART : PT_TRACES_BESIDE;
    request->most_samples = format->flags & PT_FORMAT_WHOLE_STACKS ? MAX_WHOLE_STACKS : MAX_TIMED_SAMPLES;
    if (!options->native && format->flags & (PT_FORMAT_ALL | PT_FORMAT_PYTHON))
        request->select.native = format->flags & PT_FORMAT_ALL ? PT_NATIVE_ALL : PT_NATIVE_NONE;
    if (format->flags & PT_FORMAT_STACKS && !options->threads && !options->processes && !options->gil)
        request->keep = PT_KEEP_STACKS;
}

void pt_formats_list(struct pt_buffer *text)
{
    for (size_t i = 0; i < pt_format_count; i++)
        pt_buffer_format(text, "%s  %-10s %s", i ? "\n" : "", pt_formats[i].name, pt_formats[i].extension);
}

void pt_formats_table(struct pt_buffer *text)
{
    int names = 0, extensions = 0;
    pt_buffer_text(text, "Formats, by extension or --format:\n");
    for (size_t i = 0; i < pt_format_count; i++) {
        int name = (int)strlen(pt_formats[i].name), extension = (int)strlen(pt_formats[i].extension);
        names = name > names ? name : names;
        extensions = extension > extensions ? extension : extensions;
    }
    for (size_t i = 0; i < pt_format_count; i++) {
        const char *name = pt_formats[i].name, *extension = pt_formats[i].extension;
        for (const char *line = pt_formats[i].readers; line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
            pt_buffer_format(text, "  %-*s %-*s %.*s\n", names, name, extensions, extension, (int)strcspn(line, "\n"),
                             line);
            name = extension = "";
        }
    }
    pt_buffer_text(text, "\n");
}
