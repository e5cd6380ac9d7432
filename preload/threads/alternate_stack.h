/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps ticks out of handlers of the program that run on a small alternate stack (sigaltstack): a signal on top of the
 * first has no room there, so the kernel would end the program, or the handler overwrite what lies below. Once a thread
 * has such a stack, all handlers with SA_ONSTACK block our signal, which the program does not read back. */
#ifndef PP_THREADS_ALTERNATE_STACK_H
#define PP_THREADS_ALTERNATE_STACK_H

#include <signal.h>

/* Notes an alternate stack that the program has set for the calling thread. async-signal-safe. */
void pp_alternate_stack_set(const stack_t *stack);

/* Is libc's sigaction for any signal but ours. async-signal-safe. */
int pp_alternate_stack_action(int signal, const struct sigaction *action, struct sigaction *old);

/* Has handlers block our signal in place of this one, which was ours before; 0: there was none. async-signal-safe. */
void pp_alternate_stack_follow(int before);

/* Runs in the child of fork, where no other thread is setting an action. */
void pp_alternate_stack_after_fork(void);

#endif
