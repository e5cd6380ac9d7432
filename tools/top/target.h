/* Which processes `pyprof top` is about: all, those of --pid, or one that runs, with all that descends from it. */
#ifndef PT_TOP_TARGET_H
#define PT_TOP_TARGET_H

#include "../cli/options.h"
#include "../profile/model.h"

/* One that is wanted, as its log says it; of the one that runs only the pid is known before its log is. */
struct pt_relative {
    uint64_t pid;
    char *run, *instance, *host; /* NULL: not known yet */
};

struct pt_target {
    const char *pids; /* --pid; NULL: all */
    int pid;          /* the one that runs; 0: none */
    bool pids_agree;  /* pids here are those of its pid namespace, and of its logs */
    uint64_t since_unix_ns;
    char *boot_id;                          /* of this machine; NULL: not known */
    PT_TABLE_OF(struct pt_relative) family; /* its own first */
    int *descendants;                       /* that live, as it was lately */
    uint32_t descendant_count;
    uint64_t descendants_at_ns;
    char *arguments[3];             /* where it writes */
    int descriptors[2];             /* that hold these places, + 1; 0: none */
    struct pt_load_request request; /* the command line's, with these for the PID */
    char name[48];                  /* of the one that runs, for people; "" without one */
};

/* A sole argument that is a number, and no file, is the PID of a process. False after a line on stderr when it is none
 * that is profiled. pt_target_free ends it, whatever happened. */
bool pt_target_begin(struct pt_target *target, const struct pt_cli *cli);

/* Whether the process of a log is wanted; learns who is whose child. */
bool pt_target_wants(void *target, const struct pt_log_process *process);

void pt_target_free(struct pt_target *target);

#endif
