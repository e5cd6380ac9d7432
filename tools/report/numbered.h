/* SPDX-License-Identifier: Apache-2.0 */
/* Joins names that differ in their numbers only: "audit-1" to "audit-500" are one row, "audit-* (500 names)". */
#ifndef PT_REPORT_NUMBERED_H
#define PT_REPORT_NUMBERED_H

#include "../model/model.h"

#define PT_NUMBERED 20u

/* Returns, by string of the profile, the string of its row: in most cases itself. Of names that are alike, those with
 * at most one in PT_NUMBERED of their sum are joined, if these are more than PT_NUMBERED. ns: by string; 0: it is no
 * name. The caller frees. */
uint32_t *pt_join_numbered(struct pt_profile *profile, const uint64_t *ns);

#endif
