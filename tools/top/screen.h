/* What `pyprof top` shows. */
#ifndef PT_TOP_SCREEN_H
#define PT_TOP_SCREEN_H

#include "rows.h"

struct pt_screen {
    uint32_t columns, lines; /* of the terminal; plain text: 0, all of each line and `rows` rows */
    uint32_t rows;
    bool colour;
    enum pt_rows_of of;
    bool by_total, since_start, paused, help, editing;
    char filter[128];
    bool filter_is_bad;
    uint32_t first; /* row; put right when there are fewer */
};

/* Appends a whole screen: with control sequences for a terminal, else lines of text. */
void pt_screen_draw(struct pt_buffer *out, struct pt_screen *screen, struct pt_live *live);

#endif
