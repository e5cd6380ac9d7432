/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_THREADS_AFTER_FORK_H
#define PP_THREADS_AFTER_FORK_H

/* Resets all of threads/ in the child of fork: releases all slots, timers and locks. */
void pp_threads_after_fork(void);

#endif
