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

#define CHECKS        64 /* while as many bytes as the limit are written */
#define SLACK         8
#define BLOCK         4096u /* a file takes whole blocks */
#define NAME_SIZE     64
#define MAX_OLDEST    128 /* removed at most in one scan of the directory */
#define MAX_ROUNDS    64
#define MAX_PROCESSES 512
#define MAX_ENTRIES   (1u << 18) /* a directory with more is not ours alone, and must not keep us busy */

struct candidate {
    uint64_t changed_ns, bytes;
    char name[NAME_SIZE];
};

struct process {
    uint64_t pid, newest_ns; /* when its newest file was made */
};

struct scan {
    int directory;
    uid_t user;
    const char *own_name;
    uint64_t bytes; /* of all profiles of the user */
    unsigned count;
    struct candidate oldest[MAX_OLDEST]; /* in order, the oldest first */
    unsigned processes;                  /* live, with files in the directory */
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

bool pp_disk_is_due(uint64_t bytes, uint64_t limit)
{
    return limit && pp_sys_random() % (limit / CHECKS + 1) < bytes;
}

static bool take_number(const char **at, uint64_t *number)
{
    const char *start = *at;
    for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return *at > start;
}

/* Recognizes PID-NANOSECONDS-8 hex digits.pyprof, as segment.c makes them: renamed files are the user's. */
static bool is_log_name(const char *at, uint64_t *pid, uint64_t *made_ns)
{
    return strlen(at) < NAME_SIZE && take_number(&at, pid) && *at++ == '-' && take_number(&at, made_ns) &&
           *at++ == '-' && strspn(at, "0123456789abcdef") == 8 && strcmp(at + 8, PP_LOG_SUFFIX) == 0;
}

/* Returns NULL when no process has this pid. */
static struct process *find_process(struct scan *scan, uint64_t pid)
{
    for (unsigned i = 0; i < scan->processes; i++)
        if (scan->alive[i].pid == pid)
            return &scan->alive[i];
    return NULL;
}

static void note_process(const char *name, void *argument)
{
    struct scan *scan = argument;
    char path[32];
    struct stat status;
    uint64_t pid, made_ns;
    if (!is_log_name(name, &pid, &made_ns))
        return;
    struct process *process = find_process(scan, pid);
    if (!process && scan->processes < MAX_PROCESSES) {
        if (pp_syscall4(SYS_lstat, (long)pp_format(path, sizeof path, "/proc/%lu", pid), (long)&status, 0, 0) != 0)
            return;
        process = &scan->alive[scan->processes++];
        *process = (struct process){pid, made_ns};
    }
    if (process && process->newest_ns < made_ns)
        process->newest_ns = made_ns;
}

static void add_candidate(struct scan *scan, const struct candidate *candidate)
{
    unsigned at = scan->count;
    while (at > 0 && candidate->changed_ns < scan->oldest[at - 1].changed_ns)
        at--;
    if (at == MAX_OLDEST)
        return;
    unsigned later = (scan->count < MAX_OLDEST ? scan->count : MAX_OLDEST - 1) - at;
    memmove(&scan->oldest[at + 1], &scan->oldest[at], later * sizeof *scan->oldest);
    scan->oldest[at] = *candidate;
    scan->count += scan->count < MAX_OLDEST;
}

static void note_file(const char *name, void *argument)
{
    struct scan *scan = argument;
    struct stat status;
    struct candidate candidate;
    uint64_t pid, made_ns;
    if (!is_log_name(name, &pid, &made_ns) ||
        pp_syscall4(SYS_newfstatat, scan->directory, (long)name, (long)&status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISREG(status.st_mode) || status.st_uid != scan->user)
        return;
    candidate.bytes = ((uint64_t)status.st_size + BLOCK - 1) & ~(uint64_t)(BLOCK - 1);
    candidate.changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    scan->bytes += candidate.bytes;
    strcpy(candidate.name, name);
    const struct process *process = find_process(scan, pid);
    if (strcmp(name, scan->own_name) != 0 && (!process || process->newest_ns != made_ns))
        add_candidate(scan, &candidate);
}

static void scan_directory(struct scan *scan, void (*each)(const char *name, void *argument))
{
    scan->bytes = scan->count = 0;
    pp_syscall4(SYS_lseek, scan->directory, 0, 0, 0);
    pp_each_entry(scan->directory, MAX_ENTRIES, each, scan);
}

struct pp_disk_removed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit)
{
    static struct scan scan;
    struct pp_disk_removed removed = {0, 0};
    int there = pp_directory_open(directory, false);
    scan.directory = there < 0 ? there : pp_sys_openat(there, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (there >= 0)
        pp_sys_close(there);
    if (scan.directory < 0)
        return removed;
    scan.user = (uid_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
    scan.own_name = own_name;
    scan.processes = 0;
    scan_directory(&scan, note_process);
    scan_directory(&scan, note_file);
    uint64_t target = scan.bytes > limit ? limit - limit / SLACK : UINT64_MAX;
    for (unsigned round = 0; round < MAX_ROUNDS && scan.bytes > target && scan.count; round++) {
        bool stuck = true; /* files that cannot be removed would come up again each round */
        for (unsigned i = 0; i < scan.count && scan.bytes > target; i++) {
            const struct candidate *candidate = &scan.oldest[i];
            long result = pp_syscall4(SYS_unlinkat, scan.directory, (long)candidate->name, 0, 0);
            if (result == 0) {
                removed.files++;
                removed.bytes += candidate->bytes;
            }
            /* ENOENT: another process has removed it */
            stuck = stuck && result != 0 && result != -ENOENT;
            scan.bytes -= candidate->bytes;
        }
        if (stuck)
            break;
        if (scan.bytes > target)
            scan_directory(&scan, note_file);
    }
    pp_sys_close(scan.directory);
    return removed;
}
