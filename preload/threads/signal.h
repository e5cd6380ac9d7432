/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses our signal and keeps its action.
 *
 * The default is SIGURG: the kernel ignores it where it has no handler, so a tick is never deadly, whatever action a
 * program sets by a raw system call; debuggers pass it on without a word; and hardly a program uses it. A program may
 * set it to SIG_DFL or SIG_IGN, and reads back what it set, while our handler stays. A program that handles it, or
 * blocks it or waits for it by name, or that is sent it by others, gets it whole: our timers move to the highest
 * real-time signal that the program neither handles nor has named. Go's runtime and PostgreSQL use SIGURG. */
#ifndef PP_THREADS_SIGNAL_H
#define PP_THREADS_SIGNAL_H

#include "../capture/slot.h"
#include <signal.h>
#include <stdbool.h>

/* Chooses the signal and installs our handler for it. Returns false if that is not possible. */
bool pp_signal_install(void);

/* Returns whether `signal` is our signal and profiling has begun. async-signal-safe. */
bool pp_signal_is_ours(int signal);

/* Returns whether libc is to set the signal's action: then pp_signal_passed follows. Else pp_signal_answer is to be
 * asked, and if that does not answer, this again. handler: what is to be set, SIG_DFL if the action is only read.
 * async-signal-safe. */
bool pp_signal_pass(int signal, __sighandler_t handler);
void pp_signal_passed(void);

/* Handles a sigaction call of the program, for a signal that does not pass. Returns true if it is answered here: *old
 * is then the action that the program set last. Returns false if libc is to handle it; if the program sets a function
 * for our signal, it gets the signal, and our timers move to another. async-signal-safe. */
bool pp_signal_answer(int signal, const struct sigaction *action, struct sigaction *old);
/* Returns the action that the program set last for our signal. */
struct sigaction pp_signal_believed(void);

/* Gives the signals of this set to the program: if ours is among them, our timers move to another. Normal context. */
void pp_signal_give_away(const sigset_t *wanted);

/* Gives SIGURG to a program that others send it to, so that it is ignored without a handler. Threads that believe to
 * block every signal follow when they run. Flush thread only. */
void pp_signal_give_away_sigurg(void);

/* Returns for which signals the calling thread, the slot's, is to wait: not for its own where the program waits for all
 * there are. */
sigset_t pp_signal_waited(const struct pp_slot *slot, const sigset_t *set);

/* Gives SIGURG back when profiling has ended for good. Another signal of ours keeps its handler: late it would kill. */
void pp_signal_end(void);

/* Unblocks our new signal in the calling thread, the slot's, if our signal has changed (pp_slot_follow_signal). The
 * handler does this only on request, and only if the thread believes that it blocks our old signal. */
void pp_signal_follow(struct pp_slot *slot);

/* Checks whether `caller`, code that calls sigaction (ours: for our signal), belongs to Go's runtime, which does so
 * before its first goroutine runs. From then on our handler runs on the alternate stack. */
void pp_signal_check_go(uintptr_t caller, bool ours, const struct sigaction *action);

/* Installs our handler again if something set another action without calling our functions. Flush thread only. */
void pp_signal_check_action(void);

/* Releases the lock of signal changes. Runs in the child of fork, where no other thread is changing our signal. */
void pp_signal_after_fork(void);

#endif
