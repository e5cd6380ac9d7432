/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
#define ENDING (sizeof ending / sizeof ending[0])

static char *volatile unfinished;

static void remove_unfinished(void)
{
    if (unfinished)
        unlink(unfinished);
}

static void on_ending(int signal_number)
{
    remove_unfinished();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Signals that are ignored (nohup) stay so. */
static void watch_signals(char *temporary)
{
    unfinished = temporary;
    for (size_t i = 0; i < ENDING; i++) {
        struct sigaction old;
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            signal(ending[i], temporary ? on_ending : SIG_DFL);
    }
}

/* Opens a new file in the directory of the file that it will become; returns -1 with errno on failure. */
static int open_beside(const char *path, char **temporary)
{
    static bool registered;
    struct pt_buffer name = {0};
    sigset_t signals, before;
    pt_buffer_format(&name, "%s.XXXXXX", path);
    *temporary = name.data;
    /* The program also ends by exit() when it is out of memory. */
    registered = registered || atexit(remove_unfinished) == 0;
    /* Treat a limit of the file size like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&signals);
    for (size_t i = 0; i < ENDING; i++)
        sigaddset(&signals, ending[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    int descriptor = mkstemp(name.data), error = errno;
    if (descriptor >= 0)
        watch_signals(name.data);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    if (descriptor < 0)
        return -1;
    /* mkstemp's 0600 is not what a new file has. */
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    return descriptor;
}

/* Calls write() with a file of another name, which takes the name of `path` at the end: no reader ever sees half a
 * file, and a signal that ends the program takes it away. What is no file (a pipe, /dev/null) is written as it is. Its
 * errors are the stream's. False after a line on stderr. */
static bool write_file(const char *path, void (*write)(void *data, FILE *out), void *data)
{
    struct stat status;
    bool in_place = stat(path, &status) == 0 && !S_ISREG(status.st_mode), written = false;
    /* A link is followed: renaming would put a file in its place. */
    PT_AUTO_FREE char *real = realpath(path, NULL), *temporary = NULL;
    const char *target = real ? real : path;
    int descriptor = in_place ? open(path, O_WRONLY | O_CLOEXEC) : open_beside(target, &temporary);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (out) {
        write(data, out);
        written = fflush(out) == 0 && !ferror(out);
        written = fclose(out) == 0 && written && (in_place || rename(temporary, target) == 0);
    }
    if (!written)
        pt_error("cannot write %s: %s", path, strerror(errno));
    if (!written && !in_place && descriptor >= 0)
        unlink(temporary);
    if (!in_place)
        watch_signals(NULL);
    return written;
}

bool pt_is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool pt_write_output(const char *path, void (*write)(void *data, FILE *out), void *data)
{
    if (!pt_is_stdout(path))
        return write_file(path, write, data);
    write(data, stdout);
    return true;
}

FILE *pt_buffer_stream(struct pt_buffer *buffer)
{
    FILE *stream = open_memstream(&buffer->data, &buffer->length);
    if (!stream)
        pt_out_of_memory();
    return stream;
}

void pt_say_written(const char *path)
{
    if (!pt_is_stdout(path))
        pt_message("wrote %s", path);
}

bool pt_has_extension(const char *path, const char *extension)
{
    size_t length = strlen(path), suffix = strlen(extension);
    return length > suffix && strcmp(path + length - suffix, extension) == 0;
}

void pt_append_argument(struct pt_buffer *line, const char *argument)
{
    if (*argument && argument[strcspn(argument, " \t\n'\"\\$&;|<>()*?[]#~`!")] == '\0') {
        pt_buffer_text(line, argument);
        return;
    }
    bool control = false;
    for (const char *at = argument; *at; at++)
        control |= iscntrl((unsigned char)*at) != 0;
    pt_buffer_text(line, control ? "$'" : "'");
    for (; *argument; argument++)
        if (*argument == '\n')
            pt_buffer_text(line, "\\n");
        else if (iscntrl((unsigned char)*argument))
            pt_buffer_format(line, "\\%03o", (unsigned char)*argument);
        else if (control && (*argument == '\'' || *argument == '\\'))
            pt_buffer_format(line, "\\%c", *argument);
        else if (*argument == '\'')
            pt_buffer_text(line, "'\\''");
        else
            pt_buffer_append(line, argument, 1);
    pt_buffer_text(line, "'");
}
