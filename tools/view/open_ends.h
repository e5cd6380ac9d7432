/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what became of processes whose logs do not say that they ended. */
#ifndef PT_VIEW_OPEN_ENDS_H
#define PT_VIEW_OPEN_ENDS_H

#include "../model/model.h"

enum pt_end {
    PT_END_ITSELF, /* it returned or left by exit; or exec replaced it */
    PT_END_RUNNING,
    PT_END_SIGNAL,  /* killed by a signal that it did not handle */
    PT_END_UNKNOWN, /* of another machine or pid namespace: it runs or was killed */
};

enum pt_end pt_end_of(const struct pt_profile *profile, uint32_t process);

struct pt_open_ends {
    uint32_t running, killed, unknown;
};

struct pt_open_ends pt_open_ends_of(const struct pt_profile *profile);

/* Appends "1 still running, 2 ended by a signal"; nothing if all processes ended by themselves. */
void pt_open_ends_append(struct pt_buffer *text, const struct pt_open_ends *ends);

#endif
