/* SPDX-License-Identifier: Apache-2.0 */
#include "log_text.h"

#include <inttypes.h>

#include "../base/terminal_text.h"

#define TEXT_COLUMNS 200
#define MAX_FRAMES   64 /* of a stack: a sample's line has an end, whatever the nodes say */

void pt_log_put_text(struct pt_log_printer *printer, struct pt_text text)
{
    pt_buffer_clear(&printer->text);
    pt_buffer_append(&printer->text, text.data, text.length);
    for (size_t i = 0; i < text.length; i++)
        if (!printer->text.data[i]) /* a command line has its arguments so */
            printer->text.data[i] = ' ';
    pt_buffer_clear(&printer->shown);
    pt_shown_text(&printer->shown, printer->text.data, TEXT_COLUMNS);
    fprintf(printer->out, "\"%s\"", printer->shown.length ? printer->shown.data : "");
}

void pt_log_put_string(struct pt_log_printer *printer, uint64_t id)
{
    if (!id || pt_segment_find(printer->segment, PT_TABLE_STRINGS, id))
        pt_log_put_text(printer, pt_segment_string(printer->segment, id));
    else
        fprintf(printer->out, "(string %" PRIu64 " is missing)", id);
}

void pt_log_put_frame(struct pt_log_printer *printer, uint32_t id)
{
    const struct pt_segment *segment = printer->segment;
    const struct pt_log_frame *frame = pt_segment_find(segment, PT_TABLE_FRAMES, id);
    if (!frame) {
        fprintf(printer->out, "(frame %" PRIu32 " is missing)", id);
    } else if (frame->kind == PP_FRAME_PSEUDO) {
        pt_log_put_string(printer, frame->subject);
    } else if (frame->kind == PP_FRAME_PYTHON) {
        const struct pt_log_code *code = pt_segment_find(segment, PT_TABLE_CODES, frame->subject);
        pt_log_put_string(printer, code ? code->qualname : 0);
        fprintf(printer->out, " code %" PRIu32 "%s line %" PRIu32, frame->subject, code ? "" : " (missing)",
                frame->line);
        if (frame->end_line)
            fprintf(printer->out, ":%" PRIu32 " to %" PRIu32 ":%" PRIu32, frame->column, frame->end_line,
                    frame->end_column);
    } else if (frame->kind == PP_FRAME_NATIVE) {
        const struct pt_log_module *module = pt_segment_find(segment, PT_TABLE_MODULES, frame->subject);
        pt_log_put_string(printer, frame->symbol);
        fprintf(printer->out, "+%#" PRIx64 " at %#" PRIx64 " module %" PRIu32 "%s", frame->symbol_offset,
                frame->address, frame->subject, module || !frame->subject ? "" : " (missing)");
    } else {
        fprintf(printer->out, "(unknown kind %" PRIu32 ")", frame->kind);
    }
}

/* It has an end: the id of a parent is below that of its child. */
void pt_log_put_stack(struct pt_log_printer *printer, uint32_t node)
{
    fprintf(printer->out, " node %" PRIu32 ":", node);
    for (unsigned i = 0; node; i++) {
        const struct pt_log_node *found = pt_segment_find(printer->segment, PT_TABLE_NODES, node);
        fputs(i ? " < " : " ", printer->out);
        if (!found || i == MAX_FRAMES) {
            fprintf(printer->out, found ? "..." : "(node %" PRIu32 " is missing)", node);
            return;
        }
        pt_log_put_frame(printer, found->frame);
        node = found->parent;
    }
}

void pt_log_put_labels(struct pt_log_printer *printer, uint32_t id)
{
    const struct pt_log_labels *labels = pt_segment_find(printer->segment, PT_TABLE_LABELS, id);
    if (!id)
        return;
    fprintf(printer->out, " labels %" PRIu32 "%s", id, labels ? "" : " (missing)");
    struct pt_cursor pairs = labels ? pt_cursor(labels->pairs.data, labels->pairs.length) : pt_cursor("", 0);
    while (pt_left(&pairs)) {
        uint32_t key = pt_read_id(&pairs), value = pt_read_id(&pairs);
        fputc(' ', printer->out);
        pt_log_put_string(printer, key);
        fputc('=', printer->out);
        pt_log_put_string(printer, value);
    }
}

void pt_log_put_thread(struct pt_log_printer *printer, uint32_t id)
{
    const struct pt_log_thread *thread = pt_segment_find(printer->segment, PT_TABLE_THREADS, id);
    fprintf(printer->out, " thread %" PRIu32 "%s", id, thread || !id ? "" : " (missing)");
    if (thread) {
        fprintf(printer->out, " tid %" PRIu64 " ", thread->tid);
        pt_log_put_string(printer, thread->name);
    }
}
