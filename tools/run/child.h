/* A command that runs below this program, as if it ran in its place. */
#ifndef PT_RUN_CHILD_H
#define PT_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts it, found as execvp does; -1 with errno when it cannot be run. Its signals are what this program's were, and
 * it is killed when this program is. From here on this program has no stdin and stdout any more: they are the
 * command's. */
pid_t pt_command_start(char **arguments);

/* Until it has ended; gives its wait status. Signals that this program is sent go on to it. */
int pt_command_wait(pid_t command);

/* Ends as it ended: by the same signal, or returns its exit status. */
int pt_command_status(int wait_status);

#endif
