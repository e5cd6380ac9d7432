/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the function whose lines a user wants to see. */
#ifndef PT_REPORT_HOT_LINES_H
#define PT_REPORT_HOT_LINES_H

#include "../model/model.h"

/* The function whose lines are shown, and CPU time by frame. */
struct pt_hot_lines {
    uint32_t function; /* PT_NONE: there is none */
    bool application;  /* callees outside of the application are included, not only native ones */
    uint64_t *ns_of_frame;
};

/* Finds the function of the hottest line: by the time of a line of the application with all that it calls outside of
 * the application; if there is no code of the application, of a line with the C code that it calls. The caller frees
 * ns_of_frame. */
struct pt_hot_lines pt_hot_lines_of(const struct pt_profile *profile);

#endif
