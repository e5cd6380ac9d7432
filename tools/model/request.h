/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a request: which logs to load, and what to keep of them. */
#ifndef PT_MODEL_REQUEST_H
#define PT_MODEL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "../../preload/common/settings.h"
#include "../base/print.h"
#include "../log/reader.h"

#define PT_DEFAULT_DIRECTORY PP_DEFAULT_OUT

/* Says which native frames are shown; the others are folded into the Python functions that run them (query/fold.h). */
enum pt_native {
    PT_NATIVE_LIBRARIES, /* those of extensions and libraries */
    PT_NATIVE_NONE,
    PT_NATIVE_OWN, /* the application's Python code only: in the page of `flame` */
    PT_NATIVE_ALL, /* with the interpreter's own */
};

/* A moment, as a time of the run, as one before its end, of the clock, or that in which each process was ready: one of
 * the four is not 0, or it is not given. */
struct pt_when {
    uint64_t of_run_ns;     /* since the run's start */
    uint64_t before_end_ns; /* before the end of what was recorded; before now while a process of it runs */
    uint64_t unix_ns;
    bool ready; /* ready.h */
};

static inline bool pt_when_is_given(const struct pt_when *when)
{
    return when->of_run_ns || when->before_end_ns || when->unix_ns || when->ready;
}

/* Selects the samples to keep. All zero: all samples. */
struct pt_selection {
    /* Only what ran in [from, to). A log's interval that lies on a border is divided there, so that adjoining times
     * hold everything once: parts of [a, b) and [b, c) add up to [a, c) (pt_interval_part). */
    struct pt_when from, to;
    /* As the options of these names take them; NULL: not given. */
    const char *pid, *thread, *not_thread, *focus, *ignore;
    const char *hide;    /* frames that match are in no stack: their CPU time is their callers' */
    const char *trace;   /* hexadecimal digits that its id begins with; with this, request PT_TRACES_ONLY */
    bool no_awaiters;    /* stacks are without the tasks that await theirs (task_stacks.h) */
    bool fold_recursion; /* functions that follow each other again are in a stack once (query/recursion.h) */
    bool join_pools;     /* CPU of threads without Python is put under what the main thread waits in (pools.h) */
    enum pt_native native;
};

/* Says how much is kept; each value takes less memory than the one before it. */
enum pt_keep {
    PT_KEEP_SAMPLES,
    /* Samples are not split by thread or GIL; threads have sums. With `timed`, further samples at node 0 say
     * when each thread was busy, so that all CPU time is there twice. */
    PT_KEEP_STACKS,
    PT_KEEP_SUMS, /* no samples: processes of all runs and their accounting */
};

/* Says what becomes of the single samples of traces that were kept (traces.h). Samples that are summed up include them.
 */
enum pt_traces {
    PT_TRACES_NONE,   /* they are left out */
    PT_TRACES_ONLY,   /* nothing else is kept */
    PT_TRACES_APART,  /* they are kept, and what is summed up is without them; not for a request with times */
    PT_TRACES_BESIDE, /* they are kept beside all that is summed up: their CPU time is there twice */
};

typedef bool pt_wants_process(void *data, const struct pt_log_process *process);

/* Returns the number of the process that the samples of this one may be counted as; its own if there is none. */
typedef uint32_t pt_counted_as(void *data, uint32_t process);

/* Starts as {0}, which requests all samples of the latest run in the default directory. It must neither change nor move
 * until its profile is freed. */
struct pt_load_request {
    char *const *paths; /* files and directories; path_count 0: the default directory (files.h) */
    int path_count;
    const char *run; /* runs whose id begins with this; NULL: the latest run of a directory */
    bool all;        /* all runs of a directory */
    bool own_only;   /* but none that another user may have made up (`foreign` in load/files.h), also of all or an id */

    struct pt_selection select;
    const char *by;  /* whose CPU it was is asked for (query/group.h): samples have that; NULL: it is not */
    bool by_roots;   /* and it is the first frame of each stack */
    bool middleware; /* the profile says which functions are (query/group.h) */
    /* For a client elsewhere: that nothing of the selected time was recorded is no failure, and nothing is left for it
     * to resolve: go tool pprof asks the server for names that a mapping lacks, and gives up without an answer. */
    bool served;
    enum pt_traces traces; /* not PT_TRACES_NONE: PT_KEEP_STACKS keeps samples */
    enum pt_keep keep;
    bool plain;     /* samples are not split by GIL */
    bool whole;     /* nor by thread: they are of the process as a whole, or of counted_as */
    bool no_stacks; /* nor by stack: all are at node 0 */
    bool ready;     /* processes know when they were ready */
    bool usage;     /* what processes had used at the end of each interval */
    bool no_names;  /* native frames keep the names that the log has for them */
    bool callers;   /* those without a name have their callers' (symbols/callers.h); not to compare profiles */
    /* timed: samples of different intervals stay apart, if their interval ends after timed_from_ns (unix); the others
     * have interval 0 and no thread. Where that would make more than most_samples (0: any number), intervals become
     * longer (time_bins.h) with merge_intervals; without, nothing is loaded. */
    bool timed;
    uint64_t timed_from_ns;
    uint32_t most_samples;
    bool merge_intervals;

    pt_counted_as *counted_as; /* with `whole`: where a thousand workers are alike, they need not be told apart; NULL:
                                  they are */
    void *counted_as_context;

    pt_wants_process *wants; /* returns false for processes to leave out, to any thread; NULL: none */
    void *wants_context;

    char *const *typed; /* pyprof's arguments, a NULL after them, to suggest with another directory; NULL: a report */
    const struct pt_messages *messages; /* NULL: messages are dropped */
};

#endif
