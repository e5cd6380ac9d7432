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

#endif
