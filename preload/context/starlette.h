/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the routes of Starlette and FastAPI. */
#ifndef PP_CONTEXT_STARLETTE_H
#define PP_CONTEXT_STARLETTE_H

#include "context.h"

/* Reads the path of a route. included: what FastAPI since 0.137 has the path of a route in an included router in, or
 * any other object. async-signal-safe. */
bool pp_starlette_path_read(const struct pp_context_reader *reader, uintptr_t route, uintptr_t included,
                            struct pp_str *path);

/* Returns whether this is the scope of a request, and reads the route that was found for it: FastAPI and Starlette 1.0
 * leave it there when it has ended. mounted: where the application is mounted, as far as the frames say.
 * context->identity stays 0 if no route is there, or one of another application. async-signal-safe; needs
 * slot->scratch. */
bool pp_starlette_scope_read(const struct pp_context_reader *reader, uintptr_t scope, const struct pp_str *mounted,
                             struct pp_context *context);

/* Returns whether the request has come to a mounted application before what comes first in the frames: a mount with
 * this path, which is not where the first mount is, or a route (NULL). async-signal-safe. */
bool pp_starlette_is_mounted(const struct pp_context_reader *reader, uintptr_t scope, const struct pp_str *mount);

#endif
