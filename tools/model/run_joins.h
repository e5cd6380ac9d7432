/* SPDX-License-Identifier: Apache-2.0 */
/* Holds which runs are parts of others: a process that was started without PYPROF_RUN, because its environment was
 * scrubbed, has a run id of its own. */
#ifndef PT_MODEL_RUN_JOINS_H
#define PT_MODEL_RUN_JOINS_H

#include "../log/reader.h"

struct pt_profile;

struct pt_run_joins {
    struct pt_run_join {
        char *own, *run; /* the id in the log, and the id of the run that it is a part of */
    } * items;
    uint32_t count, capacity;
};

/* Returns whether the id of a log, or that of the run that it is a part of, begins with `wanted`. joins NULL: none. */
bool pt_run_is(const struct pt_run_joins *joins, struct pt_text own, const char *wanted);

/* Gives the profile's processes the ids of the whole runs. */
void pt_run_joins_apply(const struct pt_run_joins *joins, struct pt_profile *profile);

void pt_run_joins_free(struct pt_run_joins *joins);

#endif
