/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a selection to a profile: by time, process, thread and stack. */
#ifndef PT_PROFILE_SELECT_H
#define PT_PROFILE_SELECT_H

#include "model.h"

/* Returns whether the pid is in a list with commas, as --pid takes it. */
bool pt_pid_is_listed(const char *list, uint64_t pid);

/* Returns whether --from or --to is given; both count from the run's start. */
bool pt_selects_time(const struct pt_selection *select);

/* Returns whether samples are left out by their threads or stacks. */
bool pt_selects_stacks(const struct pt_selection *select);

/* Returns what to keep: the request's `keep`, or more if the selection needs the thread of each sample. */
enum pt_keep pt_keep_for(const struct pt_load_request *request);

/*
 * These functions apply --pid, --thread with an id, --from and --to while logs are read.
 */
bool pt_takes_all(const struct pt_profile *profile);
/* Reduces the interval to the part that --from and --to select; returns false if that is none of it. */
bool pt_take_time(const struct pt_profile *profile, struct pt_interval *interval);
bool pt_takes_process(const struct pt_profile *profile, uint32_t process);
bool pt_takes_thread(const struct pt_profile *profile, uint32_t thread);

/*
 * Puts tasks into the stacks (task_stacks.h), removes the samples that --thread with a name, --focus and --ignore
 * exclude, and folds the native frames that --native leaves out. Returns false after a message if no sample is left,
 * or if none has the context that is asked for.
 */
bool pt_select(struct pt_profile *profile);

#endif
