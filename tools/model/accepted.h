/* SPDX-License-Identifier: Apache-2.0 */
/* Applies --pid, --thread with an id, --from and --to while logs are read. */
#ifndef PT_MODEL_ACCEPTED_H
#define PT_MODEL_ACCEPTED_H

#include "model.h"

/* Returns whether none of them is given. */
bool pt_accepts_all(const struct pt_profile *profile);
/* Reduces the interval to the part that --from and --to select; returns false if that is none of it. */
bool pt_clip_interval(const struct pt_profile *profile, struct pt_interval *interval);
bool pt_accepts_process(const struct pt_profile *profile, uint32_t process);
bool pt_accepts_thread(const struct pt_profile *profile, uint32_t thread);

#endif
