/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the runs in a profile: a run is one launch and all its descendants. */
#ifndef PT_LOAD_RUNS_H
#define PT_LOAD_RUNS_H

#include <string.h>

#include "../model/model.h"

/* Runs of `pyprof run --repeat` belong together: their ids are equal up to here, and count from there on. All others
 * differ, as ids are random. */
#define PT_REPEATED_LENGTH 24

/* Returns whether the runs are one, or repeats of it. */
static inline bool pt_are_repeats(const char *run, const char *other)
{
    return strncmp(run, other, PT_REPEATED_LENGTH) == 0;
}

struct pt_run {
    uint32_t run;   /* string: the run's id */
    uint32_t first; /* the process that started first */
    uint32_t processes, segments;
    uint32_t not_ended; /* processes that still run or were killed */
    uint64_t start_unix_ns, end_unix_ns, cpu_ns, own_ns;
};

/* Returns an array of *count runs, newest first. The caller frees. */
struct pt_run *pt_runs_of(const struct pt_profile *profile, uint32_t *count);

enum pt_end {
    PT_END_ITSELF, /* it returned or left by exit; or exec replaced it */
    PT_END_RUNNING,
    PT_END_SIGNAL,  /* killed by a signal that it did not handle */
    PT_END_UNKNOWN, /* of another machine or pid namespace: it runs or was killed */
};

enum pt_end pt_end_of(const struct pt_profile *profile, uint32_t process);

struct pt_open_ends {
    uint32_t running, killed, unknown;
};

struct pt_open_ends pt_open_ends_of(const struct pt_profile *profile);

/* Appends "1 still running, 2 ended by a signal"; nothing if all processes ended by themselves. */
void pt_open_ends_append(struct pt_buffer *text, const struct pt_open_ends *ends);

#endif
