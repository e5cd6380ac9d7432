/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes that run and write to a directory, with what they have obeyed of its control file. */
#ifndef PT_CTL_RUNNING_H
#define PT_CTL_RUNNING_H

#include <sys/types.h>

#include "../model/model.h"

struct pt_running {
    char **paths; /* of their logs, each process's latest */
    uint32_t count, capacity;
    struct pt_load_request request;
    struct pt_profile *profile; /* NULL: none runs, or nothing can be read */
};

/* Finds the processes; pid: only that one, as its log names it; 0: all. pt_running_free ends it. */
void pt_running_find(struct pt_running *running, const char *directory, uint64_t pid);
/* Reads again what they have written. Returns whether there is a process that still runs and has not obeyed the file
 * that says `written`. */
bool pt_running_read(struct pt_running *running, uint64_t written);
/* Returns whether the process, of those that were read, still runs. */
bool pt_running_still(const struct pt_running *running, uint32_t process);
void pt_running_free(struct pt_running *running);

/* Processes that write to a directory and have written nothing so far, as those that were started paused. */
struct pt_starting {
    uint32_t count, paused; /* paused: so many of them are */
    int pid;                /* of one of them, and its owner */
    uid_t uid;
    gid_t gid;
};

/* The directory need not exist. Processes that may not be inspected are not found. */
struct pt_starting pt_starting_find(const char *directory);

/* Returns whether the directory has a log of this process. */
bool pt_has_log(const char *directory, int pid);

#endif
