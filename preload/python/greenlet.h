/* The greenlet extension moves C stacks about under the interpreter: which native frames are whose. Flush thread only.
 */
#ifndef PP_FLUSH_GREENLET_H
#define PP_FLUSH_GREENLET_H

#include <stdbool.h>
#include <stdint.h>

/* After modules were loaded or unloaded. */
void pp_greenlet_refresh(void);

/* Whether the address is in the extension's code; false when it is not loaded. */
bool pp_greenlet_holds(uintptr_t address);

/* If greenlets are just being switched, as native frames (innermost first) tell: how many of the innermost ones belong
 * to the switch itself; those further out may be anyone's, and the Python frames another greenlet's. Else 0.
 * torn: the handler could not read the Python frames. */
unsigned pp_greenlet_switch(const uint64_t *native, unsigned count, bool torn);

#endif
