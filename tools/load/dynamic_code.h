/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source of functions that cloudpickle has sent. */
#ifndef PT_LOAD_DYNAMIC_CODE_H
#define PT_LOAD_DYNAMIC_CODE_H

#include "../model/model.h"

/* cloudpickle sends functions of a program's main script, or of a notebook, to workers (joblib, Dask): there they keep
 * their name and first line, and have PT_DYNAMIC_CODE as their file. Gives them the script, and makes them what they
 * are where the script itself runs them, if it defines such a function at that line. */
void pt_dynamic_code_resolve(struct pt_profile *profile);

#endif
