/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "../base/output.h"
#include "../base/terminal_text.h"
#include "../model/frame_text.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "export.h"

void pt_export_collapsed(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    const struct pt_view_options view_options = {options->lines, options->threads, options->processes,
                                                 options->gil,   PT_NONE,          PT_NONE};
    struct pt_view *view = pt_view_new(profile, &view_options);
    PT_AUTO_BUFFER line = {0};
    PT_AUTO_FREE size_t *ends =
        pt_alloc(view->nodes.count, sizeof *ends); /* length of the line up to and with the node */
    for (uint32_t at = pt_view_next(view, 0, 0); at != PT_NONE; at = pt_view_next(view, at, 0)) {
        const struct pt_view_node *node = &view->nodes.items[at];
        line.length = ends[node->parent];
        if (line.length)
            pt_buffer_text(&line, ";");
        /* Frames are separated by ';' and end at the line's end. */
        size_t start = line.length;
        pt_shown_text(&line, pt_string(profile, node->text), 0);
        for (size_t i = start; i < line.length; i++)
            if (line.data[i] == ';')
                line.data[i] = ':';
        ends[at] = line.length;
        uint64_t weight = options->samples ? node->count : node->ns;
        if (weight)
            fprintf(out, "%s %" PRIu64 "\n", line.data, weight);
    }
    pt_view_free(view);
}

/* The format has no comments; its readers draw nothing for a stack without weight. */
void pt_export_collapsed_file(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    PT_AUTO_BUFFER line = {0};
    pt_export_collapsed(profile, options, out);
    pt_summary_append_accounting(profile, &line);
    fprintf(out, "[accounting: %s] 0\n", line.data);
}

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
