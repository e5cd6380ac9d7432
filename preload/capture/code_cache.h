/*
 * The handler's memory of which code objects the flush thread already knows. A cache entry is a small number that
 * samples use in place of the code object; at first sight (or when the object at that address is another one than
 * before) names and line table are copied into the ring as a definition of the entry. Losing an entry costs only
 * another definition, so the cache has a fixed size and simply replaces.
 */
#ifndef PP_CAPTURE_CODE_CACHE_H
#define PP_CAPTURE_CODE_CACHE_H

#include "capture.h"

enum pp_code_result {
    PP_CODE_FOUND,
    PP_CODE_NOT_CODE, /* what the frame points to is no code object, or the instruction is not in it */
    PP_CODE_NO_ROOM,  /* the definition does not fit into the ring now */
};

/* Fills resolved[] for all frames of the stack. The first `doubtful` of them may belong to a torn chain, so their code
 * objects are read through safe copies, a batch at a time; those of the others must be alive.
 * async-signal-safe; needs slot->scratch. */
enum pp_code_result pp_code_resolve(const struct pp_python *python, struct pp_slot *slot, uint32_t frames,
                                    uint32_t doubtful);

/* The processor fetches what pp_code_resolve will want to know of a frame's code object; any address will do.
 * async-signal-safe. */
void pp_code_fetch(const struct pp_python *python, const struct pp_slot *slot, uintptr_t code);

/* Whether the first `frames` of the stack have code objects that this thread has resolved before. async-signal-safe. */
bool pp_code_known(const struct pp_slot *slot, uint32_t frames);

#endif
