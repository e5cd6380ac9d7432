/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a sample belongs to, by kind. A source reads its kind in the handler, on the thread that owns it. Its file
 * has the names of objects and fields that it knows and the functions pp_*_find (flush thread: fills in the source's
 * facts) and pp_*_read (handler). */
#ifndef PP_CONTEXT_H
#define PP_CONTEXT_H

#include "../capture/objects.h"
#include "../capture/python_walk.h"
#include "facts.h"

#define PP_SAME_NAME 1 /* the identity of contexts that are one when they have the same name */

/* Names of a span whose library does not say its name, and of what another task's record would name. */
#define PP_SPAN_UNNAMED "(unnamed)"
#define PP_SPAN_UNKNOWN "(unknown)"

/* Whether a trace's samples are kept one by one, as far as its baggage says. */
enum pp_trace_choice { PP_TRACE_BY_ID, PP_TRACE_KEPT, PP_TRACE_LEFT };

/* What a source has read. */
struct pp_context {
    uintptr_t identity; /* an address, which may be reused when the object is gone; 0: the sample belongs to none */
    struct pp_str text;
    uint64_t trace_id[2]; /* of a span: the lower 64 bits first */
    enum pp_trace_choice choice;
    bool no_id; /* a span without an id: the identity is its address */
    /* Of an awaiter: in scratch->awaiting_resolved; and what tells them from others with such entries. */
    uint32_t frames;
    uint64_t frames_digest;
};

/* What sources read from. */
struct pp_context_reader {
    struct pp_object_reader objects;
    const struct pp_context_facts *facts; /* NULL: no source was found in the thread's interpreter */
    const struct pp_thread_state *state;
    struct pp_slot *slot;
    struct pp_recall *recall; /* for which is recorded what is read (recall.h); NULL: it is not */
    bool trace_only;          /* of a span only its trace's id is needed */
};

/* Notes why the sample lacks a context, or a part of it: once it is known that the reading has failed, not where.
 * async-signal-safe. */
static inline void pp_context_lacks(const struct pp_context_reader *reader, enum pp_reason reason)
{
    reader->slot->scratch->context_reasons |= (uint16_t)(1u << (reason - PP_REASON_FIRST_CONTEXT));
}

/* Reads, before the Python stack is walked, what does not depend on it, and puts what has changed since the thread's
 * last sample into the ring, before the sample. Sets the bits in *known of the kinds that could be read, PP_SELECTED in
 * it for a sample of a selected trace, and *task_frame to the frame with which the running task's own stack begins (0:
 * none). Returns false if the ring has no room. async-signal-safe; needs slot->scratch; bounded. */
bool pp_contexts_read(const struct pp_context_reader *reader, uint32_t *known, uintptr_t *task_frame);

/* Whether the sample is of a trace that PYPROF_TRACES selects. async-signal-safe; needs slot->scratch; bounded. */
bool pp_contexts_selected(const struct pp_context_reader *reader);
/* Does the same for a thread that runs no Python. async-signal-safe; bounded. */
bool pp_contexts_selected_native(struct pp_slot *slot);

/* Reads what a thread that runs no Python belongs to, as pp_contexts_read. */
bool pp_contexts_read_native(struct pp_slot *slot, uint32_t *known);

/* Reads what the frames of the Python stack tell, as pp_contexts_read, and corrects stack->task_frame.
 * async-signal-safe; needs slot->scratch with the resolved frames; bounded. */
bool pp_contexts_read_frames(const struct pp_context_reader *reader, struct pp_python_stack *stack,
                             const struct pp_native_stack *native, uint32_t *known);

/* Puts a context into the ring unless it is the thread's last of its kind; false if there is no room. Sets the kind's
 * bit in *known. async-signal-safe; needs slot->scratch. */
bool pp_context_put(const struct pp_context_reader *reader, enum pp_context_kind kind, const struct pp_context *context,
                    uint32_t *known);

/* Makes a reader for the thread's state. async-signal-safe. */
struct pp_context_reader pp_context_reader_of(const struct pp_thread_state *state, struct pp_slot *slot);

#endif
