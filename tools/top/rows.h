/* The tables of `pyprof top`. */
#ifndef PP_TOP_ROWS_H
#define PP_TOP_ROWS_H

#include "live.h"

enum pp_rows_of { PP_ROWS_FUNCTIONS, PP_ROWS_PROCESSES, PP_ROWS_THREADS };

struct pp_row {
    uint32_t number;            /* string, process or thread */
    uint64_t self_ns, total_ns; /* in the window or since the start; the same but for functions */
    uint64_t since_self_ns, since_total_ns;
    uint64_t wall_ns; /* of processes and threads: their part of the window */
};

struct pp_rows_options {
    enum pp_rows_of of;
    bool by_total, since_start;
    const char *filter; /* regular expression; "" for none */
};

/* Sorted, with something to show. *whole_ns is what shares are of. The caller frees. */
struct pp_row *pp_rows_new(struct pp_live *live, const struct pp_rows_options *options, uint32_t *count,
                           uint64_t *whole_ns);

/* What a row is called. Appends. */
void pp_row_text(struct pp_buffer *text, const struct pp_live *live, enum pp_rows_of of, const struct pp_row *row);

/* A command line without the directory of its program, for few columns. */
const char *pp_short_command(const char *command_line);

#endif
