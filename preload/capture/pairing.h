/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs both stacks of a sample: which native frame runs which run of Python frames, and by that how a native walk goes
 * on beyond code without unwind rows. Handlers do it on the stack itself; the flush thread on a copy, where the handler
 * had no rows yet. Everything here is async-signal-safe. */
#ifndef PP_CAPTURE_PAIRING_H
#define PP_CAPTURE_PAIRING_H

#include "python.h"
#include "python_walk.h"
#include "slot.h"

struct pp_stacks {
    uintptr_t sp; /* where the signal hit */
    uintptr_t stack_top;
    struct pp_native_stack native;
    struct pp_python_stack python;
    const struct pp_run *runs;            /* python.runs of them */
    const struct pp_record_frame *frames; /* python.frames of them */
    const struct pp_python *interpreter;  /* whose runs have markers on the thread's own stack; NULL: there are none */
};

/* Resumes a native walk that ended in a gap, at the next outer eval frame, known by its marker, as long as there are
 * gaps; not where it is continuable. */
void pp_stacks_resume_native(struct pp_stacks *stacks);

/* Returns the bytes of a sample record with these stacks. */
uint32_t pp_stacks_size(const struct pp_stacks *stacks);
/* Writes the stacks' part of a sample record. */
void pp_stacks_write(const struct pp_stacks *stacks, struct pp_record_sample *to);

#endif
