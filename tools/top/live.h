/* What `pyprof top` knows of a run: CPU time in the last seconds and since the start. */
#ifndef PT_TOP_LIVE_H
#define PT_TOP_LIVE_H

#include "../load/follow.h"
#include "target.h"

#define PT_LIVE_WINDOW_NS UINT64_C(10000000000)

/* CPU time by the text of functions. */
struct pt_tally {
    uint64_t *self_ns, *total_ns; /* by string */
    uint32_t *seen;               /* by string: in which stack last; recursion counts once in totals */
    uint32_t self_capacity, total_capacity, seen_capacity, stack;
    uint64_t whole_ns;
};

struct pt_recent {
    uint32_t thread, node;
    uint64_t middle_unix_ns, cpu_ns;
};

struct pt_live {
    struct pt_follow *follow;
    const struct pt_target *target;
    uint32_t generation;  /* of the profile that all this is about */
    bool complete;        /* all that was there has been read */
    bool native;          /* native functions count by themselves */
    uint64_t now_unix_ns; /* of the last reading; the end of a run that is over */
    uint64_t wall_ns;     /* of the window: shorter when the run is */
    uint64_t since_ns;    /* from the start of the run to its last flush */
    uint32_t alive;       /* processes */
    PT_TABLE_OF(struct pt_recent) recent;
    uint64_t *node_ns, *thread_ns; /* since the start */
    uint32_t node_capacity, thread_capacity;
    uint32_t *texts; /* by frame: string */
    uint32_t text_count, text_capacity;
    struct pt_tally since, window;
    uint64_t resolve_at_ns; /* native functions are named at this time */
    uint32_t resolved;      /* frames there were when that was done last */
};

/* Begins as {0}; pt_live_free ends it. target must outlive it. */
void pt_live_begin(struct pt_live *live, struct pt_target *target);

/* Takes in what the logs have got; for about so many ns. */
void pt_live_read(struct pt_live *live, uint64_t at_most_ns);

void pt_live_set_native(struct pt_live *live, bool native);

/* Sums up the window. */
void pt_live_tally_window(struct pt_live *live);

/* Whether the sample is in the last seconds of its process. */
bool pt_live_is_in_window(const struct pt_live *live, const struct pt_recent *recent);

bool pt_live_is_alive(const struct pt_live *live, uint32_t process);

void pt_live_free(struct pt_live *live);

#endif
