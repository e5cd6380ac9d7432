/* SPDX-License-Identifier: Apache-2.0 */
/* Says for people which sources of contexts the program has, and which of them are read. Flush thread only. */
#ifndef PP_LABELS_CONTEXT_TEXT_H
#define PP_LABELS_CONTEXT_TEXT_H

#include "../context/facts.h"

/* Why sources that code reads and the program has imported are not read; a literal each, NULL: they are. */
struct pp_context_reasons {
    const char *asyncio, *trio, *greenlet, *gevent;
    bool is_other_unread; /* another interpreter has sources */
};

#define PP_DDTRACE_PATH "/ddtrace/" /* of its modules */

/* Fills in facts->unread, and facts->text: "SOURCE VERSION, SOURCE VERSION; not SOURCE VERSION (WHY); not …". writer:
 * the path of the module that has facts->thread_context. */
void pp_context_text(const struct pp_object_reader *reader, const uintptr_t *modules, const char *writer,
                     const struct pp_context_reasons *reasons, struct pp_context_facts *facts);

#endif
