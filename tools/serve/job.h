/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command of pyprof in a process of its own, for one request: it takes its memory with it when it ends, and
 * whatever it meets in the logs, the server goes on. */
#ifndef PT_SERVE_JOB_H
#define PT_SERVE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/memory.h"
#include "../cli/options.h"

#define PT_JOB_MOST_BYTES (UINT64_C(256) << 20) /* of what one writes */
#define PT_JOB_WORDS      48

/* The command line, NULL at its end, and the absolute time that is selected (unix; to_ns 0: none is). */
struct pt_job_order {
    char *words[PT_JOB_WORDS + 1];
    unsigned count;
    uint64_t from_ns, to_ns;
};
void pt_job_order_add(struct pt_job_order *order, const char *word);
void pt_job_order_free(struct pt_job_order *order);

struct pt_job {
    pid_t process; /* 0: none runs */
    int end;       /* readable when it has ended */
    int out, err;  /* files in memory: what it wrote to stdout and stderr */
};

/* Starts the command. Returns false if there are no descriptors or processes left. */
bool pt_job_start(struct pt_job *job, const struct pt_command_table *commands, struct pt_job_order *order);
/* Waits for the end, after a signal or without one (0). Returns the exit status, -1 if it was killed. Its files stay
 * open. */
int pt_job_end(struct pt_job *job, int signal);

#endif
