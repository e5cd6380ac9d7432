/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../base/print.h"
#include "state.h"

#define PREFIX  "push-"
#define SUFFIX  ".state"
#define LOCK    ".lock"
#define BEFORE  ".before" /* after SUFFIX: the state that was replaced last */
#define LONGEST ((off_t)64 << 20)

/* Appends the path of a file of this target; run: "" for the lock. */
static void append_path(struct pt_buffer *path, const char *directory, const char *target, const char *run,
                        const char *suffix)
{
    PT_AUTO_BUFFER key = pt_formatted("%s\n%s", target, run ? run : "");
    pt_buffer_format(path, "%s/" PREFIX "%08" PRIx32 "%s", directory, pt_hash_bytes(key.data, key.length), suffix);
}

/* Returns the text of the file; NULL with errno. The caller frees. Another user may have put it there, or a link. */
static char *text_of(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error = EINVAL;
    struct stat status;
    char *text = NULL;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < LONGEST) {
        bool ours = status.st_uid == geteuid() || status.st_uid == 0;
        size_t length = 0, room = (size_t)status.st_size;
        text = ours ? pt_alloc(room + 1, 1) : NULL;
        error = ours ? 0 : EPERM;
        for (ssize_t got = 1; text && length < room && got > 0; length += got > 0 ? (size_t)got : 0)
            got = read(fd, text + length, room - length);
    }
    close(fd);
    errno = error;
    return text;
}

enum found { FOUND_NONE, FOUND_BAD, FOUND_GOOD };

/* Reads a file of a state; it is bad if it is damaged, or another user's. */
static enum found load(struct pt_push_state *state, const char *path)
{
    PT_AUTO_FREE char *text = text_of(path);
    bool there = text || errno != ENOENT;
    return text && pt_push_state_parse(state, text) ? FOUND_GOOD : there ? FOUND_BAD : FOUND_NONE;
}

static bool is_of(const struct pt_push_state *state, const char *target, const char *run)
{
    return strcmp(state->target, target) == 0 && (run ? state->run && strcmp(state->run, run) == 0 : !state->run);
}

void pt_push_state_load(struct pt_push_state *state, const char *directory, const char *target, const char *run)
{
    static const char *const suffixes[] = {SUFFIX, SUFFIX BEFORE};
    for (size_t i = 0; i < 2; i++) {
        PT_AUTO_BUFFER path = {0};
        append_path(&path, directory, target, run, suffixes[i]);
        enum found found = load(state, path.data);
        if (found == FOUND_BAD)
            pt_message("%s is damaged, or not ours: it is not read", path.data);
        if (found == FOUND_GOOD && is_of(state, target, run))
            return;
        pt_push_state_free(state);
    }
    state->target = pt_strdup(target);
    state->run = run ? pt_strdup(run) : NULL;
}

int pt_push_state_save(const struct pt_push_state *state, const char *directory)
{
    PT_AUTO_BUFFER text = {0}, path = {0}, before = {0}, fresh = {0};
    append_path(&path, directory, state->target, state->run, SUFFIX);
    append_path(&before, directory, state->target, state->run, SUFFIX BEFORE);
    pt_buffer_format(&fresh, "%s/." PREFIX "XXXXXX", directory);
    pt_push_state_append(&text, state);
    int fd = mkostemp(fresh.data, O_CLOEXEC);
    if (fd < 0)
        return errno;
    errno = ENOSPC;
    bool good = write(fd, text.data, text.length) == (ssize_t)text.length && fdatasync(fd) == 0;
    good = good && (rename(path.data, before.data) == 0 || errno == ENOENT) && rename(fresh.data, path.data) == 0;
    int error = good ? 0 : errno;
    if (!good)
        unlink(fresh.data);
    close(fd);
    return error;
}

void pt_push_state_remove(const struct pt_push_state *state, const char *directory)
{
    static const char *const suffixes[] = {SUFFIX BEFORE, SUFFIX};
    for (size_t i = 0; i < 2; i++) {
        PT_AUTO_BUFFER path = {0};
        append_path(&path, directory, state->target, state->run, suffixes[i]);
        unlink(path.data);
    }
}

#define LOCK_TEXT 64 /* "pid run", or the pid alone */

