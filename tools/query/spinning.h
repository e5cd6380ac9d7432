/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of native pools that wait for work, or for each other, in a loop. */
#ifndef PT_QUERY_SPINNING_H
#define PT_QUERY_SPINNING_H

#include "../model/model.h"

/* Returns it for the samples of the profile, whose native frames were not folded yet (fold.h). */
struct pt_spinning pt_spinning_of(const struct pt_profile *profile);

#endif
