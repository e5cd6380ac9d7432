/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the ids of a log stand for, as far as they are defined there. */
#ifndef PT_REPORT_LOG_TEXT_H
#define PT_REPORT_LOG_TEXT_H

#include <stdio.h>

#include "../log/reader.h"

struct pt_log_printer {
    FILE *out;
    const struct pt_segment *segment; /* as it is at the place of the log that is printed */
    size_t base, end;                 /* of that segment in the file, and of the last block in it */
    uint64_t malformed;               /* its losses.damaged_records before that block */
    struct pt_buffer text, shown;     /* to be freed */
};

/* Prints in quotes what a terminal can show of the text. */
void pt_log_put_text(struct pt_log_printer *printer, struct pt_text text);
void pt_log_put_string(struct pt_log_printer *printer, uint64_t id);
void pt_log_put_frame(struct pt_log_printer *printer, uint32_t id);
/* Prints a stack, the innermost frame first. */
void pt_log_put_stack(struct pt_log_printer *printer, uint32_t node);
/* Print nothing for a label set that there is not, and no name for a thread that there is not. */
void pt_log_put_labels(struct pt_log_printer *printer, uint32_t id);
void pt_log_put_thread(struct pt_log_printer *printer, uint32_t id);

#endif
