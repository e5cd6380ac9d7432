/* What is loaded, and what is kept of it. */
#ifndef PT_PROFILE_REQUEST_H
#define PT_PROFILE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "../../preload/common/settings.h"
#include "../base/message.h"
#include "../log/reader.h"

#define PT_DEFAULT_DIRECTORY PP_DEFAULT_OUT

/* Which samples are kept. All zero: every one. */
struct pt_selection {
    uint64_t from_ns, to_ns; /* since the run's start; to_ns 0: to its end */
    /* As the options of these names take them; NULL: not given. */
    const char *pid, *thread, *focus, *ignore;
    bool no_native; /* native frames are taken out of the stacks */
};

/* How much is kept: each takes less memory than the one before it. */
enum pt_keep {
    PT_KEEP_SAMPLES,
    /* Samples tell neither threads nor labels nor the GIL apart; threads have sums. With `timed`, samples of node 0 say
     * beside those of stacks when each thread was busy: all CPU time is there twice. */
    PT_KEEP_STACKS,
    PT_KEEP_SUMS, /* no samples: processes of all runs and their accounting */
};

typedef bool pt_wants_process(void *context, const struct pt_log_process *process);

/* Starts as {0}, which means: all samples of the latest run in the default directory. It stays as it is, and where it
 * is, until its profile is freed. */
struct pt_load_request {
    char *const *paths; /* files, and directories; none: the default directory (files.h) */
    int path_count;
    const char *run; /* of runs whose id begins so; NULL: the latest one of a directory */
    bool all;        /* all runs of a directory */

    struct pt_selection select;
    enum pt_keep keep;
    bool plain;             /* samples tell neither labels nor the GIL apart */
    bool usage;             /* what processes had used at the end of each interval */
    bool no_names;          /* native frames keep the names that the log has for them */
    bool timed;             /* samples of different intervals stay apart … */
    uint64_t timed_from_ns; /* … if these end after this (unix); the others have interval 0 */
    uint32_t most_samples;  /* if timed; 0: any number. If there would be more … */
    bool merge_intervals;   /* … intervals become longer (time_bins.h); otherwise nothing is loaded */

    pt_wants_process *wants; /* leaves out the segments of other processes; NULL: none */
    void *wants_context;

    const struct pt_messages *messages; /* NULL: they are dropped */
};

#endif
