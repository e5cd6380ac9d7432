/* SPDX-License-Identifier: Apache-2.0 */
/* Greenlet switches C stacks under the interpreter: which native frames are whose. Flush thread only. */
#ifndef PP_PYTHON_GREENLET_SWITCH_H
#define PP_PYTHON_GREENLET_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the extension after modules were loaded or unloaded. */
void pp_greenlet_refresh(void);

/* Whether the address is in the extension's code; false when it is not loaded. */
bool pp_greenlet_holds(uintptr_t address);

/* Whether the native frames (innermost first) are in the middle of a switch: the number of innermost frames that belong
 * to the switch itself, else 0. Frames further out may be any greenlet's, and the Python frames another greenlet's.
 * torn: the handler could not read the Python frames. */
unsigned pp_greenlet_switch(const uint64_t *native, unsigned count, bool torn);

#endif
