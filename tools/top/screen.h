/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the screen of `pyprof top`. */
#ifndef PT_TOP_SCREEN_H
#define PT_TOP_SCREEN_H

#include "rows.h"

struct pt_screen {
    uint32_t columns, lines; /* size of the terminal; 0: plain text, nothing is cut */
    uint32_t rows;           /* of the table in plain text */
    bool colour;
    enum pt_rows_of of;
    char by[64]; /* of groups: the word of --by */
    bool by_total, since_start, paused, help, editing;
    char filter[128];
    bool filter_is_bad;
    uint32_t first; /* first visible row; pt_screen_draw limits it to the rows there are */
};

/* Appends one screen to out: with control sequences if screen->columns is set, else as plain lines. */
void pt_screen_draw(struct pt_buffer *out, struct pt_screen *screen, struct pt_live *live);

#endif
