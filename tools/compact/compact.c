/* SPDX-License-Identifier: Apache-2.0 */
#include "compact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../load/files.h"
#include "../sent/state.h"
#include "compact_segment.h"

#define S_NS       UINT64_C(1000000000)
#define MINUTE_NS  (60 * S_NS)
#define HOUR_NS    (60 * MINUTE_NS)
#define DAY_NS     (24 * HOUR_NS)
#define TEMPORARY  ".compacting" /* after the name of the file: no reader takes it for a profile */
#define MOST_BYTES ((size_t)1 << 30)

struct compactor {
    int directory; /* descriptor, locked */
    const char *path;
    uint64_t now_unix_ns;
    const struct pt_messages *messages;
    struct pt_compacted *compacted;
    char *own_machine;
};

struct unsent {
    const char *name;
    const struct stat *status;
    struct pt_compacted *compacted;
    bool any;
};

static void ask_push(void *data, struct pt_push_state *state, const char *path)
{
    struct unsent *unsent = data;
    if (unsent->any || (state && pt_push_state_has(state, unsent->name, unsent->status, pt_clock_ns(CLOCK_REALTIME))))
        return;
    unsent->any = true;
    if (state && unsent->compacted->unreadable)
        return;
    unsent->compacted->unreadable = !state;
    snprintf(unsent->compacted->state, sizeof unsent->compacted->state, "%s", strrchr(path, '/') + 1);
}

/* Returns whether all servers have the file that pushers have left a state of, however long ago. Of a state that cannot
 * be read none is known to have it. */
static bool is_sent(const struct compactor *of, const char *name, const struct stat *status)
{
    struct unsent unsent = {.name = name, .status = status, .compacted = of->compacted};
    pt_push_each_state(of->path, ask_push, &unsent);
    return !unsent.any;
}

/* Names are PID-NANOSECONDS-RANDOM.pyprof: files with other names are the user's. */
static bool is_log_name(const char *name)
{
    size_t pid = strspn(name, "0123456789"), time = pid && name[pid] == '-' ? strspn(name + pid + 1, "0123456789") : 0;
    const char *random = name + pid + 1 + time;
    return time && *random == '-' && strspn(random + 1, "0123456789abcdef") == 8 &&
           strcmp(random + 9, PP_LOG_SUFFIX) == 0;
}

