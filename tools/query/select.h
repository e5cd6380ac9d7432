/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a selection to a profile: by time, process, thread and stack. */
#ifndef PT_QUERY_SELECT_H
#define PT_QUERY_SELECT_H

#include "../model/model.h"

/*
 * Puts tasks into the stacks (model/task_stacks.h), removes the samples that --thread with a name, --focus and --ignore
 * exclude, and folds the native frames that --native leaves out. Returns false after a message if no sample is left,
 * or if none has the context that is asked for.
 */
bool pt_select(struct pt_profile *profile);

#endif
