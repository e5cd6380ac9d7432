/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up a growing profile for `pyprof top`: CPU time in the last seconds (the window) and since the run's start. */
#ifndef PT_TOP_LIVE_H
#define PT_TOP_LIVE_H

#include "../load/follow.h"
#include "../model/task_stacks.h"
#include "../query/fold.h"
#include "target.h"

#define PT_LIVE_WINDOW_NS UINT64_C(10000000000)

/* CPU time of functions, summed by their text. */
struct pt_tally {
    struct pt_tally_item {
        uint64_t self_ns, total_ns, self_count, total_count;
        uint32_t seen; /* number of the last stack that held it, so that recursion counts once in totals */
    } * items;         /* by string number */
    uint32_t capacity, stack;
    uint64_t whole_ns, count; /* of all samples */
};

struct pt_recent {
    uint32_t thread, node, labels;
    uint64_t middle_unix_ns, cpu_ns, count;
};

struct pt_recent_requests {
    uint32_t process, endpoint; /* endpoint: string */
    uint64_t middle_unix_ns, count;
};

struct pt_live {
    struct pt_follow *follow;
    const struct pt_target *target;
    uint32_t generation; /* of follow's profile to which all numbers here refer */
    bool complete;       /* the last read reached the ends of all logs */
    struct pt_task_stacks tasks;
    struct pt_fold fold;  /* native frames, as --native says */
    uint64_t now_unix_ns; /* time of the last read; if the run is over, its end */
    uint64_t wall_ns;     /* length of the window, which a younger run does not fill */
    uint64_t since_ns;    /* in which a process of the run ran, until its last flush */
    uint32_t alive;       /* number of processes that still run */
    PT_TABLE_OF(struct pt_recent) recent;
    PT_TABLE_OF(struct pt_recent_requests) requests;
    uint64_t *request_counts; /* since the start, by string; NULL: none were counted */
    uint32_t request_capacity;
    uint64_t *node_ns, *labels_ns; /* since the start, by node and by label set; threads have their sums */
    uint64_t *node_counts;         /* samples */
    uint32_t node_capacity, node_counts_capacity, labels_capacity;
    uint32_t *texts; /* string number of each frame's text */
    uint32_t text_count, text_capacity;
    struct pt_tally since, window;
    uint64_t resolve_at_ns; /* earliest CLOCK_MONOTONIC time of the next symbol lookup */
    uint32_t resolved;      /* number of frames at the last symbol lookup */
};

/* Opens the logs of the target. *live must be {0} and is freed by pt_live_free; target must outlive it. */
void pt_live_begin(struct pt_live *live, struct pt_target *target);

/* Reads what the logs have gained, for about at_most_ns. live->complete tells whether all of it was read. */
void pt_live_read(struct pt_live *live, uint64_t at_most_ns);

/* Shows other native functions, and recomputes the sums since the start. */
void pt_live_set_native(struct pt_live *live, enum pt_native native);

/* Recomputes live->window from the recent samples. */
void pt_live_tally_window(struct pt_live *live);

/* Return whether the sample, or the requests, lie in the last seconds of their process. */
bool pt_live_is_in_window(const struct pt_live *live, const struct pt_recent *recent);
bool pt_live_are_in_window(const struct pt_live *live, const struct pt_recent_requests *requests);

/* Returns whether the process may still run (pt_follow_is_alive). */
bool pt_live_is_alive(const struct pt_live *live, uint32_t process);

void pt_live_free(struct pt_live *live);

#endif
