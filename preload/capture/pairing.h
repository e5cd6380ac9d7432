/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs both stacks of a sample: which native frame runs which run of Python frames, and by that how a native walk goes
 * on beyond code without unwind rows. Handlers do it on the stack itself; the flush thread on a copy, where the handler
 * had no rows yet. Everything here is async-signal-safe.
 *
 *      native frames, innermost first       runs of Python frames
 *      0  memcpy           [sp,   cfa0)
 *      1  list.sort        [cfa0, cfa1)
 *      2  eval frame       [cfa1, cfa2)     runs[0]: its marker is in [cfa1, cfa2)    key, by_name
 *      3  a C extension    [cfa2, cfa3)
 *      4  eval frame       [cfa3, cfa4)     runs[1]: its marker is in [cfa3, cfa4)    main, <module>
 *      5  Py_BytesMain     [cfa4, cfa5)
 *
 * One call of the native eval function runs many Python frames from 3.11 on, each Python call within Python code being
 * one more. A run's marker is an address on the C stack that lies inside its eval frame. Where the native walk ends
 * early, say in frame 3, the marker of the next outer run tells where frame 4 is, and the walk goes on from there. */
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