/* Removes what a compaction that was killed has left. */
static void remove_leftover(const struct compactor *of, const char *name)
{
    char log[256];
    struct stat status;
    size_t length = strlen(name), suffix = strlen(TEMPORARY);
    if (length < suffix || strcmp(name + length - suffix, TEMPORARY) != 0 || length >= sizeof log)
        return;
    snprintf(log, sizeof log, "%.*s", (int)(length - suffix), name);
    if (is_log_name(log) && fstatat(of->directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_uid == geteuid())
        unlinkat(of->directory, name, 0);
}

/* Returns whether nothing more is written to the log: it says so, or its process is gone. */
static bool is_closed(const struct compactor *of, const struct pt_segment *segment)
{
    if (segment->end_reason == PP_END_EXIT || segment->end_reason == PP_END_SEGMENT)
        return true;
    const struct pt_log_process *process = &segment->process;
    PT_AUTO_FREE char *machine = pt_machine(process->boot_id, process->pid_namespace);
    return pt_alive(of->own_machine, machine, process->pid) == PT_ALIVE_NO;
}

/* Returns what intervals of a log become that was written last so long ago; 0: they stay. */
static uint64_t bin_for(uint64_t age_ns)
{
    return age_ns < HOUR_NS ? 0 : age_ns < DAY_NS ? MINUTE_NS : HOUR_NS;
}

static bool write_all(int descriptor, const char *data, size_t length)
{
    while (length) {
        ssize_t written = write(descriptor, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        length -= (size_t)written;
    }
    return true;
}

/* What became of a file: nothing new can be written for any more, or only this one cannot be replaced. */
enum fate { FATE_REPLACED, FATE_CHANGED, FATE_UNSENT, FATE_FAILED, FATE_NO_ROOM };

/* Writes a file and puts it in the place of the old one, unless that has changed: it was removed, or its process goes
 * on; or `pyprof push` has begun meanwhile. */
static enum fate replace(const struct compactor *of, const char *name, const struct stat *old,
                         const struct pt_buffer *bytes)
{
    PT_AUTO_BUFFER temporary = pt_formatted("%s" TEMPORARY, name);
    int descriptor = openat(of->directory, temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const struct timespec times[] = {old->st_atim, old->st_mtim};
    struct stat now;
    bool good = descriptor >= 0 && write_all(descriptor, bytes->data, bytes->length) &&
                (old->st_gid == getegid() || fchown(descriptor, (uid_t)-1, old->st_gid) == 0 || errno == EPERM) &&
                fchmod(descriptor, old->st_mode & 07777) == 0 && futimens(descriptor, times) == 0 &&
                fdatasync(descriptor) == 0;
    int error = errno;
    bool sent = !good || is_sent(of, name, old);
    bool same = good && sent && fstatat(of->directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                now.st_ino == old->st_ino && now.st_size == old->st_size && now.st_mtim.tv_sec == old->st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == old->st_mtim.tv_nsec;
    if (descriptor >= 0)
        close(descriptor);
    if (same && renameat(of->directory, temporary.data, of->directory, name) == 0)
        return FATE_REPLACED;
    error = same ? errno : error;
    if (descriptor >= 0)
        unlinkat(of->directory, temporary.data, 0);
    if (good && !same)
        return sent ? FATE_CHANGED : FATE_UNSENT;
    pt_message_to(of->messages, "%s: cannot be replaced: %s", name, strerror(error));
    return error == ENOSPC || error == EDQUOT || error == EROFS || error == EFBIG ? FATE_NO_ROOM : FATE_FAILED;
}

static char *read_whole(int descriptor, size_t size)
{
    char *data = pt_alloc(size + 1, 1);
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(descriptor, data + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    if (length == size)
        return data;
    free(data);
    return NULL;
}

/* Returns false if going on makes no sense. */
static bool compact_file(const struct compactor *of, const char *name)
{
    struct stat status = {0};
    uint64_t bin_ns = 0;
    int descriptor = openat(of->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return true;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_nlink == 1 && status.st_size > 0 && (uint64_t)status.st_size <= MOST_BYTES) {
        uint64_t written = (uint64_t)status.st_mtim.tv_sec * S_NS + (uint64_t)status.st_mtim.tv_nsec;
        bin_ns = bin_for(of->now_unix_ns > written ? of->now_unix_ns - written : 0);
        of->compacted->seen++;
        of->compacted->recent += !bin_ns;
    }
    size_t size = (size_t)status.st_size, head = size < PT_MOST_PROCESS_BYTES ? size : PT_MOST_PROCESS_BYTES;
    char first[PT_MOST_PROCESS_BYTES];
    PT_AUTO(pt_segment_free) struct pt_segment process = {0};
    /* Of most files that need nothing only the first block is read. */
    bool due = bin_ns && pread(descriptor, first, head, 0) == (ssize_t)head &&
               pt_segment_read_process(first, head, &process) == PT_READ_OK &&
               (!process.has_process || process.process.compacted_ns < bin_ns);
    bool sent = due && is_sent(of, name, &status);
    PT_AUTO_FREE char *data = sent ? read_whole(descriptor, size) : NULL;
    close(descriptor);
    of->compacted->unsent += due && !sent;
    PT_AUTO(pt_segment_free) struct pt_segment segment = {0};
    bool whole = data && pt_segment_read(data, size, NULL, &segment, NULL) == PT_READ_OK;
    bool running = whole && !is_closed(of, &segment);
    of->compacted->running += running;
    if (!whole || running || segment.process.compacted_ns >= bin_ns)
        return true;
    PT_AUTO_BUFFER bytes = {0};
    const char *why;
    if (!pt_compact_segment(data, &segment, bin_ns, &bytes, &why)) {
        of->compacted->left++;
        return true;
    }
    enum fate fate = replace(of, name, &status, &bytes);
    if (fate == FATE_REPLACED) {
        of->compacted->files++;
        of->compacted->before += size;
        of->compacted->after += bytes.length;
    }
    of->compacted->unsent += fate == FATE_UNSENT;
    of->compacted->failed += fate >= FATE_FAILED;
    return fate != FATE_NO_ROOM;
}

bool pt_compact(const char *directory, uint64_t now_unix_ns, const struct pt_messages *messages,
                struct pt_compacted *compacted)
{
    struct compactor of = {.path = directory, .now_unix_ns = now_unix_ns, .messages = messages, .compacted = compacted};
    struct dirent **entries = NULL;
    bool good = true;
    *compacted = (struct pt_compacted){0};
    of.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = of.directory < 0 ? -1 : scandir(directory, &entries, NULL, alphasort);
    if (count < 0)
        pt_message_to(messages, "%s: %s", directory, pt_read_error(errno));
    bool locked = count >= 0 && flock(of.directory, LOCK_EX | LOCK_NB) == 0;
    if (count >= 0 && !locked)
        pt_message_to(messages, "%s: another compaction is at work there: nothing was done", directory);
    of.own_machine = pt_own_machine();
    for (int i = 0; locked && i < count; i++)
        remove_leftover(&of, entries[i]->d_name);
    for (int i = 0; i < count; i++) {
        if (locked && good && is_log_name(entries[i]->d_name))
            good = compact_file(&of, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    free(of.own_machine);
    if (of.directory >= 0)
        close(of.directory);
    return good && locked && !compacted->failed;
}
