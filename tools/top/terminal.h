/* The terminal while a program has all of it. */
#ifndef PP_TOP_TERMINAL_H
#define PP_TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../memory.h"

/* False after a line on stderr that says what to do, when there is no terminal that can do it. Whatever way the program
 * ends (but for SIGKILL and crashes), the terminal is then as it was; signals that would end or stop it are only
 * noted until pp_terminal_wait says so. */
bool pp_terminal_begin(void);
void pp_terminal_end(void);

void pp_terminal_size(uint32_t *columns, uint32_t *lines);
bool pp_terminal_has_colour(void);
void pp_terminal_write(const struct pp_buffer *text);

enum pp_key {
    PP_KEY_NONE = 0, /* other values below 256: that byte */
    PP_KEY_UP = 256,
    PP_KEY_DOWN,
    PP_KEY_PAGE_UP,
    PP_KEY_PAGE_DOWN,
    PP_KEY_HOME,
    PP_KEY_END,
    PP_KEY_ESCAPE,
    PP_KEY_REDRAW, /* no key: the terminal has another size, or the program goes on after it was stopped */
    PP_KEY_QUIT,   /* no key: a signal, or the terminal is gone */
};

/* The next key; PP_KEY_NONE when none came for so long. */
int pp_terminal_wait(uint64_t ns);

/* Ends the program as the signal would have that PP_KEY_QUIT stood for, if it did; SIGINT is how people leave. */
void pp_terminal_pass_signal_on(void);

#endif
