/* SPDX-License-Identifier: Apache-2.0 */
/* The table that answers where the CPU time of a program went that serves nothing: by the application's functions. */
#ifndef PT_REPORT_OWN_TABLE_H
#define PT_REPORT_OWN_TABLE_H

#include "report.h"

/* Prints it in so many lines with its heading, unless --top asks for rows. */
void pt_report_own(const struct pt_report *report, uint32_t lines);

#endif
