/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for people. The program writes them to stderr; what loads profiles hands them to its caller. */
#ifndef PT_BASE_MESSAGE_H
#define PT_BASE_MESSAGE_H

/* Receives messages and progress; called in the thread that loads. A NULL function drops its lines. */
struct pt_messages {
    void (*message)(void *data, const char *text);
    void (*progress)(void *data, const char *text); /* replaces the last one; NULL: the work has ended */
    void *data;
};

/* `to` may be NULL: the lines are dropped. */
void pt_message_to(const struct pt_messages *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_progress_to(const struct pt_messages *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pt_progress_end(const struct pt_messages *to);

/* Writes the messages of the program: lines on stderr with "pyprof: " before them, and progress if that is a terminal.
 */
extern const struct pt_messages pt_messages_to_stderr;

#endif
