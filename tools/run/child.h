/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command as a child of this program, as if it ran in its place. */
#ifndef PT_RUN_CHILD_H
#define PT_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts the command, found as execvp does; returns -1 with errno if it cannot be run. Its signals are what this
 * program's were, and it is killed when this program is. From here on this program has no stdin and stdout any more:
 * they are the command's. */
pid_t pt_command_start(char **arguments);

/* Waits until the command has ended and returns its wait status. Passes on signals that are sent to this program.
 * *billed_ns: the CPU time that the kernel billed to the command and to the descendants that were waited for. */
int pt_command_wait(pid_t command, uint64_t *billed_ns);

/* Ends this program by the signal that ended the command, or returns the exit status of the command. */
int pt_command_status(int wait_status);

#endif