/* Returns the pid in a lock. Sets *run to the run after it, "" if it pushes all. */
static long pid_in(int lock, char text[LOCK_TEXT], const char **run)
{
    char *end = text;
    ssize_t length = pread(lock, text, LOCK_TEXT - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    long pid = strtol(text, &end, 10);
    *run = *end ? end + 1 : end;
    return pid;
}

bool pt_push_is_on(const char *directory, const struct pt_push_state *state, long *pid)
{
    PT_AUTO_BUFFER path = {0};
    char text[LOCK_TEXT];
    const char *run;
    append_path(&path, directory, state->target, "", LOCK);
    int fd = open(path.data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct flock held = {.l_type = F_WRLCK};
    bool on = fd >= 0 && fcntl(fd, F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK;
    if (on) {
        *pid = pid_in(fd, text, &run);
        on = strcmp(run, state->run ? state->run : "") == 0;
    }
    if (fd >= 0)
        close(fd);
    return on;
}

int pt_push_lock(const char *directory, const char *target, const char *run, long *pid)
{
    PT_AUTO_BUFFER path = {0};
    char text[LOCK_TEXT];
    const char *other;
    *pid = 0;
    append_path(&path, directory, target, "", LOCK);
    int fd = open(path.data, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    struct flock lock = {.l_type = F_WRLCK}; /* --status can ask for it without taking it, unlike flock's */
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        int error = errno;
        *pid = pid_in(fd, text, &other);
        close(fd);
        errno = error;
        return -1;
    }
    int length = snprintf(text, sizeof text, run ? "%ld %s" : "%ld", (long)getpid(), run);
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) != length)
        *pid = 0; /* only a message lacks the pid then */
    return fd;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

uint32_t pt_push_each_state(const char *directory, pt_push_each *each, void *data)
{
    DIR *entries = opendir(directory);
    uint32_t count = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        bool before = ends_in(entry->d_name, SUFFIX BEFORE);
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0 || (!before && !ends_in(entry->d_name, SUFFIX)))
            continue;
        PT_AUTO_BUFFER path = {0}, previous = {0};
        PT_AUTO(pt_push_state_free) struct pt_push_state state = {0};
        pt_buffer_format(&path, "%s/%.*s", directory, (int)(strlen(entry->d_name) - (before ? strlen(BEFORE) : 0)),
                         entry->d_name);
        pt_buffer_format(&previous, "%s" BEFORE, path.data);
        if (before && (access(path.data, F_OK) == 0 || errno != ENOENT))
            continue;
        enum found found = load(&state, path.data);
        /* A pusher is between its two renames, or was killed there. */
        if (found == FOUND_NONE)
            found = load(&state, previous.data);
        if (found == FOUND_NONE)
            continue;
        count++;
        each(data, found == FOUND_GOOD ? &state : NULL, path.data);
    }
    if (entries)
        closedir(entries);
    return count;
}

static void append_lost(struct pt_buffer *text, const struct pt_push_count *count, const char *why)
{
    if (count->windows)
        pt_buffer_format(text, ", %" PRIu64 " window%s (%.2f s CPU) lost: %s", count->windows,
                         pt_plural(count->windows, "s"), pt_seconds(count->cpu_ns), why);
}

void pt_push_state_describe(struct pt_buffer *text, const struct pt_push_state *state)
{
    pt_buffer_text(text, state->target);
    pt_buffer_text(text, ": ");
    if (state->success_unix_ns) {
        pt_buffer_text(text, "last success ");
        pt_buffer_time(text, state->success_unix_ns);
    } else {
        pt_buffer_text(text, "no success yet");
    }
    pt_buffer_format(text, ", %" PRIu64 " window%s (%.2f s CPU) sent", state->sent.windows,
                     pt_plural(state->sent.windows, "s"), pt_seconds(state->sent.cpu_ns));
    append_lost(text, &state->refused, "refused");
    append_lost(text, &state->expired, "too old for the server");
    if (state->removed) {
        pt_buffer_format(text, "; lost: %" PRIu64 " log%s, ", state->removed, pt_plural(state->removed, "s"));
        pt_buffer_size(text, state->removed_bytes);
        pt_buffer_text(text, ", removed before they were sent (PYPROF_MAX_DISK)");
    }
    if (state->error_unix_ns) {
        pt_buffer_text(text, "; last error ");
        pt_buffer_time(text, state->error_unix_ns);
        pt_buffer_format(text, ": %s", state->error);
    }
}
