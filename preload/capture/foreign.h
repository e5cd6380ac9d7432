/* Signals on our number that are not our timers': the application's, or somebody else's. */
#ifndef PP_CAPTURE_FOREIGN_H
#define PP_CAPTURE_FOREIGN_H

#include "capture.h"

/* Whether a timer of ours sent it. async-signal-safe. */
bool pp_is_own_signal(const siginfo_t *info);

/* Takes the ticks of ours that wait in the calling thread, which blocks the signal and has no timer: one of the
 * program's goes on waiting. async-signal-safe, bounded. */
void pp_drop_ticks(int signal);

/* Does what the signal would do without us. async-signal-safe as far as the application's handler is. */
void pp_forward_signal(int signal, siginfo_t *info, void *context);

#endif
