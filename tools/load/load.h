/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a profile as requested. */
#ifndef PT_LOAD_H
#define PT_LOAD_H

#include "../model/model.h"

/*
 * Loads the request's paths: all named files, and of directories the *.pyprof files of the requested runs; without
 * paths PYPROF_OUT or ./pyprof.out. Names native functions that the log does not name, and functions that are inlined
 * into them, if their files are on this machine. Applies the request's selection. Messages say what was left out.
 * Returns NULL after a message that says why nothing could be loaded. The caller ends the profile with pt_profile_free.
 */
struct pt_profile *pt_load(const struct pt_load_request *request);

/* Do pt_load in two steps, to load the same files more than once in different ways; data that was appended after
 * pt_inputs_open is left out. pt_inputs_open returns NULL after a message; pt_inputs_load returns NULL after a message,
 * or without one if there were too many samples, and sets *too_many (request.h). */
struct pt_inputs *pt_inputs_open(const struct pt_load_request *request);
struct pt_profile *pt_inputs_load(struct pt_inputs *inputs, const struct pt_load_request *request, bool *too_many);
void pt_inputs_free(struct pt_inputs *inputs);

/* Sets the request's path to *name or, if *name is neither a path nor a file, its run: a run id or its beginning, in
 * PYPROF_OUT or ./pyprof.out. name must outlive the request. */
void pt_request_named(struct pt_load_request *request, char *const *name);

#endif
