/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

static void hand_over(void (*function)(void *data, const char *text), void *data, const char *format, va_list arguments)
{
    if (!function)
        return;
    char *text = pt_format(format, arguments);
    function(data, text);
    free(text);
}

void pt_message_to(const struct pt_messages *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (to)
        hand_over(to->message, to->data, format, arguments);
    va_end(arguments);
}

void pt_progress_to(const struct pt_messages *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (to)
        hand_over(to->progress, to->data, format, arguments);
    va_end(arguments);
}

void pt_progress_end(const struct pt_messages *to)
{
    if (to && to->progress)
        to->progress(to->data, NULL);
}

static void print_message(void *data, const char *text)
{
    (void)data;
    pt_message("%s", text);
}

static void print_progress(void *data, const char *text)
{
    static bool shown;
    (void)data;
    if (!isatty(STDERR_FILENO))
        return;
    if (text || shown)
        fprintf(stderr, "\r\033[K%s", text ? text : "");
    shown = text;
}

const struct pt_messages pt_messages_to_stderr = {.message = print_message, .progress = print_progress};
