/* What the options leave of a profile: a time of the run, processes, threads, stacks; one place for all verbs. */
#ifndef PT_PROFILE_SELECT_H
#define PT_PROFILE_SELECT_H

#include "../cli/options.h"
#include "model.h"

/* Whether the pid is in a list with commas, as --pid takes it. */
bool pt_pid_is_listed(const char *list, uint64_t pid);

/* Whether something is left out, or changed. */
bool pt_selects(const struct pt_cli *cli);

/* Whether --thread asks for names, which are not known before all is read. */
bool pt_selects_names(const struct pt_cli *cli);

/* Whether --focus or --ignore ask for stacks. */
bool pt_selects_stacks(const struct pt_cli *cli);

/* Whether --from or --to say so, which count from the run's start. */
bool pt_selects_time(const struct pt_cli *cli);

/*
 * Who and when: what --pid, --thread with numbers, --from and --to let through, while the logs are read (model.h). NULL
 * when that is all. A sample belongs to the time at the middle of its interval, so that slices next to each other hold
 * every sample once. The caller frees.
 */
struct pt_choice *pt_choice_new(const struct pt_cli *cli, uint64_t run_start_unix_ns);

bool pt_choice_takes_time(const struct pt_choice *choice, uint64_t start_unix_ns, uint64_t wall_ns);
bool pt_choice_takes_thread(const struct pt_choice *choice, const struct pt_profile *profile, uint32_t thread);

/*
 * Leaves in the profile the samples that --thread with a name, --focus and --ignore let through, and takes native
 * frames out of their stacks for --no-native. False after a line on stderr when nothing is left of what the options
 * select.
 */
bool pt_select(struct pt_profile *profile, const struct pt_cli *cli);

#endif
