/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `pyprof run` reports at its end. */
#ifndef PT_RUN_SUMMARY_H
#define PT_RUN_SUMMARY_H

#include <stdbool.h>

#include "../load/files.h"
#include <stdint.h>
#include <time.h>

#include "child.h"

/* Adds to the profile of a run that has ended what the kernel has billed. */
void pt_run_add_bill(const char *run, time_t since, uint64_t billed_ns, const char *directory);

/* Prints one line on stderr about the run that began then, or about all runs whose id begins so. The line says how much
 * of what the kernel has billed was recorded, and what to type next; or that nothing was recorded, and why. Reads
 * the directory, and where the library writes when it cannot write there. `named`: the directory as commands must name
 * it, NULL if they read it without a path; `hz`: the samples per second that were asked for, 0: none; `reason`: why the
 * library cannot be preloaded, NULL when it can. On a terminal the report follows, and what to type next is not said.
 * Returns the directory as commands must name it, "" without a path, NULL if nothing was recorded; the caller frees. */
char *pt_run_summary(const char *run, time_t since, const struct pt_ended *ended, const char *directory,
                     const char *named, uint32_t hz, const char *reason, const char *command);

/* Appends to a log what the kernel billed to its run (PP_PROCESS_RUN_BILLED_NS). Returns false, with the log as it was,
 * if its process may still write to it, or the log is not whole or cannot be written. */
bool pt_bill_append(const struct pt_file *file, uint64_t billed_ns);

#endif
