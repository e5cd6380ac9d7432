/* What a selection leaves of a profile: a time of the run, processes, threads, stacks. */
#ifndef PT_PROFILE_SELECT_H
#define PT_PROFILE_SELECT_H

#include "model.h"

/* Whether the pid is in a list with commas, as --pid takes it. */
bool pt_pid_is_listed(const char *list, uint64_t pid);

/* Whether something is left out, or changed. */
bool pt_selects(const struct pt_selection *select);

/* Whether --thread asks for names, which are not known before all is read. */
bool pt_selects_names(const struct pt_selection *select);

/* Whether --focus or --ignore ask for stacks. */
bool pt_selects_stacks(const struct pt_selection *select);

/* Whether --from or --to are given, which count from the run's start. */
bool pt_selects_time(const struct pt_selection *select);

/* What has to be kept: stacks are not enough if the selection asks for the thread of each. */
enum pt_keep pt_keep_for(const struct pt_load_request *request);

/*
 * What --pid, --thread with an id, --from and --to let through while the logs are read. A sample belongs to the time at
 * the middle of its interval, so that adjacent slices hold every sample once.
 */
bool pt_takes_all(const struct pt_profile *profile);
bool pt_takes_time(const struct pt_profile *profile, uint64_t start_unix_ns, uint64_t wall_ns);
bool pt_takes_thread(const struct pt_profile *profile, uint32_t thread);

/*
 * Leaves in the profile the samples that --thread with a name, --focus and --ignore let through, and takes native
 * frames out of their stacks for --no-native. False after a message if nothing is left of what is selected.
 */
bool pt_select(struct pt_profile *profile);

#endif
