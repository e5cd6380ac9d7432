/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "directory.h"
#include "disk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CANNOT_WRITE   "cannot write profile to %s: %s"
#define FILE_MODE      0600
#define NAME_ATTEMPTS  4
#define RETRY_FIRST_NS 1000000000u
#define RETRY_MAX_NS   60000000000u

void pp_segment_begin(struct pp_segment *segment, struct pp_buffer *out)
{
    struct pp_log_file_header header = {PP_LOG_MAGIC, PP_LOG_VERSION, PP_LOG_BYTE_ORDER};
    if (!segment->instance[0])
        pp_format(segment->instance, sizeof segment->instance, "%016lx%016lx", pp_sys_random(), pp_sys_random());
    if (!segment->directory[0])
        strcpy(segment->directory, pp_config.out);
    segment->path[0] = 0;
    segment->sequence = 0;
    segment->whole_bytes = 0;
    pp_put_bytes(out, &header, sizeof header);
    pp_segment_put_process(segment, out);
    segment->number++;
}

static uint32_t effective_user(void)
{
    return (uint32_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
}

static int create_file(struct pp_segment *segment)
{
    int directory = pp_directory_open(segment->directory, true), fd = directory < 0 ? directory : -EEXIST;
    for (int attempt = 0; fd == -EEXIST && attempt < NAME_ATTEMPTS; attempt++) {
        pp_format(segment->path, sizeof segment->path, "%s/%u-%lu-%08x" PP_LOG_SUFFIX, segment->directory,
                  (unsigned)pp_sys_getpid(), pp_sys_clock_ns(CLOCK_REALTIME), (uint32_t)pp_sys_random());
        const char *name = segment->path + strlen(segment->directory) + 1;
        fd = pp_sys_openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    }
    if (directory >= 0)
        pp_sys_close(directory);
    struct stat status = {0};
    if (fd < 0)
        segment->path[0] = 0;
    else
        pp_syscall4(SYS_fstat, fd, (long)&status, 0, 0);
    segment->device = status.st_dev;
    segment->inode = status.st_ino;
    segment->user = effective_user();
    return fd;
}

static const char *error_text(long error)
{
    switch (-error) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
        return "no such directory";
    case ENOTDIR:
        return "not a directory";
    case EROFS:
        return "read-only file system";
    case ENOSPC:
        return "no space left";
    case EDQUOT:
        return "disk quota exceeded";
    case EFBIG:
        return "file size limit reached";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case ENAMETOOLONG:
        return "name too long";
    case PP_DIRECTORY_OF_ANOTHER:
        return "a link or directory of another user is in the way";
    case PP_DIRECTORY_OTHER_ROOT:
        return "the program has changed its root directory";
    default:
        return "write failed";
    }
}

/* Returns the directory to use when PYPROF_OUT is not usable: $TMPDIR/pyprof-<uid>, /tmp without TMPDIR. */
static void fallback_directory(char *out, size_t size)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || *temporary != '/' || strlen(temporary) > PP_PATH_MAX - 64)
        temporary = "/tmp";
    pp_format(out, size, "%s/pyprof-%u", temporary, (unsigned)pp_syscall4(SYS_getuid, 0, 0, 0, 0));
}

static int open_file(struct pp_segment *segment)
{
    if (segment->path[0])
        return pp_sys_open(segment->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    int fd = create_file(segment);
    if (fd >= 0)
        return fd;
    char fallback[PP_PATH_MAX];
    fallback_directory(fallback, sizeof fallback);
    if (strcmp(fallback, segment->directory) == 0)
        return fd;
    char wanted[PP_PATH_MAX];
    strcpy(wanted, segment->directory);
    strcpy(segment->directory, fallback);
    int other = create_file(segment);
    if (other >= 0) {
        pp_warn_once(PP_CAUSE_OUTPUT, CANNOT_WRITE "; writing to %s", wanted, error_text(fd), fallback);
        return other;
    }
    strcpy(segment->directory, wanted);
    return fd;
}

static bool is_as_left(const struct pp_segment *segment, const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_dev == segment->device && status->st_ino == segment->inode &&
           (uint64_t)status->st_size == segment->whole_bytes;
}

bool pp_segment_is_intact(const struct pp_segment *segment)
{
    struct stat status;
    uint32_t user = effective_user();
    return (user == 0 || user == segment->user) && pp_sys_stat(segment->path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_as_left(segment, &status);
}

/* Whether the result of opening the file says that it was removed or changed, and not that resources lack. */
static bool is_gone(const struct pp_segment *segment, int fd)
{
    struct stat status;
    if (fd < 0)
        return fd != -EMFILE && fd != -ENFILE && fd != -ENOMEM && fd != -EROFS;
    return pp_syscall4(SYS_fstat, fd, (long)&status, 0, 0) != 0 || !is_as_left(segment, &status);
}

/* Takes back what a failed write has left: half a block is of no use, and a full disk must not get empty files. */
static void undo(struct pp_segment *segment, int fd)
{
    if (fd >= 0 && segment->whole_bytes)
        pp_syscall4(SYS_ftruncate, fd, (long)segment->whole_bytes, 0, 0);
    else if (fd >= 0)
        pp_syscall4(SYS_unlinkat, AT_FDCWD, (long)segment->path, 0, 0);
}

static void put_off(struct pp_segment *segment, uint64_t now)
{
    uint64_t after = segment->retry_after_ns ? 2 * segment->retry_after_ns : RETRY_FIRST_NS;
    segment->retry_after_ns = after < RETRY_MAX_NS ? after : RETRY_MAX_NS;
    segment->retry_at_ns = now + segment->retry_after_ns;
}

/* Writes everything: after a short write the next returns the error. Returns the length or -errno. */
static long write_all(int fd, const struct pp_buffer *bytes)
{
    size_t written = 0;
    while (written < bytes->length) {
        long result = pp_sys_write(fd, bytes->data + written, bytes->length - written);
        if (result <= 0)
            return result ? result : -ENOSPC;
        written += (size_t)result;
    }
    return (long)written;
}

bool pp_segment_append(struct pp_segment *segment, const struct pp_buffer *bytes, bool last)
{
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    segment->open = false;
    if (!last && now < segment->retry_at_ns)
        return false;
    bool begun = segment->path[0];
    int fd = open_file(segment);
    if (begun && is_gone(segment, fd)) {
        if (fd >= 0)
            pp_sys_close(fd);
        return false;
    }
    long result = fd;
    if (fd >= 0) {
        result = last || pp_disk_has_room(fd) ? write_all(fd, bytes) : -ENOSPC;
        segment->open = result == (long)bytes->length;
        if (!segment->open)
            undo(segment, fd);
        pp_sys_close(fd);
    }
    if (segment->open) {
        segment->bytes += bytes->length;
        segment->whole_bytes += bytes->length;
        segment->retry_at_ns = segment->retry_after_ns = 0;
        return true;
    }
    put_off(segment, now);
    pp_warn_once(PP_CAUSE_OUTPUT, CANNOT_WRITE "; %s", segment->directory, error_text(result),
                 result == -PP_DIRECTORY_OTHER_ROOT ? "what comes after this is in no profile"
                                                    : "what is not written counts as lost");
    return false;
}

void pp_segment_after_fork(struct pp_segment *segment)
{
    char parent[PP_INSTANCE_LENGTH + 1];
    memcpy(parent, segment->instance, sizeof parent);
    memset(segment, 0, sizeof *segment);
    memcpy(segment->parent_instance, parent, sizeof parent);
}
