/* PYPROF_MAX_DISK: which profiles are removed, and which never. */
#include "preload/log/disk.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#define KIB    1024u
#define NO_PID (1u << 22) /* from here on there are none */

void before_each(void)
{
    scratch_make();
}

/* The file was written last when its name says that it was made, `later` seconds after that. */
static void put_written(const char *name, off_t size, long later)
{
    uint64_t made_ns = 0;
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    if (sscanf(name, "%*u-%lu-", &made_ns) == 1) {
        struct timespec written = {(time_t)(made_ns / 1000000000) + later, (long)(made_ns % 1000000000)};
        assert_int_equal(futimens(fd, (struct timespec[]){written, written}), 0);
    }
    close(fd);
}

static void put_file(const char *name, off_t size)
{
    put_written(name, size, 0);
}

/* The smaller the number, the older the file. */
static const char *log_name(unsigned number)
{
    static char name[64];
    snprintf(name, sizeof name, "%u-%lu-%08x.pyprof", NO_PID + number % 1000, 1700000000000000000 + (uint64_t)number,
             number);
    return name;
}

TEST(the_oldest_go_first)
{
    for (unsigned i = 0; i < 10; i++)
        put_file(log_name(i), 100 * KIB);
    struct pp_disk_trimmed removed = pp_disk_trim(scratch_path, "none", 1100 * KIB);
    assert_int_equal(removed.files, 0);
    removed = pp_disk_trim(scratch_path, "none", 800 * KIB);
    /* 1,000 KiB are to become 700 at most */
    assert_int_equal(removed.files, 3);
    assert_int_equal(removed.bytes, 300 * KIB);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(access(log_name(i), F_OK), i < 3 ? -1 : 0);
}

/* A process in another container, of which no pid is known here, has written to one file for long. */
TEST(what_was_written_lately_stays)
{
    put_written(log_name(0), 100 * KIB, 3600);
    for (unsigned i = 1; i < 10; i++)
        put_file(log_name(i), 100 * KIB);
    assert_int_equal(pp_disk_trim(scratch_path, "none", 800 * KIB).files, 3);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(access(log_name(i), F_OK), i >= 1 && i < 4 ? -1 : 0);
}

TEST(small_files_count_as_the_blocks_they_take)
{
    for (unsigned i = 0; i < 10; i++)
        put_file(log_name(i), 1);
    assert_int_equal(pp_disk_trim(scratch_path, "none", 40 * KIB).files, 0);
    assert_int_equal(pp_disk_trim(scratch_path, "none", 32 * KIB).files, 3);
}

