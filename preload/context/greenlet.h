/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the greenlet that the thread runs, of greenlet, gevent and eventlet. What says whose CPU time it was is what a
 * greenlet runs and where it was spawned, not which of a thousand it is: all of the same name are one context. */
#ifndef PP_CONTEXT_GREENLET_H
#define PP_CONTEXT_GREENLET_H

#include "../capture/frame_rules.h"
#include "context.h"

#define PP_GREENLET_TLS_SIZE 16 /* of the extension: whether the word is initialised, and the word */

/* Finds the types of greenlets, by the dicts of modules; but for facts->tls_module, which facts->getter's object has.
 * Returns false if greenlet is not there, or *why it is not as it is expected. Flush thread. */
bool pp_greenlet_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_greenlet_facts *facts,
                      const char **why);

/* Reads the name of the running greenlet; its identity is 0 in a thread's first greenlet, which is the thread's own.
 * site: where gevent spawned it; its identity is the line, 0: not known, or of no interest. false: the greenlet could
 * not be read, or only its frames tell its name. async-signal-safe; bounded. */
bool pp_greenlet_read(const struct pp_context_reader *reader, struct pp_context *greenlet, struct pp_context *site);

/* Whether the thread has used greenlets, or may have. async-signal-safe. */
bool pp_greenlets_used(const struct pp_context_reader *reader);

/* Reads what pp_greenlet_read could not: the name by the greenlet's outermost Python frame and what is known of that
 * one's function. false: the frames may be another greenlet's. async-signal-safe; bounded. */
bool pp_greenlet_read_frame(const struct pp_context_reader *reader, const struct pp_native_stack *native,
                            uintptr_t frame, struct pp_frame_role role, struct pp_context *greenlet);

#endif
