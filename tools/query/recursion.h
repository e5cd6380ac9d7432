/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows recursion once: where the same functions follow each other again in a stack, as f;f;f or visit;children;visit;
 * children, only the innermost of these repeats stays, with its lines. All functions of a stack stay in it, so that
 * totals are what they were.
 */
#ifndef PT_QUERY_RECURSION_H
#define PT_QUERY_RECURSION_H

#include "../model/model.h"

/* Changes the stacks of all samples. */
void pt_fold_recursion(struct pt_profile *profile);

#endif