TEST(nothing_else_is_touched)
{
    static const char *const others[] = {
        "baseline.pyprof",     "1-2-0000000.pyprof", "1-2-00000000.pyprof.gz",
        "1-2-0000000x.pyprof", "-2-00000000.pyprof", "1--00000000.pyprof",
        "notes.txt",           "1-2-00000000",
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        put_file(others[i], 1000 * KIB);
    put_file(log_name(0), 1000 * KIB);
    put_file(log_name(1), 1000 * KIB);
    char own[64];
    strcpy(own, log_name(0));
    assert_int_equal(symlink("notes.txt", log_name(2)), 0);
    assert_int_equal(mkdir(log_name(3), 0700), 0);
    assert_int_equal(mkfifo(log_name(4), 0600), 0);
    if (geteuid() == 0) {
        put_file(log_name(5), 1000 * KIB);
        assert_int_equal(chown(log_name(5), 12345, 12345), 0);
    }
    /* even if the own one is the oldest, and more than the limit alone */
    struct pp_disk_trimmed removed = pp_disk_trim(scratch_path, own, 100 * KIB);
    assert_int_equal(removed.files, 1);
    assert_int_equal(access(log_name(1), F_OK), -1);
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(access(others[i], F_OK), 0);
    struct stat status;
    for (unsigned i = 0; i < (geteuid() == 0 ? 6 : 5); i++)
        assert_int_equal(lstat(log_name(i), &status), i == 1 ? -1 : 0);
}

/* More files than are looked at in one go. */
TEST(many_files_go_in_order_too)
{
    enum { FILES = 1000, LEFT = 105 };
    for (unsigned i = 0; i < FILES; i++)
        put_file(log_name(i * 7 % FILES), 1);
    struct pp_disk_trimmed removed = pp_disk_trim(scratch_path, "none", 120 * 4 * KIB);
    assert_int_equal(removed.files, FILES - LEFT);
    for (unsigned i = 0; i < FILES; i++)
        assert_int_equal(access(log_name(i), F_OK), i < FILES - LEFT ? -1 : 0);
}

/* However small they are, no more files are kept than a process can measure in a moment. */
TEST(there_are_no_more_than_32768_files)
{
    enum { MAX = 32768, MORE = 100 };
    const uint64_t limit = (uint64_t)1 << 30;
    put_file("file", 1);
    assert_int_equal(utimensat(AT_FDCWD, "file", (struct timespec[2]){{0}}, 0), 0); /* each as old as its name says */
    for (unsigned i = 0; i < MAX + MORE; i++) {
        if (i == MAX)
            assert_int_equal(pp_disk_trim(scratch_path, "none", limit).files, 0);
        int error = link("file", log_name(i)) == 0 ? 0 : errno;
        if (error == ENOSPC) /* a small tmpfs has no more inodes */
            skip();
        assert_int_equal(error, 0);
    }
    assert_int_equal(pp_disk_trim(scratch_path, "none", limit).files, MAX / 8 + MORE);
    for (unsigned i = 0; i < MAX + MORE; i += 16)
        assert_int_equal(access(log_name(i), F_OK), i < MAX / 8 + MORE ? -1 : 0);
}

/* The newest file of each stays, however old; for one that ended its pid says that it is not there. */
TEST(files_of_live_processes_stay)
{
    char idle[64], before[64], other[64];
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    snprintf(before, sizeof before, "%d-1700000000000000000-00000000.pyprof", child);
    snprintf(idle, sizeof idle, "%d-1700000000000000001-00000000.pyprof", child);
    snprintf(other, sizeof other, "%d-1700000000000000000-00000000.pyprof", getpid());
    for (unsigned i = 0; i < 300; i++)
        put_file(log_name(i), 1);
    put_file(before, 1);
    put_file(idle, 1);
    put_file(other, 1);
    assert_int_equal(pp_disk_trim(scratch_path, "none", 40 * KIB).files, 295);
    assert_int_equal(access(before, F_OK), -1);
    assert_int_equal(access(idle, F_OK) | access(other, F_OK), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    put_file(log_name(400), 1);
    assert_int_equal(pp_disk_trim(scratch_path, "none", 32 * KIB).files, 2);
    assert_int_equal(access(idle, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
}

/* A directory of another user, to which a link leads: what has such names there is not ours to remove. */
TEST(links_of_others_are_not_followed)
{
    char trap[80];
    if (geteuid() != 0)
        skip();
    snprintf(trap, sizeof trap, "%s/trap", scratch_path);
    assert_int_equal(mkdir("logs", 0700), 0);
    assert_int_equal(symlink("logs", trap), 0);
    assert_int_equal(chmod(scratch_path, 01777) | chdir("logs"), 0);
    for (unsigned i = 0; i < 10; i++)
        put_file(log_name(i), 1);
    assert_int_equal(lchown(trap, 12345, 12345), 0);
    assert_int_equal(pp_disk_trim(trap, "none", KIB).files, 0);
    assert_int_equal(lchown(trap, 0, 0), 0);
    assert_int_equal(pp_disk_trim(trap, "none", KIB).files, 10);
}

/* How often the directory is read while pp_disk_trim is at it. */
static unsigned count_readings(uint64_t limit)
{
    unsigned calls = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(2);
        _exit((int)pp_disk_trim(scratch_path, "none", limit).files);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD), 0);
    while (WIFSTOPPED(status)) {
        struct __ptrace_syscall_info call = {0};
        assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof call, &call) > 0);
        calls += call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_getdents64;
        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return calls;
}

/* A directory that somebody has closed: one go, and not again and again. */
TEST(what_cannot_be_removed_is_left)
{
    enum { FILES = 300, USER = 12345 };
    bool is_root = geteuid() == 0;
    for (unsigned i = 0; i < FILES; i++) {
        put_file(log_name(i), 1);
        assert_int_equal(is_root ? chown(log_name(i), USER, (gid_t)-1) : 0, 0);
    }
    assert_int_equal(chmod(scratch_path, 0555), 0);
    assert_int_equal(is_root ? seteuid(USER) : 0, 0);
    unsigned readings = count_readings(8 * KIB);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_int_equal(chmod(scratch_path, 0700), 0);
    for (unsigned i = 0; i < FILES; i++)
        assert_int_equal(access(log_name(i), F_OK), 0);
    /* the last one finds nothing more */
    assert_in_range(readings, 2, 4);
}

TEST(checks_are_as_frequent_as_what_is_written)
{
    const uint64_t limit = (uint64_t)1 << 30;
    unsigned due = 0;
    for (unsigned i = 0; i < 64 * KIB; i++)
        due += pp_disk_is_due(limit / (64 * KIB), limit / (64 * KIB), limit);
    assert_in_range(due, 20, 200); /* 64 on average: six sigma */
    assert_true(pp_disk_is_due(limit, limit, limit));
    assert_false(pp_disk_is_due(limit, limit, 0));
}

/* A file of a 1,024th of the limit, and of each double of it: the chance for one byte is small. */
TEST(a_file_that_has_doubled_is_a_check)
{
    const uint64_t limit = (uint64_t)1 << 40, least = limit / 1024;
    for (uint64_t size = least; size <= limit; size *= 2) {
        assert_true(pp_disk_is_due(1, size, limit));
        assert_false(pp_disk_is_due(1, size + 1, limit));
        assert_false(pp_disk_is_due(1, size - 1, limit));
    }
}

/* What is being written, and so cannot be removed, is half of the limit at most. */
TEST(files_are_smaller_where_many_write)
{
    const uint64_t limit = (uint64_t)1 << 30;
    assert_int_equal(pp_disk_file_limit(limit, 0), limit / 16);
    assert_int_equal(pp_disk_file_limit(limit, 8), limit / 16);
    assert_int_equal(pp_disk_file_limit(limit, 100), limit / 200);
    assert_int_equal(pp_disk_file_limit(limit, 100000), limit / 1024);
}

TEST(what_was_written_lately_is_being_written)
{
    for (unsigned i = 0; i < 10; i++)
        put_file(log_name(i), KIB);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(utimensat(AT_FDCWD, log_name(i), NULL, 0), 0);
    assert_int_equal(pp_disk_trim(scratch_path, "none", KIB * KIB).writers, 3);
}

TEST(no_directory_is_no_problem)
{
    assert_int_equal(pp_disk_trim("/nowhere/at/all", "none", 1).files, 0);
    put_file("file", 1);
    assert_int_equal(pp_disk_trim("file", "none", 1).files, 0);
}
