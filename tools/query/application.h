/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the application's own Python code from all other. */
#ifndef PT_QUERY_APPLICATION_H
#define PT_QUERY_APPLICATION_H

#include "../model/model.h"

bool pt_is_application(const struct pt_profile *profile, uint32_t frame);

/* Returns pt_is_application of each frame: for more nodes than there are frames. The caller frees. */
bool *pt_applications(const struct pt_profile *profile);

/* Returns, for each node, the innermost frame at or above it of the application's own Python code; PT_NONE if there is
 * none. The caller frees. */
uint32_t *pt_application_frames(const struct pt_profile *profile);

#endif
