/* SPDX-License-Identifier: Apache-2.0 */
/* Answers HTTP requests, one for each connection, in one thread. No client can hold others up or make it grow: there is
 * a limit for connections, heads, answers and commands that run, and each step has its time. */
#ifndef PT_SERVE_SERVER_H
#define PT_SERVE_SERVER_H

#include "access.h"
#include "routes.h"

/* Serves connections of the listening socket, for as long as the process lives. */
_Noreturn void pt_serve(const struct pt_service *service, const struct pt_access *access, int listening);

#endif
