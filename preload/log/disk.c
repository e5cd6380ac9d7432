/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "../common/settings.h"
#include "directory.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define NS            1000000000u
#define CHECKS        64                  /* while as many bytes as the limit are written */
#define FILE_SHARE    16                  /* a file is at most this part of the limit, ... */
#define WRITERS_SHARE 2                   /* ... all that are being written this one, ... */
#define LEAST_SHARE   1024                /* ... but each may have this one, or it would be definitions only */
#define WRITER_NS     (60 * (uint64_t)NS) /* a process that uses CPU time writes more often than this */
#define SLACK         8
#define BLOCK         4096u /* a file takes whole blocks */
#define NAME_SIZE     64
#define MAX_FILES     (1u << 15) /* each counts as this part of the limit at least, so that there are no more */
#define MAX_OLDEST    (1u << 13) /* removed at most in one scan of the directory */
#define MAX_PROCESSES 512
#define MAX_ENTRIES   (1u << 18) /* a directory with more is not ours alone, and must not keep us busy */

/* Names are PID-NANOSECONDS-8 hex digits.pyprof, as segment.c makes them: renamed files are the user's. */
struct file {
    uint64_t made_ns, written_ns; /* not before it was made; equal to made_ns where it was not measured */
    uint32_t pid, random;
    uint32_t blocks; /* 0: it was not measured */
};

struct process {
    uint32_t pid;
    uint64_t newest_ns; /* when its newest file was made */
};

struct scan {
    int directory;
    uid_t user;
    uint64_t limit, now_ns;
    uint64_t bytes;    /* of all profiles of the user */
    unsigned writers;  /* files that were written lately */
    unsigned measured; /* so many of them */
    unsigned count;
    struct file oldest[MAX_OLDEST]; /* by when they were written last: a heap, the newest of them first */
    unsigned processes;             /* live ones that have made some of these */
    struct process alive[MAX_PROCESSES];
};

bool pp_disk_has_room(int fd)
{
    struct statfs space;
    if (pp_syscall4(SYS_fstatfs, fd, (long)&space, 0, 0) != 0 || !space.f_bsize)
        return true;
    uint64_t size = (uint64_t)space.f_bsize;
    return !pp_disk_is_full(space.f_bavail * size, space.f_blocks * size);
}

uint64_t pp_disk_file_limit(uint64_t limit, unsigned writers)
{
    uint64_t shares = (uint64_t)writers * WRITERS_SHARE;
    shares = shares < FILE_SHARE ? FILE_SHARE : shares;
    return limit / (shares > LEAST_SHARE ? LEAST_SHARE : shares);
}

static bool has_doubled(uint64_t before, uint64_t size, uint64_t least)
{
    uint64_t step = least;
    while (step <= before)
        step *= 2;
    return size >= step;
}

bool pp_disk_is_due(uint64_t bytes, uint64_t size, uint64_t limit)
{
    if (!limit)
        return false;
    return pp_sys_random() % (limit / CHECKS + 1) < bytes || has_doubled(size - bytes, size, limit / LEAST_SHARE);
}

static bool parse_number(const char **at, uint64_t *number)
{
    const char *start = *at;
    for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return *at > start;
}

static bool parse_random(const char *at, uint32_t *random)
{
    static const char digits[] = "0123456789abcdef";
    *random = 0;
    for (unsigned i = 0; i < 8; i++) {
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit)
            return false;
        *random = *random << 4 | (uint32_t)(digit - digits);
    }
    return strcmp(at + 8, PP_LOG_SUFFIX) == 0;
}

static bool is_log_name(const char *at, struct file *file)
{
    uint64_t pid;
    if (strlen(at) >= NAME_SIZE || !parse_number(&at, &pid) || pid > UINT32_MAX || *at++ != '-' ||
        !parse_number(&at, &file->made_ns) || *at++ != '-')
        return false;
    file->pid = (uint32_t)pid;
    file->written_ns = file->made_ns;
    return parse_random(at, &file->random);
}

static const char *name_of(const struct file *file, char *name)
{
    return pp_format(name, NAME_SIZE, "%u-%lu-%08x" PP_LOG_SUFFIX, file->pid, file->made_ns, file->random);
}

