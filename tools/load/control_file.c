/* SPDX-License-Identifier: Apache-2.0 */
#include "control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../base/output.h"
#include "../base/print.h"

#define PROCESSES_MAX 100 /* orders to single processes: the oldest go */

struct lines {
    struct pp_control_line *items;
    uint32_t count, capacity;
};

char *pt_control_text(const char *directory)
{
    struct pt_buffer path = pt_formatted("%s/" PP_CONTROL_NAME, directory);
    int fd = open(path.data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    pt_buffer_free(&path);
    if (fd < 0)
        return NULL;
    char *text = pt_alloc(PP_CONTROL_MAX + 1, 1);
    ssize_t length = read(fd, text, PP_CONTROL_MAX);
    int error = errno;
    close(fd);
    if (length >= 0) {
        text[length] = '\0';
        return text;
    }
    free(text);
    errno = error;
    return NULL;
}

/* Returns until when, in seconds of CLOCK_REALTIME, the process is paused; 0: it is not. */
static uint64_t paused_until(const char *directory, const struct pp_control_scope *process, bool starts_paused)
{
    static const struct pp_control_scope all;
    struct pp_control_orders orders = pp_control_default(starts_paused);
    PT_AUTO_FREE char *text = pt_control_text(directory);
    if (text)
        pp_control_read(text, process ? process : &all, starts_paused, &orders);
    if (!pp_control_is_paused(&orders, pt_clock_ns(CLOCK_REALTIME) / PT_SECOND))
        return 0;
    return orders.paused ? orders.until_unix_s : PP_CONTROL_NEVER;
}

bool pt_control_pauses(const char *directory, const struct pp_control_scope *process, bool starts_paused)
{
    return paused_until(directory, process, starts_paused) != 0;
}

void pt_append_resume(struct pt_buffer *text, const char *directory)
{
    pt_buffer_text(text, "pyprof ctl ");
    pt_append_argument(text, directory);
    pt_buffer_text(text, " resume");
}

bool pt_append_pause(struct pt_buffer *text, const char *directory)
{
    uint64_t until_s = paused_until(directory, NULL, false);
    if (!until_s)
        return false;
    pt_buffer_format(text, "%s is paused: no samples are taken there until", directory);
    if (until_s != PP_CONTROL_NEVER) {
        pt_buffer_text(text, " ");
        pt_buffer_time(text, until_s * PT_SECOND);
        pt_buffer_text(text, ", or until");
    }
    pt_buffer_text(text, ": ");
    pt_append_resume(text, directory);
    return true;
}

static bool is_rate(const struct pp_control_line *line)
{
    return line->kind == PP_CONTROL_HZ;
}

/* Whether the order leaves nothing of the line: an order to all goes before earlier ones to single processes. */
static bool makes_void(const struct pp_control_line *order, const struct pp_control_line *line)
{
    bool meets = !order->scope.pid ||
                 (order->scope.pid == line->scope.pid && order->scope.start_ticks == line->scope.start_ticks);
    return meets && is_rate(order) == is_rate(line);
}

/* Takes the lines that stay. Returns false if the text is no control file. */
static bool keep_lines(const char *text, const struct pp_control_line *order, struct lines *lines, uint64_t *written)
{
    struct pp_control_line line;
    while (pp_control_next(&text, written, &line))
        if (!order || !makes_void(order, &line))
            *PT_APPEND(lines) = line;
    return text != NULL;
}

static void append_line(struct pt_buffer *text, const struct pp_control_line *line)
{
    if (line->scope.pid)
        pt_buffer_format(text, "pid %" PRIu64 " %" PRIu64 " ", line->scope.pid, line->scope.start_ticks);
    else
        pt_buffer_text(text, "all ");
    if (is_rate(line))
        pt_buffer_format(text, "hz %" PRIu64, line->number);
    else
        pt_buffer_text(text, line->kind == PP_CONTROL_PAUSED ? "paused" : "running");
    if (!is_rate(line) && line->until_unix_s != PP_CONTROL_NEVER)
        pt_buffer_format(text, " until %" PRIu64, line->until_unix_s);
    pt_buffer_text(text, "\n");
}

static void append_file(struct pt_buffer *text, const struct lines *lines, uint64_t written)
{
    uint32_t single = 0, skipped = 0;
    for (uint32_t i = 0; i < lines->count; i++)
        single += lines->items[i].scope.pid != 0;
    pt_buffer_format(text, PP_CONTROL_HEAD "written %" PRIu64 "\n", written);
    for (uint32_t i = 0; i < lines->count; i++) {
        bool old = lines->items[i].scope.pid && single - skipped > PROCESSES_MAX;
        skipped += old;
        if (!old)
            append_line(text, &lines->items[i]);
    }
    pt_buffer_text(text, PP_CONTROL_TAIL);
}

/* Puts the text in the file's place. Returns an errno. */
static int replace(const char *directory, const struct pt_buffer *text)
{
    PT_AUTO_BUFFER path = {0}, fresh = {0};
    pt_buffer_format(&path, "%s/" PP_CONTROL_NAME, directory);
    pt_buffer_format(&fresh, "%s/." PP_CONTROL_NAME ".XXXXXX", directory);
    int fd = mkostemp(fresh.data, O_CLOEXEC);
    if (fd < 0)
        return errno;
    bool good = write(fd, text->data, text->length) == (ssize_t)text->length && fchmod(fd, 0644) == 0 &&
                rename(fresh.data, path.data) == 0;
    int error = good ? 0 : errno;
    if (!good)
        unlink(fresh.data);
    close(fd);
    return error;
}

bool pt_control_change(const char *directory, const struct pp_control_line *order, uint64_t *written)
{
    struct lines lines = {0};
    PT_AUTO_BUFFER text = {0};
    uint64_t before = 0;
    /* two commands at once: neither order is lost */
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = lock < 0 || flock(lock, LOCK_EX) != 0 ? errno : 0;
    PT_AUTO_FREE char *old = error ? NULL : pt_control_text(directory);
    if (old && !keep_lines(old, order, &lines, &before)) {
        pt_message("%s/" PP_CONTROL_NAME " is damaged, or of another version of pyprof: what it says is replaced",
                   directory);
        lines.count = 0;
    }
    if (order)
        *PT_APPEND(&lines) = *order;
    uint64_t now = pt_clock_ns(CLOCK_REALTIME);
    *written = now > before ? now : before + 1;
    append_file(&text, &lines, *written);
    error = error ? error : replace(directory, &text);
    if (lock >= 0)
        close(lock);
    free(lines.items);
    return !error || pt_error("cannot write " PP_CONTROL_NAME " in %s: %s", directory, strerror(error));
}
