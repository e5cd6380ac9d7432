/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_INTERPOSE_WAITS_H
#define PP_INTERPOSE_WAITS_H

#include "../capture/slot.h"

/* Surround a wait of the calling thread, in a wrapper of the function by which it waits. pp_wait_begins returns NULL
 * where there is nothing to be done. They keep errno; async-signal-safe. */
struct pp_slot *pp_wait_begins(void);
void pp_wait_ends(struct pp_slot *slot);

#endif
