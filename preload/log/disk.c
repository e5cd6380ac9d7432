#include "disk.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "../common/settings.h"
#include "directory.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define LOOKS          64 /* while as much is written as the limit allows */
#define SLACK          8
#define BLOCK          4096u /* a file takes whole ones */
#define NAME_SIZE      64
#define OLDEST         128 /* removed at most in one go through the directory */
#define MOST_GOES      64
#define MOST_PROCESSES 512
#define MOST_ENTRIES   (1u << 18) /* a directory with more is not ours alone; it is not to keep us busy */
#define LISTING_SIZE   32768

struct candidate {
    uint64_t changed_ns, bytes;
    char name[NAME_SIZE];
};

struct process {
    uint64_t pid, newest_ns; /* when its newest file was made */
};

struct look {
    int directory;
    uid_t user;
    const char *own_name;
    uint64_t bytes;   /* of all profiles of the user */
    unsigned entries; /* of the directory */
    unsigned count;
    struct candidate oldest[OLDEST]; /* in order, the oldest first */
    unsigned processes;              /* that are there and have files in the directory */
    struct process alive[MOST_PROCESSES];
};

/* Of getdents64. */
struct entry {
    uint64_t inode, offset;
    uint16_t length;
    uint8_t type;
    char name[];
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
    return limit && pp_sys_random() % (limit / LOOKS + 1) < bytes;
}

static bool take_number(const char **at, uint64_t *number)
{
    const char *start = *at;
    for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return *at > start;
}

/* PID-NANOSECONDS-8 hex digits.pyprof, as segment.c makes them: what people named otherwise is theirs. */
static bool is_log_name(const char *at, uint64_t *pid, uint64_t *made_ns)
{
    return strlen(at) < NAME_SIZE && take_number(&at, pid) && *at++ == '-' && take_number(&at, made_ns) &&
           *at++ == '-' && strspn(at, "0123456789abcdef") == 8 && strcmp(at + 8, PP_LOG_SUFFIX) == 0;
}

/* NULL when no process of this pid is there. */
static struct process *find_process(struct look *look, uint64_t pid)
{
    for (unsigned i = 0; i < look->processes; i++)
        if (look->alive[i].pid == pid)
            return &look->alive[i];
    return NULL;
}

static void look_for_process(struct look *look, const char *name)
{
    char path[32];
    struct stat status;
    uint64_t pid, made_ns;
    if (!is_log_name(name, &pid, &made_ns))
        return;
    struct process *process = find_process(look, pid);
    if (!process && look->processes < MOST_PROCESSES) {
        if (pp_syscall4(SYS_lstat, (long)pp_format(path, sizeof path, "/proc/%lu", pid), (long)&status, 0, 0) != 0)
            return;
        process = &look->alive[look->processes++];
        *process = (struct process){pid, made_ns};
    }
    if (process && process->newest_ns < made_ns)
        process->newest_ns = made_ns;
}

static void add_candidate(struct look *look, const struct candidate *candidate)
{
    unsigned at = look->count;
    while (at > 0 && candidate->changed_ns < look->oldest[at - 1].changed_ns)
        at--;
    if (at == OLDEST)
        return;
    unsigned behind = (look->count < OLDEST ? look->count : OLDEST - 1) - at;
    memmove(&look->oldest[at + 1], &look->oldest[at], behind * sizeof *look->oldest);
    look->oldest[at] = *candidate;
    look->count += look->count < OLDEST;
}

static void look_at(struct look *look, const char *name)
{
    struct stat status;
    struct candidate candidate;
    uint64_t pid, made_ns;
    if (!is_log_name(name, &pid, &made_ns) ||
        pp_syscall4(SYS_newfstatat, look->directory, (long)name, (long)&status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISREG(status.st_mode) || status.st_uid != look->user)
        return;
    candidate.bytes = ((uint64_t)status.st_size + BLOCK - 1) & ~(uint64_t)(BLOCK - 1);
    candidate.changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    look->bytes += candidate.bytes;
    strcpy(candidate.name, name);
    const struct process *process = find_process(look, pid);
    if (strcmp(name, look->own_name) != 0 && (!process || process->newest_ns != made_ns))
        add_candidate(look, &candidate);
}

static void look_around(struct look *look, void (*each)(struct look *look, const char *name))
{
    static _Alignas(8) char listing[LISTING_SIZE];
    long length;
    look->bytes = look->count = look->entries = 0;
    pp_syscall4(SYS_lseek, look->directory, 0, 0, 0);
    while (look->entries < MOST_ENTRIES &&
           (length = pp_syscall4(SYS_getdents64, look->directory, (long)listing, sizeof listing, 0)) > 0)
        for (long at = 0; at < length; look->entries++) {
            const struct entry *entry = (const struct entry *)(listing + at);
            each(look, entry->name);
            at += entry->length;
        }
}

struct pp_disk_removed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit)
{
    static struct look look;
    struct pp_disk_removed removed = {0, 0};
    int there = pp_directory_open(directory, false);
    look.directory = there < 0 ? there : pp_sys_openat(there, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (there >= 0)
        pp_sys_close(there);
    if (look.directory < 0)
        return removed;
    look.user = (uid_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
    look.own_name = own_name;
    look.processes = 0;
    look_around(&look, look_for_process);
    look_around(&look, look_at);
    uint64_t least = look.bytes > limit ? limit - limit / SLACK : UINT64_MAX;
    for (unsigned go = 0; go < MOST_GOES && look.bytes > least && look.count; go++) {
        bool stuck = true; /* what may not be removed would be met again and again */
        for (unsigned i = 0; i < look.count && look.bytes > least; i++) {
            const struct candidate *candidate = &look.oldest[i];
            long result = pp_syscall4(SYS_unlinkat, look.directory, (long)candidate->name, 0, 0);
            if (result == 0) {
                removed.files++;
                removed.bytes += candidate->bytes;
            }
            /* or another process has been here first */
            stuck = stuck && result != 0 && result != -ENOENT;
            look.bytes -= candidate->bytes;
        }
        if (stuck)
            break;
        if (look.bytes > least)
            look_around(&look, look_at);
    }
    pp_sys_close(look.directory);
    return removed;
}