/* Finds how many blocks a file takes and when it was written last; false if it is no regular file of the user's. */
static bool measure(struct scan *scan, const char *name, struct file *file)
{
    struct stat status;
    scan->measured++;
    if (pp_syscall4(SYS_newfstatat, scan->directory, (long)name, (long)&status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != scan->user)
        return false;
    uint64_t blocks = ((uint64_t)status.st_size + BLOCK - 1) / BLOCK;
    file->blocks = !blocks ? 1 : blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    uint64_t written_ns = (uint64_t)status.st_mtim.tv_sec * NS + (uint64_t)status.st_mtim.tv_nsec;
    file->written_ns = written_ns > file->made_ns ? written_ns : file->made_ns;
    return true;
}

/* Returns how many bytes of the limit a file counts for. */
static uint64_t counted(const struct scan *scan, const struct file *file)
{
    uint64_t bytes = file->blocks * (uint64_t)BLOCK, least = scan->limit / MAX_FILES;
    return bytes > least ? bytes : least;
}

/* Lets the first of `count` files in the heap sink to where it belongs. */
static void sink(struct file *heap, unsigned count)
{
    unsigned at = 0, child;
    while ((child = 2 * at + 1) < count) {
        child += child + 1 < count && heap[child + 1].written_ns > heap[child].written_ns;
        if (heap[at].written_ns >= heap[child].written_ns)
            return;
        struct file moved = heap[at];
        heap[at] = heap[child];
        heap[at = child] = moved;
    }
}

static void add_file(struct scan *scan, const struct file *file)
{
    struct file *heap = scan->oldest;
    if (scan->count == MAX_OLDEST) {
        if (file->written_ns >= heap->written_ns)
            return;
        *heap = *file;
        sink(heap, MAX_OLDEST);
        return;
    }
    unsigned at = scan->count++;
    for (; at > 0 && heap[(at - 1) / 2].written_ns < file->written_ns; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *file;
}

/* Adds a file to the sum. Once there are too many files, how large the others are does not matter. */
static void note_file(const char *name, void *argument)
{
    struct scan *scan = argument;
    struct file file = {.blocks = 0};
    bool enough = scan->measured >= MAX_FILES && scan->bytes > scan->limit;
    if (!is_log_name(name, &file) || (!enough && !measure(scan, name, &file)))
        return;
    scan->bytes += counted(scan, &file);
    scan->writers += file.blocks && file.written_ns + WRITER_NS > scan->now_ns;
    add_file(scan, &file);
}

/* Returns NULL when no process is known by this pid. */
static struct process *find_process(struct scan *scan, uint32_t pid)
{
    for (unsigned i = 0; i < scan->processes; i++)
        if (scan->alive[i].pid == pid)
            return &scan->alive[i];
    return NULL;
}

static void note_process(const char *name, void *argument)
{
    struct file file;
    struct process *process = is_log_name(name, &file) ? find_process(argument, file.pid) : NULL;
    if (process && process->newest_ns < file.made_ns)
        process->newest_ns = file.made_ns;
}

static bool is_alive(uint32_t pid)
{
    char path[32];
    struct stat status;
    return pp_sys_stat(pp_format(path, sizeof path, "/proc/%u", pid), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void scan_directory(struct scan *scan, void (*each)(const char *name, void *argument))
{
    pp_syscall4(SYS_lseek, scan->directory, 0, 0, 0);
    pp_each_entry(scan->directory, MAX_ENTRIES, each, scan);
}

/* Finds the live processes among those that have made the oldest files, and when each has made its newest. */
static void find_processes(struct scan *scan)
{
    scan->processes = 0;
    for (unsigned i = 0; i < scan->count; i++)
        if (!find_process(scan, scan->oldest[i].pid) && is_alive(scan->oldest[i].pid)) {
            if (scan->processes == MAX_PROCESSES)
                break;
            scan->alive[scan->processes++] = (struct process){scan->oldest[i].pid, 0};
        }
    if (scan->processes)
        scan_directory(scan, note_process);
}

/* Puts the oldest first. */
static void sort(struct scan *scan)
{
    for (unsigned left = scan->count; left > 1; left--) {
        struct file newest = scan->oldest[0];
        scan->oldest[0] = scan->oldest[left - 1];
        scan->oldest[left - 1] = newest;
        sink(scan->oldest, left - 1);
    }
}

static void remove_oldest(struct scan *scan, const char *own_name, struct pp_disk_trimmed *removed)
{
    char name[NAME_SIZE];
    uint64_t target = scan->limit - scan->limit / SLACK;
    uint64_t newest_ns = scan->oldest[0].written_ns;
    find_processes(scan);
    sort(scan);
    for (unsigned i = 0; i < scan->count && scan->bytes > target; i++) {
        struct file *file = &scan->oldest[i];
        const struct process *process = find_process(scan, file->pid);
        if (strcmp(name_of(file, name), own_name) == 0 || (process && process->newest_ns == file->made_ns))
            continue;
        uint64_t part = counted(scan, file);
        if (!file->blocks && (!measure(scan, name, file) || file->written_ns > newest_ns))
            continue;
        long result = pp_syscall4(SYS_unlinkat, scan->directory, (long)name, 0, 0);
        if (result == 0) {
            removed->files++;
            removed->bytes += file->blocks * (uint64_t)BLOCK;
        }
        if (result == 0 || result == -ENOENT) /* another process has removed it */
            scan->bytes -= part;
    }
}

struct pp_disk_trimmed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit)
{
    static struct scan scan;
    struct pp_disk_trimmed removed = {0, 0, 0};
    int there = pp_directory_open(directory, false);
    scan.directory = there < 0 ? there : pp_sys_openat(there, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (there >= 0)
        pp_sys_close(there);
    if (scan.directory < 0)
        return removed;
    scan.user = (uid_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
    scan.limit = limit;
    scan.now_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    scan.bytes = scan.count = scan.measured = scan.writers = 0;
    scan_directory(&scan, note_file);
    removed.writers = scan.writers;
    if (scan.bytes > limit)
        remove_oldest(&scan, own_name, &removed);
    pp_sys_close(scan.directory);
    return removed;
}
