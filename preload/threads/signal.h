/*
 * Our signal and its action.
 *
 * The default is SIGURG: the kernel ignores it where it has no handler, so whatever action a program sets past us, a
 * tick is never deadly; debuggers pass it on without a word; and hardly a program uses it. A program may set it to
 * SIG_DFL or SIG_IGN, and reads back what it set, while our handler stays. A program that handles it, or blocks it or
 * waits for it by name, gets it whole: our timers move to the highest real-time signal that the program neither
 * handles nor has named. Go's runtime and PostgreSQL use SIGURG.
 */
#ifndef PP_THREADS_SIGNAL_H
#define PP_THREADS_SIGNAL_H

#include "../capture/slot.h"
#include <signal.h>
#include <stdbool.h>

/* Chooses the signal and puts our handler in place of its default action. */
bool pp_signal_install(void);

/* Whether it is our signal, and profiling has begun. async-signal-safe. */
bool pp_signal_is_ours(int signal);

/* The program sets or asks for the action of a signal: whether the call is ours to answer; then *old is what the
 * program has set last. Else the call is libc's: our signal goes to a program that sets a function. async-signal-safe.
 */
bool pp_signal_answer(int signal, const struct sigaction *action, struct sigaction *old);
/* What the program has set our signal to last. */
struct sigaction pp_signal_believed(void);

/* The program wants the signals of this set for itself: if ours is named, our timers move to another. Normal context.
 */
void pp_signal_give_away(const sigset_t *wanted);

/* The slot's thread, which calls this, follows our signal if it has changed (pp_slot_follow_signal): its handler does
 * so only when it is asked, and only where the thread believes to block the signal that was ours. */
void pp_signal_follow(struct pp_slot *slot);

/* Code at `caller` sets or asks for a signal's action; ours: that of our signal. From Go's runtime on, which does so
 * before its first goroutine runs, our handler runs on the alternate stack. */
void pp_signal_check_go(uintptr_t caller, bool ours, const struct sigaction *action);

/* Puts our handler in place again if something has set another action past our functions. Flush thread. */
void pp_signal_check_action(void);

/* In the child of fork: no thread is changing our signal. */
void pp_signal_after_fork(void);

#endif
