/* From a request to a profile. */
#ifndef PT_PROFILE_LOAD_H
#define PT_PROFILE_LOAD_H

#include "../profile/model.h"

/*
 * Loads the request's paths: files (all of them) and directories (of their *.pyprof files the runs that are asked for);
 * without paths PYPROF_OUT or ./pyprof.out. Names native functions that the log does not name, and those that are
 * inlined into them, if their files are at hand. Leaves what the request selects. Messages say what was left out. NULL
 * after a message that says why nothing could be loaded. The caller ends it with pt_profile_free.
 */
struct pt_profile *pt_load(const struct pt_load_request *request);

/* pt_load in two steps, to load the same files again in another way: what has been added to them meanwhile is left out.
 * pt_inputs_open gives NULL after a message, pt_inputs_load after a message or without one if there were too many
 * samples: *too_many (request.h). */
struct pt_inputs *pt_inputs_open(const struct pt_load_request *request);
struct pt_profile *pt_inputs_load(struct pt_inputs *inputs, const struct pt_load_request *request, bool *too_many);
void pt_inputs_free(struct pt_inputs *inputs);

/* Makes the request ask for what the user named: a path or, if there is none of this name, the id of a run (or its
 * beginning) in PYPROF_OUT or ./pyprof.out. */
void pt_request_named(struct pt_load_request *request, char *const *name);

#endif
