/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the name that Python has for the running thread. Under gevent's patches that is the green thread. */
#ifndef PP_CONTEXT_THREAD_NAME_H
#define PP_CONTEXT_THREAD_NAME_H

#include "context.h"

#define PP_THREAD_NAME_ATTRIBUTE "_name"

/* Reads the threading.Thread whose _bootstrap the frame runs, which is its local of this number; false if it could not
 * be read. async-signal-safe. */
bool pp_thread_name_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned local,
                         struct pp_attribute *learnt, struct pp_context *context);

#endif
