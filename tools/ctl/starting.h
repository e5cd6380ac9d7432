/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes that write to a directory and have written nothing so far, as one does that was started paused. */
#ifndef PT_CTL_STARTING_H
#define PT_CTL_STARTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pt_starting {
    uint32_t count;
    int pid; /* of one of them, and its owner */
    uid_t uid;
    gid_t gid;
};

/* The directory need not exist. Processes that may not be inspected are not found. */
struct pt_starting pt_starting_find(const char *directory);

/* Returns whether the directory has a log of this process. */
bool pt_has_log(const char *directory, int pid);

#endif
