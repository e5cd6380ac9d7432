/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tables of `pyprof top`: rows of functions, processes, threads, or what --by asks for (group.h). */
#ifndef PT_TOP_ROWS_H
#define PT_TOP_ROWS_H

#include "live.h"

enum pt_rows_of { PT_ROWS_FUNCTIONS, PT_ROWS_PROCESSES, PT_ROWS_THREADS, PT_ROWS_GROUPS };

struct pt_row {
    uint32_t number;            /* of the string (of a group 0: none), process or thread */
    uint64_t self_ns, total_ns; /* in the window or since the start; they differ for functions only */
    uint64_t since_self_ns, since_total_ns;
    uint64_t requests; /* endpoints: as self_ns */
    bool unsure;       /* functions: too few samples to know the total share (report/uncertainty.h) */
    uint64_t wall_ns;  /* processes and threads: how much of the window they existed */
};

struct pt_rows_options {
    enum pt_rows_of of;
    const char *by; /* of PT_ROWS_GROUPS: the word of --by */
    bool by_total, since_start;
    const char *filter; /* POSIX extended regular expression; "": no filter */
};

/* Returns *count rows that match the filter, most CPU time first. *whole_ns is the CPU time that counts as 100 %. The
 * caller frees the array. */
struct pt_row *pt_rows_new(struct pt_live *live, const struct pt_rows_options *options, uint32_t *count,
                           uint64_t *whole_ns);

/* Returns whether rows of these groups have requests. */
bool pt_rows_have_requests(const struct pt_live *live, const char *by);

/* Appends the row's name: a function, "pid command" or a thread. */
void pt_row_text(struct pt_buffer *text, const struct pt_live *live, enum pt_rows_of of, const struct pt_row *row);

#endif
