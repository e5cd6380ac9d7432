/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a function that says most of what has no value of its own: (none), (unknown route). */
#ifndef PT_REPORT_HOT_PATH_H
#define PT_REPORT_HOT_PATH_H

#include "../model/model.h"

struct pt_hot_function {
    uint32_t text; /* 0: there is no Python function */
    uint64_t ns;
};

/* Returns the application's function that has most of the samples, or the package that has them below middleware,
 * unless that is little: then goes from the outermost calls to where the samples part, and returns the function there.
 * What starts a server is in all of its stacks and says nothing. texts: by frame (frame_text.h); packages: by node,
 * text for a package that works for middleware or nothing of the application, 0 for others; ns: CPU time of the samples
 * in question, by node; others_ns: of all others. */
struct pt_hot_function pt_hot_path_function(const struct pt_profile *profile, const uint32_t *texts,
                                            const uint32_t *packages, const uint64_t *ns, const uint64_t *others_ns);

#endif
