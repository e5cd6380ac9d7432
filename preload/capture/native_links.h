/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the last walk found, so that the next one need not walk again what has not changed.
 *
 * From a return address on, a walk depends on the stack pointer, on the registers that CFAs are computed from, and on
 * the words that it reads. Nearly every frame computes its CFA from the stack or the frame pointer and is left by two
 * of these words: the return address, at PP_RETURN_ADDRESS_AT, and, where the function has saved it, the caller's frame
 * pointer. So a walk that arrives at a frame of the last walk with the same pc and pointers goes on as the last walk
 * did if these words are still the same. Rules hold in all tables of a generation. Everything here is
 * async-signal-safe. */
#ifndef PP_CAPTURE_NATIVE_LINKS_H
#define PP_CAPTURE_NATIVE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#define PP_MAX_LINKS 384

/* How a walk arrived at a frame, and what its rule says. The next outer frame's sp is this frame's CFA. */
struct pp_native_link {
    uintptr_t pc, sp, fp;
    intptr_t fp_at; /* where the caller's fp is saved, from the CFA; 0: in the register itself */
};

/* The links [0, kept) are the last walk's, outermost first; each new walk writes its own to the array's other end,
 * where they are in the same order. Only links up to the outermost frame are of use: a frame that cannot be linked
 * drops the new ones. */
struct pp_native_links {
    uint32_t generation; /* of the table that the last walk used; 0: none is kept */
    uint32_t kept, added;
    uintptr_t end; /* CFA of the outermost frame */
    struct pp_native_link links[PP_MAX_LINKS];
};

/* Begins a walk by a table of this generation. */
void pp_links_begin(struct pp_native_links *links, uint32_t generation);

/* Whether the walk arrives where the last one did, and all from there to the outermost frame is unchanged: *from is
 * then the link of this frame, and those below it are its callers'. The stack is readable from `at->sp` to `top`; there
 * is room for so many frames. */
bool pp_links_join(struct pp_native_links *links, const struct pp_native_link *at, uintptr_t top, uint32_t room,
                   uint32_t *from);

/* Adds the frame that the walk has just left. */
void pp_links_add(struct pp_native_links *links, const struct pp_native_link *left);

/* Drops the frames added so far, as they are not linked with what follows. */
static inline void pp_links_drop(struct pp_native_links *links)
{
    links->added = 0;
}

/* Ends a walk that has reached the outermost frame, whose CFA is `end`, either by itself or by the links [0, joined).
 */
void pp_links_end(struct pp_native_links *links, uint32_t joined, uint32_t generation, uintptr_t end);

#endif
