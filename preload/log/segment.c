#include "segment.h"
#include "../base/message.h"
#include "../base/proc_file.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../threads/registry.h"
#include "../threads/timers.h"
#include "directory.h"
#include "disk.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define CANNOT_WRITE     "cannot write profile to %s: %s"
#define COMMAND_LINE_MAX 16384
#define OWN_PATH_MAX     64
#define PADDING_LEAST    3 /* NULs behind a title in the place of the arguments, and not arguments that are empty */
#define TITLE_NS         10000000000u
#define FNV_BASIS        0xcbf29ce484222325u /* FNV-1a, 64 bits */
#define FNV_PRIME        0x100000001b3u
#define FILE_MODE        0600
#define NAME_ATTEMPTS    4
#define CPU_MASK_WORDS   128 /* 8,192 processors: the kernel's most */
#define RETRY_FIRST_NS   1000000000u
#define RETRY_MAX_NS     60000000000u

static void new_instance(char instance[PP_INSTANCE_LENGTH + 1])
{
    pp_format(instance, PP_INSTANCE_LENGTH + 1, "%016lx%016lx", pp_sys_random(), pp_sys_random());
}

static void put_text_field(struct pp_buffer *out, unsigned key, const char *text)
{
    pp_put_field(out, key, text, strlen(text));
}

static uint32_t count_pythons(void)
{
    uint32_t count = 0;
    while (pp_python_at(count))
        count++;
    return count;
}

/* Of the interpreters that are read, each version once; where there is none, of one that cannot be read. */
static void put_python_versions(struct pp_segment *segment, struct pp_buffer *fields)
{
    char versions[PP_MAX_PYTHONS * (sizeof pp_process.python_version + 2)];
    struct pp_text text;
    pp_text_init(&text, versions, sizeof versions);
    segment->pythons = count_pythons();
    for (uint32_t i = 0; i < segment->pythons; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again |= strcmp(pp_python_at(i)->version, pp_python_at(j)->version) == 0;
        if (again)
            continue;
        pp_text_add(&text, i ? ", " : "");
        pp_text_add(&text, pp_python_at(i)->version);
    }
    if (!segment->pythons)
        pp_text_add(&text, pp_process.python_version);
    if (versions[0])
        put_text_field(fields, PP_PROCESS_PYTHON_VERSION, versions);
}

