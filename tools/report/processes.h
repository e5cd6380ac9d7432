/* SPDX-License-Identifier: Apache-2.0 */
/* Names processes and threads in tables. */
#ifndef PT_REPORT_PROCESSES_H
#define PT_REPORT_PROCESSES_H

#include "../model/model.h"

/* Appends the pid and what the process runs: its command line as it was typed, from where it differs from `previous`
 * on, which may be "", or of whom it is a worker if it was forked and runs the same. */
void pt_report_process(struct pt_buffer *text, const struct pt_profile *profile, uint32_t process,
                       const char *previous);

#endif
