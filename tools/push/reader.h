/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the server does not have yet, window by window of time.
 *
 * An interval of a log, with all of its CPU time, belongs to the window in which it ends: that is when it is written,
 * so that windows are whole when their time is over. Windows meet: each begins at the end of the last. Of each log a
 * window has what follows the last one's part, up to an interval that ended later: where a clock was set back, the
 * log's order counts, and nothing is left out.
 */
#ifndef PT_PUSH_READER_H
#define PT_PUSH_READER_H

#include "../load/follow.h"
#include "../model/task_stacks.h"
#include "../query/fold.h"
#include "../sent/state.h"
#include "target.h"

/* CPU time of a stack in the window. */
struct pt_push_cell {
    uint32_t service, node, labels;
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
    struct pt_follow *follow;       /* NULL: begins again from the state with the next window */
    struct pt_fold fold;
    struct pt_task_stacks tasks;
    struct pt_process_service {
        uint32_t name, first; /* string + 1, and the first process with this service */
    } * services;             /* by process; name 0: not known yet */
    uint32_t service_capacity;
    uint32_t *shown; /* by label set: the set of the labels that are shown + 1 */
    uint32_t shown_capacity;
    uint64_t resolve_at_ns;
    uint32_t resolved; /* number of frames when their names were last resolved */

    uint64_t from_unix_ns, to_unix_ns; /* the window */
    bool again;                        /* the batch of the state is read: it was not sent to its end */
    bool more;                         /* another window can be read at once */
    PT_TABLE_OF(struct pt_push_cell) cells;
};

/* Reads the next window that there is something in: one that is over, of what is left to send, or else what the logs
 * have gained until now_unix_ns. What the state has begun to send comes first. elapsed_ns: since the last window, by a
 * clock that is not set. */
void pt_push_reader_read(struct pt_push_reader *reader, uint64_t now_unix_ns, uint64_t elapsed_ns);

/* Sets the state's files and time to: the server has the window; or, it is being sent. */
void pt_push_reader_note(const struct pt_push_reader *reader, bool sent);

/* Finds new logs while a window is sent: what is removed before it was sent is counted in the state. */
void pt_push_reader_scan(struct pt_push_reader *reader);

/* Ends the window: it was sent, or given up. */
void pt_push_reader_next(struct pt_push_reader *reader);

void pt_push_reader_free(struct pt_push_reader *reader);

#endif
