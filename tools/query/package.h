/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which package code belongs to: an installed package, the standard library, a top-level module or directory of
 * the application, a native library. */
#ifndef PT_QUERY_PACKAGE_H
#define PT_QUERY_PACKAGE_H

#include "../model/model.h"

/* Returns the package of a frame, a string; of a pseudo-frame its text. Native code of an installed package belongs to
 * it, other libraries go by the name of their file. */
uint32_t pt_package_of(struct pt_profile *profile, uint32_t frame);

/* Returns whether the frame is code of the application or of an installed package, for which the standard library
 * and other libraries work. */
bool pt_has_package(const struct pt_profile *profile, uint32_t frame);

/* Returns the package for which the CPU time of a stack counts that ends in `frame`, given that of the stack without
 * this frame; 0: none yet. */
uint32_t pt_package_with(struct pt_profile *profile, uint32_t frame, uint32_t without);

/* Returns that package for each node. The caller frees. */
uint32_t *pt_packages_by_node(struct pt_profile *profile);

bool pt_is_application(const struct pt_profile *profile, uint32_t frame);

/* Returns pt_is_application of each frame: for more nodes than there are frames. The caller frees. */
bool *pt_applications(const struct pt_profile *profile);

/* Returns of each frame whether it is native code of the application: of a library, or from a source, in a directory
 * where a process began or that Python files of the application are in; not what Cython adds to it. The caller frees.
 */
bool *pt_native_applications(const struct pt_profile *profile);

/* Returns, for each node, the innermost frame at or above it of the application's own Python code; PT_NONE if there is
 * none. The caller frees. */
uint32_t *pt_application_frames(const struct pt_profile *profile);

/* For which frame of a stack its CPU time counts as self time where native code counts for the Python function that
 * calls it: for the innermost Python function or garbage collection, or for what is CPU time without a stack. In a
 * profile without native frames that is the innermost frame.
 *
 * Returns the frame for a stack that ends in `frame` (PT_NONE for the root), given that of the stack without this
 * frame; PT_NONE: native code that no Python function called. */
uint32_t pt_self_frame(const struct pt_profile *profile, uint32_t frame, uint32_t without);

/* Returns that frame for each node. The caller frees. */
uint32_t *pt_self_frames(const struct pt_profile *profile);

/* Returns the line that a Python frame runs; that of its function's beginning for instructions without a line. */
uint32_t pt_frame_line(const struct pt_profile *profile, const struct pt_frame *frame);

#endif
