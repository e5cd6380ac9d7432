/* What the options leave of a profile: a time of the run, processes, threads, stacks; one place for all verbs. */
#ifndef PP_PROFILE_SELECT_H
#define PP_PROFILE_SELECT_H

#include "../cli.h"
#include "model.h"

/* Whether the pid is in a list with commas, as --pid takes it. */
bool pp_pid_is_listed(const char *list, uint64_t pid);

/* Whether pp_select has something to do. */
bool pp_selects(const struct pp_cli *cli);

/* Whether the samples' intervals must be kept while reading, for --from and --to. */
bool pp_select_needs_intervals(const struct pp_cli *cli);

/*
 * Leaves in the profile the samples that --from, --to, --pid, --thread, --focus and --ignore let through, and takes
 * native frames out of their stacks for --no-native. A sample belongs to the time at the middle of its interval, so
 * that slices next to each other hold every sample once. False after a line on stderr when nothing is left.
 */
bool pp_select(struct pp_profile *profile, const struct pp_cli *cli);

#endif
