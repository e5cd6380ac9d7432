/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of native pools that wait for work, or for each other, in a loop. */
#ifndef PT_PROFILE_SPINNING_H
#define PT_PROFILE_SPINNING_H

#include <stdint.h>

struct pt_profile;

struct pt_spinning {
    uint64_t ns;                   /* CPU time of all such loops */
    const char *function, *advice; /* of the one with most of it; static */
};

/* Returns it for the samples of the profile, whose native frames were not folded yet (fold.h). */
struct pt_spinning pt_spinning_of(const struct pt_profile *profile);

#endif
