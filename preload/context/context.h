/* What a sample belongs to, by kind. A source reads its kind in the handler, on the thread that owns it; a source's
 * file has the names of objects and fields that it knows and one function, pp_*_read. */
#ifndef PP_CONTEXT_H
#define PP_CONTEXT_H

#include "../capture/python_walk.h"
#include "objects.h"

/* What a source has read. */
struct pp_context {
    uintptr_t identity; /* an address, which may be reused when the object is gone; 0: the sample belongs to none */
    struct pp_str text;
};

/* Reads what the sample belongs to, and puts what has changed since the thread's last sample into the ring, before the
 * sample. Sets the bits in *known of the kinds that could be read. Returns false if the ring has no room.
 * async-signal-safe; needs slot->scratch with the resolved frames; bounded. */
bool pp_contexts_read(const struct pp_thread_state *state, struct pp_slot *slot, const struct pp_python_stack *stack,
                      uint32_t *known);

#endif
