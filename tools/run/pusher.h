/* SPDX-License-Identifier: Apache-2.0 */
/* `pyprof run --push`: another pyprof sends the run's profile to a server meanwhile, and its last window. */
#ifndef PT_RUN_PUSHER_H
#define PT_RUN_PUSHER_H

#include <stdbool.h>

struct pt_pusher {
    int process; /* a descriptor of it; -1: there is none */
};

/* Returns whether the URL can be pushed to; false after a message. */
bool pt_pusher_check(const char *url);

/* Starts the pusher. The token is its alone: it is taken out of the environment. */
void pt_pusher_start(struct pt_pusher *pusher, const char *url, const char *directory, const char *run);

/* Has it send what the run has left, and waits for that. */
void pt_pusher_end(struct pt_pusher *pusher);

#endif
