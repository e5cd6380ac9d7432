/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the flush thread: decides what is due, and when. */
#ifndef PP_FLUSH_LOOP_H
#define PP_FLUSH_LOOP_H

#define PP_FLUSH_STACK_SIZE (256u << 10)

/* Runs as the flush thread; argument is not used. */
void *pp_flush_loop(void *argument);

#endif
