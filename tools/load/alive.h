/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether the processes of logs run, as far as /proc of this machine shows them. */
#ifndef PT_LOAD_ALIVE_H
#define PT_LOAD_ALIVE_H

#include "../model/model.h"

/* Returns what identifies the processes that can be compared by their pids: a boot of a machine, and a pid namespace;
 * "" if the boot is unknown. The caller frees. */
char *pt_machine(struct pt_text boot_id, struct pt_text pid_namespace);

/* Returns that of this program; "" if a part of it is unknown. The caller frees. */
char *pt_own_machine(void);

/* Returns whether /proc has the process, and it has neither ended nor been killed: from a SIGKILL on it runs no code of
 * its own, but is still there for some milliseconds, or until its parent takes notice. */
bool pt_runs(uint64_t pid);

/* Returns whether the process runs. own: of pt_own_machine. */
enum pt_alive pt_alive(const char *own, const char *machine, uint64_t pid);

#endif
