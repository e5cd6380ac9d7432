/* SPDX-License-Identifier: Apache-2.0 */
/* Controls the terminal while a program uses all of its screen. */
#ifndef PT_TOP_TERMINAL_H
#define PT_TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/memory.h"

/* Takes over the terminal. Returns false, after an error on stderr that says what to do, if there is no suitable
 * terminal. The terminal is restored however the program ends, except by SIGKILL or a crash. Signals that would end or
 * stop the program are held until pt_terminal_wait reports them. */
bool pt_terminal_begin(void);
/* Restores the terminal. */
void pt_terminal_end(void);

void pt_terminal_size(uint32_t *columns, uint32_t *lines);
void pt_terminal_write(const struct pt_buffer *text);

enum pt_key {
    PT_KEY_NONE = 0, /* any other value below 256 is the byte that was read */
    PT_KEY_UP = 256,
    PT_KEY_DOWN,
    PT_KEY_PAGE_UP,
    PT_KEY_PAGE_DOWN,
    PT_KEY_HOME,
    PT_KEY_END,
    PT_KEY_ESCAPE,
    PT_KEY_REDRAW, /* not a key: the terminal was resized, or the program was continued */
    PT_KEY_QUIT,   /* not a key: a signal came, or the terminal is gone */
};

/* Waits up to ns for a key and returns it (enum pt_key); PT_KEY_NONE when the time is over. */
int pt_terminal_wait(uint64_t ns);

/* Raises the signal that PT_KEY_QUIT reported, if there was one, with its default action. SIGINT is not raised: it is a
 * normal way to quit. Call after pt_terminal_end. */
void pt_terminal_pass_signal_on(void);

#endif
