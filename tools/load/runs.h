/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the runs in a profile: a run is one launch and all its descendants. */
#ifndef PT_LOAD_RUNS_H
#define PT_LOAD_RUNS_H

#include "../model/model.h"

struct pt_run {
    uint32_t run;   /* string: the run's id */
    uint32_t first; /* the process that started first */
    uint32_t processes, segments;
    uint32_t not_ended; /* processes that still run or were killed */
    uint64_t start_unix_ns, end_unix_ns, cpu_ns, own_ns;
};

/* Returns an array of *count runs, newest first. The caller frees. */
struct pt_run *pt_runs_of(const struct pt_profile *profile, uint32_t *count);

#endif