/* 0 if unknown. */
static unsigned count_cpus(void)
{
    uint64_t mask[CPU_MASK_WORDS];
    long bytes = pp_syscall4(SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0);
    unsigned count = 0;
    for (long i = 0; i < bytes / (long)sizeof *mask; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    return count;
}

static void put_period(struct pp_segment *segment, struct pp_buffer *fields)
{
    segment->period_ns = pp_timers_period_ns();
    pp_put_number_field(fields, PP_PROCESS_PERIOD_NS, segment->period_ns);
}

/* Of a process whose main thread has ended, the files of another thread tell what its own no longer do. */
static const char *own_path(const char *leaf, char *buffer, size_t size)
{
    return pp_format(buffer, size, "/proc/%s/%s", atomic_load(&pp_process.main_ended) ? "thread-self" : "self", leaf);
}

/* Returns whether it is another one than the segment names. */
static bool read_command_line(struct pp_segment *segment, char buffer[COMMAND_LINE_MAX], size_t *length)
{
    char path[OWN_PATH_MAX];
    *length = pp_read_file(own_path("cmdline", path, sizeof path), buffer, COMMAND_LINE_MAX);
    size_t end = *length;
    while (end && !buffer[end - 1])
        end--;
    if (*length - end >= PADDING_LEAST)
        *length = end + 1;
    uint64_t sum = FNV_BASIS;
    for (size_t i = 0; i < *length; i++)
        sum = (sum ^ (uint8_t)buffer[i]) * FNV_PRIME;
    bool differs = sum != segment->command_line_sum;
    segment->command_line_sum = sum;
    return differs;
}

static void put_process(struct pp_segment *segment, struct pp_buffer *fields)
{
    static char buffer[COMMAND_LINE_MAX];
    char path[OWN_PATH_MAX];
    struct utsname host;
    put_text_field(fields, PP_PROCESS_RUN, pp_config.run);
    put_text_field(fields, PP_PROCESS_INSTANCE, segment->instance);
    if (segment->parent_instance[0])
        put_text_field(fields, PP_PROCESS_PARENT_INSTANCE, segment->parent_instance);
    pp_put_number_field(fields, PP_PROCESS_SEGMENT, segment->number);
    pp_put_number_field(fields, PP_PROCESS_PID, (uint64_t)pp_sys_getpid());
    pp_put_number_field(fields, PP_PROCESS_PPID, (uint64_t)pp_syscall4(SYS_getppid, 0, 0, 0, 0));
    pp_put_number_field(fields, PP_PROCESS_UID, (uint64_t)pp_syscall4(SYS_getuid, 0, 0, 0, 0));
    if (pp_syscall4(SYS_uname, (long)&host, 0, 0, 0) == 0)
        put_text_field(fields, PP_PROCESS_HOST, host.nodename);
    size_t length = pp_read_file("/proc/sys/kernel/random/boot_id", buffer, 36);
    pp_put_field(fields, PP_PROCESS_BOOT_ID, buffer, length);
    read_command_line(segment, buffer, &length);
    pp_put_field(fields, PP_PROCESS_COMMAND_LINE, buffer, length);
    long n = pp_syscall4(SYS_readlink, (long)own_path("exe", path, sizeof path), (long)buffer, sizeof buffer, 0);
    pp_put_field(fields, PP_PROCESS_EXECUTABLE, buffer, n > 0 ? (size_t)n : 0);
    n = pp_syscall4(SYS_getcwd, (long)buffer, sizeof buffer, 0, 0);
    pp_put_field(fields, PP_PROCESS_CWD, buffer, n > 0 ? (size_t)n - 1 : 0);
    put_python_versions(segment, fields);
    put_text_field(fields, PP_PROCESS_LIBRARY_VERSION, PYPROF_VERSION);
    if (atomic_load(&pp_capture.libunwind))
        put_text_field(fields, PP_PROCESS_UNWINDER, "libunwind");
    pp_put_number_field(fields, PP_PROCESS_START_UNIX_NS, pp_process.start.unix_ns);
    put_period(segment, fields);
    pp_put_number_field(fields, PP_PROCESS_TICK_NS, pp_sys_tick_ns());
    pp_put_number_field(fields, PP_PROCESS_CPUS, count_cpus());
}

void pp_segment_begin(struct pp_segment *segment, struct pp_buffer *out)
{
    static struct pp_buffer fields;
    struct pp_log_file_header header = {PP_LOG_MAGIC, PP_LOG_VERSION, PP_LOG_BYTE_ORDER};
    if (!segment->instance[0])
        new_instance(segment->instance);
    if (!segment->directory[0])
        strcpy(segment->directory, pp_config.out);
    segment->path[0] = 0;
    segment->sequence = 0;
    segment->whole_bytes = 0;
    pp_put_bytes(out, &header, sizeof header);
    pp_buffer_clear(&fields);
    put_process(segment, &fields);
    pp_put_block(out, PP_BLOCK_PROCESS, &fields, &segment->sequence);
    segment->number++;
}

/* Workers of servers give themselves a title when they have begun. Some say in it what they are at, ever again. */
static void renew_title(struct pp_segment *segment, struct pp_buffer *fields)
{
    static char buffer[COMMAND_LINE_MAX];
    size_t length;
    if (pp_sys_clock_ns(CLOCK_MONOTONIC) - pp_process.start.monotonic_ns < TITLE_NS &&
        read_command_line(segment, buffer, &length) && length)
        pp_put_field(fields, PP_PROCESS_COMMAND_LINE, buffer, length);
}

void pp_segment_renew(struct pp_segment *segment, struct pp_buffer *out)
{
    static struct pp_buffer fields;
    pp_buffer_clear(&fields);
    renew_title(segment, &fields);
    if (count_pythons() != segment->pythons)
        put_python_versions(segment, &fields);
    if (pp_timers_period_ns() != segment->period_ns)
        put_period(segment, &fields);
    if (fields.length)
        pp_put_block(out, PP_BLOCK_PROCESS, &fields, &segment->sequence);
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

/* Where files go when PYPROF_OUT cannot be used: $TMPDIR/pyprof-<uid>, /tmp without TMPDIR. */
static void fallback_directory(char *out, size_t size)
{
    extern char **environ;
    const char *temporary = "/tmp";
    for (char **variable = environ; variable && *variable; variable++)
        if (strncmp(*variable, "TMPDIR=/", 8) == 0 && strlen(*variable) < PP_PATH_MAX - 64)
            temporary = *variable + 7;
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

bool pp_segment_stands(const struct pp_segment *segment)
{
    struct stat status;
    uint32_t user = effective_user();
    return (user == 0 || user == segment->user) &&
           pp_syscall4(SYS_lstat, (long)segment->path, (long)&status, 0, 0) == 0 && is_as_left(segment, &status);
}

/* What open said of a file that was there: it is not for want of anything that opening it failed. */
static bool is_gone(const struct pp_segment *segment, int fd)
{
    struct stat status;
    if (fd < 0)
        return fd != -EMFILE && fd != -ENFILE && fd != -ENOMEM && fd != -EROFS;
    return pp_syscall4(SYS_fstat, fd, (long)&status, 0, 0) != 0 || !is_as_left(segment, &status);
}

/* Takes back what a failed write has left: a file cut in the middle of a block helps nobody, and a full disk is not to
 * be filled with empty files. */
static void undo(struct pp_segment *segment, int fd)
{
    if (fd >= 0 && segment->whole_bytes)
        pp_syscall4(SYS_ftruncate, fd, (long)segment->whole_bytes, 0, 0);
    else if (fd >= 0)
        pp_syscall4(SYS_unlink, (long)segment->path, 0, 0, 0);
}

static void put_off(struct pp_segment *segment, uint64_t now)
{
    uint64_t after = segment->retry_after_ns ? 2 * segment->retry_after_ns : RETRY_FIRST_NS;
    segment->retry_after_ns = after < RETRY_MAX_NS ? after : RETRY_MAX_NS;
    segment->retry_at_ns = now + segment->retry_after_ns;
}

/* What did not fit into one write says why in the next. Returns the length or -errno. */
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

bool pp_segment_append(struct pp_segment *segment, const struct pp_buffer *bytes)
{
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    segment->open = false;
    if (now < segment->retry_at_ns)
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
        result = pp_disk_has_room(fd) ? write_all(fd, bytes) : -ENOSPC;
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
