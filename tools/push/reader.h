/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the server does not have yet, into windows of time.
 *
 * An interval of a log, with all of its CPU time, belongs to the window in which it ends: that is when it is written,
 * so that windows are whole when their time is over. Windows meet: each begins at the end of the last.
 */
#ifndef PT_PUSH_READER_H
#define PT_PUSH_READER_H

#include "../load/follow.h"
#include "../model/task_stacks.h"
#include "../query/fold.h"
#include "state.h"
#include "target.h"

/* CPU time of a stack in a window. */
struct pt_push_cell {
    uint32_t window, service, node, labels; /* window: its number in the batch */
    uint64_t count, cpu_ns;
};

struct pt_push_reader {
    const struct pt_push_target *target;
    struct pt_push_state *state;
    const char *directory; /* of the state */
    bool labels;           /* the program's labels and endpoints are told apart */
    uint64_t window_ns;
    uint64_t oldest_ns; /* the server takes nothing older than this, before now; UINT64_MAX: it takes all */

    struct pt_load_request request; /* which logs; select.native counts, too */
    struct pt_follow *follow;       /* NULL: begins again from the state with the next batch */
    /* What is read now: what precedes base, then read, of the state's files, or all. */
    enum { PT_PUSH_SENT, PT_PUSH_BATCH, PT_PUSH_NEW } phase;
    struct pt_fold fold;
    struct pt_task_stacks tasks;
    uint32_t *services; /* by process: string + 1 */
    uint32_t service_capacity;
    uint32_t *shown; /* by label set: the set of the labels that are shown + 1 */
    uint32_t shown_capacity;
    uint64_t resolve_at_ns;
    uint32_t resolved; /* number of frames when their names were last resolved */
    size_t memory;     /* in use after the first batch; 0: there was none */

    /* The batch. */
    uint64_t from_unix_ns, to_unix_ns;
    uint32_t windows;
    bool cut;        /* later windows were left out of memory: `windows` is how many are there */
    bool more;       /* another batch can be read at once */
    uint32_t cut_at; /* number of cells that are too many */
    PT_TABLE_OF(struct pt_push_cell) cells;
};

/* Reads all that the logs have gained into the batch's windows, which end at now_unix_ns; or, if the state has a batch
 * that was not sent to its end, what is left of that. elapsed_ns: since the batch before, by a clock that is not set.
 */
void pt_push_reader_read(struct pt_push_reader *reader, uint64_t now_unix_ns, uint64_t elapsed_ns);

/* Returns where a window of the batch begins: window `windows` where the last one ends. */
uint64_t pt_push_window_start(const struct pt_push_reader *reader, uint32_t window);

/* Sets the state's files and time to: the server has the batch's windows before this number. */
void pt_push_reader_note(const struct pt_push_reader *reader, uint32_t window);

/* Ends the batch: all of it was sent, or given up. */
void pt_push_reader_next(struct pt_push_reader *reader);

void pt_push_reader_free(struct pt_push_reader *reader);

#endif
