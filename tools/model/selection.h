/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what a selection asks for, before anything is read. */
#ifndef PT_MODEL_SELECTION_H
#define PT_MODEL_SELECTION_H

#include "model.h"
#include "request.h"

/* Returns whether --thread or --not-thread is a list of ids and not a pattern for names. */
bool pt_names_ids(const char *thread);

/* Returns whether --thread or --not-thread is a pattern for names, which are known only after everything is read. */
bool pt_selects_names(const struct pt_selection *select);

/* Returns whether --focus or --ignore is given. */
bool pt_selects_contents(const struct pt_selection *select);

/* Returns whether --from or --to is given; both count from the run's start. */
bool pt_selects_time(const struct pt_selection *select);

/* Returns whether samples are left out while the logs are read (pt_accepts_thread). */
bool pt_selects_early(const struct pt_selection *select);

/* Returns whether samples are left out at all. */
bool pt_selects_a_part(const struct pt_selection *select);

/* Returns whether samples are left out by their threads or stacks. */
bool pt_selects_stacks(const struct pt_selection *select);

/* Returns what to keep: the request's `keep`, or more if the selection needs the thread of each sample. */
enum pt_keep pt_keep_for(const struct pt_load_request *request);

/* Returns whether the pid is in a list with commas, as --pid takes it. */
bool pt_pid_is_listed(const char *list, uint64_t pid);

/* Returns whether none of them is given. */
bool pt_accepts_all(const struct pt_profile *profile);
/* Reduces the interval to the part that --from and --to select; returns false if that is none of it. */
bool pt_clip_interval(const struct pt_profile *profile, struct pt_interval *interval);
bool pt_accepts_process(const struct pt_profile *profile, uint32_t process);
bool pt_accepts_thread(const struct pt_profile *profile, uint32_t thread);

#endif
