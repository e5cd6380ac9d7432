/* The greenlet extension moves C stacks about under the interpreter: which native frames are whose. Flush thread only.
 */
#ifndef PP_FLUSH_GREENLET_H
#define PP_FLUSH_GREENLET_H

#include <stdbool.h>
#include <stdint.h>

/* After modules were loaded or unloaded. */
void pp_greenlet_look(void);

/* Whether the address is in the extension's code; false when it is not loaded. */
bool pp_greenlet_holds(uintptr_t address);

/* Whether native frames (innermost first) say that greenlets are just being switched: the C stack is the next one's
 * already and the interpreter's thread state still describes the previous one. *end: how many of the innermost frames
 * belong to the switch itself; those further out may be anyone's. */
bool pp_greenlet_is_switching(const uint64_t *native, unsigned count, unsigned *end);

#endif
