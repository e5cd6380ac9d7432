/* The terminal while a program has all of it. */
#ifndef PT_TOP_TERMINAL_H
#define PT_TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/memory.h"

/* False after a line on stderr that says what to do, when there is no terminal that can do it. Whatever way the program
 * ends (but for SIGKILL and crashes), the terminal is then as it was; signals that would end or stop it are only
 * noted until pt_terminal_wait says so. */
bool pt_terminal_begin(void);
void pt_terminal_end(void);

void pt_terminal_size(uint32_t *columns, uint32_t *lines);
void pt_terminal_write(const struct pt_buffer *text);

enum pt_key {
    PT_KEY_NONE = 0, /* other values below 256: that byte */
    PT_KEY_UP = 256,
    PT_KEY_DOWN,
    PT_KEY_PAGE_UP,
    PT_KEY_PAGE_DOWN,
    PT_KEY_HOME,
    PT_KEY_END,
    PT_KEY_ESCAPE,
    PT_KEY_REDRAW, /* no key: the terminal has another size, or the program goes on after it was stopped */
    PT_KEY_QUIT,   /* no key: a signal, or the terminal is gone */
};

/* The next key; PT_KEY_NONE when none came for so long. */
int pt_terminal_wait(uint64_t ns);

/* Ends the program as the signal would have that PT_KEY_QUIT stood for, if it did; SIGINT is how people leave. */
void pt_terminal_pass_signal_on(void);

#endif
