/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../base/terminal_text.h"
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
