/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command as a child of this program, as if it ran in its place. */
#ifndef PT_RUN_CHILD_H
#define PT_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts the command, found as execvp does; returns -1 with errno if it cannot be run. Its signals are what this
 * program's were at the first start, and it is killed when this program is. After the last start this program has no
 * stdin and stdout any more: they are the command's. */
pid_t pt_command_start(char **arguments, bool last);

struct pt_ended {
    int wait_status;
    uint64_t billed_ns; /* CPU time of the command and of the descendants that were waited for */
    uint64_t ran_ns;
};

/* Waits until the command, started then (CLOCK_MONOTONIC), has ended. Passes on signals that are sent to this program.
 */
struct pt_ended pt_command_wait(pid_t command, uint64_t since_ns);

/* Ends this program by the signal that ended the command, or returns the exit status of the command. */
int pt_command_status(int wait_status);

#endif
