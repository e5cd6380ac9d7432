/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps in the profile what the kernel billed. */
#ifndef PT_RUN_BILL_H
#define PT_RUN_BILL_H

#include <stdbool.h>
#include <stdint.h>

#include "../load/files.h"

/* Appends to a log what the kernel billed to its run (PP_PROCESS_RUN_BILLED_NS). Returns false, with the log as it was,
 * if its process may still write to it, or the log is not whole or cannot be written. */
bool pt_bill_append(const struct pt_file *file, uint64_t billed_ns);

#endif
