/* Which processes `pyprof top` is about: all, those of --pid, or one that runs, with all that descends from it. */
#ifndef PP_TOP_TARGET_H
#define PP_TOP_TARGET_H

#include "../cli.h"
#include "../profile/model.h"

/* One that is wanted, as its log says it; of the one that runs only the pid is known before its log is. */
struct pp_relative {
    uint64_t pid;
    char *run, *instance, *host; /* NULL: not known yet */
};

struct pp_target {
    const char *pids; /* --pid; NULL: all */
    int pid;          /* the one that runs; 0: none */
    bool pids_agree;  /* pids here are those of its pid namespace, and of its logs */
    uint64_t since_unix_ns;
    char *boot_id;                          /* of this machine; NULL: not known */
    PP_TABLE_OF(struct pp_relative) family; /* its own first */
    int *descendants;                       /* that live, as it was lately */
    uint32_t descendant_count;
    uint64_t descendants_at_ns;
    char *arguments[3]; /* where it writes */
    int descriptors[2]; /* that hold these places, + 1; 0: none */
    struct pp_cli cli;  /* the command line, with these for the PID */
    char name[48];      /* of the one that runs, for people; "" without one */
};

/* A sole argument that is a number, and no file, is the PID of a process. False after a line on stderr when it is none
 * that is profiled. pp_target_free ends it, whatever happened. */
bool pp_target_begin(struct pp_target *target, const struct pp_cli *cli);

/* Whether the process of a log is wanted; learns who is whose child. */
bool pp_target_wants(void *target, const struct pp_log_process *process);

void pp_target_free(struct pp_target *target);

#endif
