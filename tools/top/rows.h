/* The tables of `pyprof top`. */
#ifndef PT_TOP_ROWS_H
#define PT_TOP_ROWS_H

#include "live.h"

enum pt_rows_of { PT_ROWS_FUNCTIONS, PT_ROWS_PROCESSES, PT_ROWS_THREADS };

struct pt_row {
    uint32_t number;            /* string, process or thread */
    uint64_t self_ns, total_ns; /* in the window or since the start; the same but for functions */
    uint64_t since_self_ns, since_total_ns;
    uint64_t wall_ns; /* of processes and threads: their part of the window */
};

struct pt_rows_options {
    enum pt_rows_of of;
    bool by_total, since_start;
    const char *filter; /* regular expression; "" for none */
};

/* Sorted, with something to show. *whole_ns is what shares are of. The caller frees. */
struct pt_row *pt_rows_new(struct pt_live *live, const struct pt_rows_options *options, uint32_t *count,
                           uint64_t *whole_ns);

/* What a row is called. Appends. */
void pt_row_text(struct pt_buffer *text, const struct pt_live *live, enum pt_rows_of of, const struct pt_row *row);

/* A command line without the directory of its program, for few columns. */
const char *pt_short_command(const char *command_line);

#endif
