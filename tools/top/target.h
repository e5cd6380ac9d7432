/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the processes that `pyprof top` shows: all, those of --pid, or a running process and its descendants. */
#ifndef PT_TOP_TARGET_H
#define PT_TOP_TARGET_H

#include <pthread.h>

#include "../cli/options.h"
#include "../model/model.h"

/* Identifies a wanted process by what its log says. Before the log of the running process is found, only its pid and
 * perhaps its host are known. */
struct pt_relative {
    uint64_t pid;
    char *run, *instance, *host; /* owned; NULL: not known yet */
};

struct pt_target {
    pthread_mutex_t lock;   /* of what pt_target_wants learns */
    const char *pids;       /* --pid; NULL: all */
    int pid;                /* of the running process, as seen here; 0: no PID was given */
    bool pids_agree;        /* its pid here equals that in its own pid namespace, which its log holds */
    uint64_t since_unix_ns; /* start of the running process, a little early: older processes are not wanted */
    char *boot_id;          /* of this machine, owned; NULL: not known */
    PT_TABLE_OF(struct pt_relative) family; /* the running process first */
    int *descendants;                       /* pids of its living descendants, at descendants_at_ns (CLOCK_MONOTONIC) */
    uint32_t descendant_count;
    uint64_t descendants_at_ns;
    char *arguments[3];             /* the directories that it may write to, NULL at the end */
    int descriptors[2];             /* open on these directories, + 1; 0: none */
    struct pt_load_request request; /* made from the command line; for a PID its paths are `arguments` */
    char name[48];                  /* of the running process, for people; "" without a PID */
};

/* Fills *target from the command line. A sole argument that is a number and not a file is taken as a PID. Returns false
 * after an error on stderr if no such process exists or it is not profiled. Call pt_target_free in either case. */
bool pt_target_begin(struct pt_target *target, const struct pt_cli *cli);

/* Returns whether the process of a log is wanted, and remembers it so that its children are found. A pt_wants_process
 * whose context is the struct pt_target. */
bool pt_target_wants(void *target, const struct pt_log_process *process);

void pt_target_free(struct pt_target *target);

#endif
