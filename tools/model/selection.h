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

/* Returns whether --from or --to is given. */
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
/* Sets the times that --from and --to select, in unix ns: 0 and UINT64_MAX if they are not given. */
void pt_selected_times(const struct pt_profile *profile, uint64_t *from, uint64_t *to);
/* Reduces the time from *start to *end to what is selected of it. Where both are times of the clock, it becomes theirs:
 * a window that a program was not running in all the time has its length all the same. */
void pt_selected_window(const struct pt_profile *profile, uint64_t *start, uint64_t *end);
/* Reduces an interval of the process to the part that --from and --to select; returns false if that is none of it. That
 * in which the process became ready is whole: which of its samples count, pt_accepts_sample says. */
bool pt_clip_interval(const struct pt_profile *profile, const struct pt_process *process, struct pt_interval *interval);
bool pt_accepts_sample(const struct pt_profile *profile, const struct pt_process *process,
                       const struct pt_segment *segment, const struct pt_interval *interval,
                       const struct pt_log_sample *sample);
bool pt_accepts_process(const struct pt_profile *profile, uint32_t process);
bool pt_accepts_thread(const struct pt_profile *profile, uint32_t thread);

#endif
