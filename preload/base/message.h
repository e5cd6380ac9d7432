/* SPDX-License-Identifier: Apache-2.0 */
/* Formats text in fixed buffers, and writes messages to stderr: a line for each cause in a process and its children. */
#ifndef PP_BASE_MESSAGE_H
#define PP_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* A text in a fixed buffer, always NUL-terminated and cut when the buffer is full. No locale, no allocation. */
struct pp_text {
    char *buffer;
    size_t size, length;
};

void pp_text_init(struct pp_text *text, char *buffer, size_t size);
void pp_text_add(struct pp_text *text, const char *string);

/* Does what snprintf does for %s %u %lu %x %lx, with a width that fills with zeros (%08x). Returns its buffer. */
const char *pp_format(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum pp_cause {
    PP_CAUSE_CONFIG_OUT,
    PP_CAUSE_CONFIG_HZ,
    PP_CAUSE_CONFIG_SIGNAL,
    PP_CAUSE_CONFIG_OVERHEAD,
    PP_CAUSE_PYTHON_LAYOUT,
    PP_CAUSE_FURTHER_PYTHON,
    PP_CAUSE_PYTHON_CLASSES,
    PP_CAUSE_SAFE_COPY,
    PP_CAUSE_TIMER,
    PP_CAUSE_UNREACHABLE,
    PP_CAUSE_SMALL_STACK,
    PP_CAUSE_THREAD,
    PP_CAUSE_OUTPUT,
    PP_CAUSE_JIT_NAMES,
    PP_CAUSE_CONFIG_UNWIND,
    PP_CAUSE_CONFIG_DISK,
    PP_CAUSE_LIBUNWIND,
    PP_CAUSE_SANDBOX,
    PP_CAUSE_CONFIG_CLOCK,
    PP_CAUSE_CLOCK,
    PP_CAUSE_CONFIG_TRACES,
    PP_CAUSE_CONFIG_START,
    PP_CAUSE_CONTROL,
    PP_CAUSE_CONTEXTS,
    PP_CAUSE_END,
    PP_CAUSE_START, /* PYPROF_VERBOSE */
    PP_CAUSE_COUNT,
};

/* Notes which file descriptor 2 is; messages are written to no other. Call when Python appears. */
void pp_warn_remember_stderr(void);

/* Returns the message of a cause in this process or its parents, NULL if there was none. Any thread. */
const char *pp_warned(enum pp_cause cause);

/* Writes "pyprof: ", the text as pp_format does, and a newline to descriptor 2. Normal context only. */
void pp_warn_once(enum pp_cause cause, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the messages that the flush thread could not write from its own descriptor table. Call in an exiting
 * thread of the program. async-signal-safe. */
void pp_warn_rest(void);

#endif
