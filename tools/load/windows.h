/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the samples of windows of time, one after the other, of all logs of a request while they grow. Each byte is
 * read once, so that a call costs what the logs have gained and not what they hold.
 *
 * Every sample is given exactly once. A log's interval that lies over several windows is divided among them, as by
 * --from and --to. What a process writes late (its flush thread rests while it uses no CPU time, and an interval may
 * then be long) is given with the next window after it was written, also if it ran earlier: no sum loses it. A window
 * that ends two seconds before now mostly lacks nothing.
 */
#ifndef PT_LOAD_WINDOWS_H
#define PT_LOAD_WINDOWS_H

#include "../model/model.h"
#include "../model/request.h"

struct pt_windows;

/* Makes a reader of the request's paths; `run` chooses a run, otherwise all runs are read, but in a directory that all
 * may write to none of another user. The first window begins at from_unix_ns (0: with the first sample). Of the
 * selection all but times holds for each window. *request must outlive it; pt_windows_free ends it. */
struct pt_windows *pt_windows_new(const struct pt_load_request *request, uint64_t from_unix_ns);

/* Reads on, and returns the samples from the last window's end to to_unix_ns, which must be later, as pt_load would
 * with `from` and `to`; exports have these times. Requests are in the window that their interval ends in. NULL: no
 * process used CPU time then. The caller frees it before the next call. What native frames are called is what the log
 * says; a caller that wants more resolves it. */
struct pt_profile *pt_windows_next(struct pt_windows *windows, uint64_t to_unix_ns);

/* Returns the follower below: which processes there are, how much was read. */
struct pt_follow;
const struct pt_follow *pt_windows_follow(const struct pt_windows *windows);

void pt_windows_free(struct pt_windows *windows);

#endif
