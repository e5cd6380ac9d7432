/* The log's file when the disk, the directory or somebody else's directory is in the way. */
#include "preload/base/message.h"
#include "preload/log/directory.h"
#include "preload/log/segment.h"
#include "unit.h"
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SECOND 1000000000u

static struct pp_segment segment;
static struct pp_buffer bytes;
static char wanted[128], fallback[128];

void before_each(void)
{
    memset(&segment, 0, sizeof segment);
    scratch_make();
    signal(SIGXFSZ, SIG_IGN);
    snprintf(wanted, sizeof wanted, "%s/out", scratch_path);
    snprintf(fallback, sizeof fallback, "%s/pyprof-%u", scratch_path, (unsigned)geteuid());
    strcpy(pp_config.out, wanted);
    setenv("TMPDIR", scratch_path, 1);
}

static bool append(void)
{
    pp_buffer_clear(&bytes);
    if (!segment.open)
        pp_segment_begin(&segment, &bytes);
    else
        pp_put_bytes(&bytes, "more", 4);
    return pp_segment_append(&segment, &bytes, false);
}

/* Entries of a directory, -1 if there is none. */
static int entries(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory)
        return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/* A file stands where each directory should be. */
static void block_both(void)
{
    touch(wanted);
    touch(fallback);
}

TEST(appends_to_one_private_file)
{
    struct stat status;
    assert_true(append() && append() && append());
    assert_int_equal(entries(wanted), 1);
    assert_int_equal(stat(segment.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(status.st_size, segment.bytes);
    assert_int_equal(segment.number, 1);
}

/* What somebody else did to the file: the application's own, or a trap. Nothing of ours goes there, nothing is said,
 * and the next append begins another one. The tests of it are before those that fail: these do say something. */
static void goes_on_in_another_file(void)
{
    char path[sizeof segment.path];
    strcpy(path, segment.path);
    assert_false(pp_segment_is_intact(&segment));
    assert_false(append());
    assert_int_equal(segment.retry_at_ns, 0);
    assert_true(append());
    assert_string_not_equal(segment.path, path);
    assert_true(pp_segment_is_intact(&segment));
    assert_null(pp_warned(PP_CAUSE_OUTPUT));
}

TEST(a_removed_file_is_followed_by_another)
{
    assert_true(append());
    assert_true(pp_segment_is_intact(&segment));
    assert_int_equal(unlink(segment.path), 0);
    goes_on_in_another_file();
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", wanted);
    assert_int_equal(system(command), 0);
    goes_on_in_another_file();
    assert_int_equal(entries(wanted), 1);
}

TEST(a_cut_file_is_left_alone)
{
    struct stat status;
    assert_true(append());
    assert_int_equal(truncate(segment.path, 0), 0);
    char path[sizeof segment.path];
    strcpy(path, segment.path);
    goes_on_in_another_file();
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 0);
}

TEST(traps_in_place_of_the_file_get_nothing)
{
    char victim[128], path[sizeof segment.path];
    struct stat status;
    snprintf(victim, sizeof victim, "%s/victim", scratch_path);
    touch(victim);
    for (int trap = 0; trap < 4; trap++) {
        segment.open = false;
        assert_true(append());
        strcpy(path, segment.path);
        assert_int_equal(unlink(path), 0);
        if (trap == 0)
            assert_int_equal(symlink(victim, path), 0);
        else if (trap == 1)
            assert_int_equal(link(victim, path), 0);
        else if (trap == 2)
            assert_int_equal(mkfifo(path, 0666), 0);
        else
            assert_int_equal(mkdir(path, 0777), 0);
        goes_on_in_another_file();
        assert_int_equal(stat(victim, &status), 0);
        assert_int_equal(status.st_size, 0);
    }
}

TEST(another_user_begins_another_file)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(scratch_path, 0755), 0);
    assert_true(append());
    assert_int_equal(chmod(wanted, 0777), 0);
    assert_int_equal(seteuid(12345), 0);
    bool intact = pp_segment_is_intact(&segment), appended = append(), again = append();
    assert_int_equal(seteuid(0), 0);
    assert_false(intact || appended);
    assert_true(again);
    struct stat status;
    assert_int_equal(stat(segment.path, &status), 0);
    assert_int_equal(status.st_uid, 12345);
    assert_null(pp_warned(PP_CAUSE_OUTPUT));
}

TEST(waits_longer_after_each_failure)
{
    block_both();
    uint64_t expected = SECOND;
    for (int i = 0; i < 12; i++) {
        segment.retry_at_ns = 0;
        assert_false(append());
        assert_int_equal(segment.retry_after_ns, expected);
        uint64_t at = segment.retry_at_ns;
        /* before its time nothing is tried, and that counts as no failure */
        segment.retry_at_ns = UINT64_MAX;
        assert_false(append());
        assert_int_equal(segment.retry_after_ns, expected);
        assert_true(at > 0);
        expected = 2 * expected < 60ull * SECOND ? 2 * expected : 60ull * SECOND;
    }
    assert_int_equal(unlink(wanted), 0);
    assert_false(append());
    assert_int_equal(entries(wanted), -1);
    segment.retry_at_ns = 0;
    assert_true(append());
    assert_int_equal(entries(wanted), 1);
    assert_int_equal(segment.retry_after_ns, 0);
    assert_int_equal(segment.retry_at_ns, 0);
}

TEST(a_file_that_cannot_grow_stays_whole)
{
    struct rlimit old, tight;
    struct stat status;
    assert_true(append());
    uint64_t whole = segment.bytes;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = whole + 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    bool appended = append();
    char path[sizeof segment.path];
    strcpy(path, segment.path);
    segment.retry_at_ns = 0;
    tight.rlim_cur = 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    bool begun = append();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(appended || begun);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, whole);
    /* and of the new one, which came to nothing, nothing is left */
    assert_int_equal(entries(wanted), 1);
    assert_int_equal(segment.bytes, whole);
}

TEST(falls_back_to_a_directory_of_its_own)
{
    struct stat status;
    touch(wanted);
    assert_true(append());
    assert_int_equal(entries(fallback), 1);
    assert_int_equal(stat(fallback, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

/* Where all may write, and entries that another user has made there. */
static void others_may_write(void)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(scratch_path, 01777), 0);
}

static void of_another_user(const char *path)
{
    assert_int_equal(lchown(path, 12345, 12345), 0);
}

TEST(what_another_user_made_where_all_may_write_is_not_entered)
{
    char target[128], below[160];
    snprintf(target, sizeof target, "%s/target", scratch_path);
    snprintf(below, sizeof below, "%s/below/it", wanted);
    others_may_write();
    assert_int_equal(mkdir(target, 0700), 0);
    for (int i = 0; i < 4; i++) {
        strcpy(pp_config.out, i & 1 ? below : wanted);
        assert_int_equal(i < 2 ? mkdir(wanted, 0777) : symlink(target, wanted), 0);
        of_another_user(wanted);
        memset(&segment, 0, sizeof segment);
        assert_true(append());
        assert_int_equal(entries(fallback), i + 1);
        assert_int_equal(entries(i < 2 ? wanted : target), 0); /* the kernel may not follow the link for us */
        assert_int_equal(remove(wanted), 0);
    }
    /* nor is the fallback, which has a name that others can guess */
    of_another_user(fallback);
    touch(wanted);
    memset(&segment, 0, sizeof segment);
    assert_false(append());
    assert_int_equal(entries(fallback), 4);
}

TEST(own_links_and_those_of_others_elsewhere_are_followed)
{
    char target[128], made[160], loop[128];
    snprintf(target, sizeof target, "%s/target", scratch_path);
    snprintf(made, sizeof made, "%s/not/yet", target);
    snprintf(loop, sizeof loop, "%s/loop", scratch_path);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink("target/../target/not", wanted), 0);
    assert_int_equal(symlink(loop, loop), 0);
    of_another_user(wanted);
    of_another_user(target);
    snprintf(pp_config.out, sizeof pp_config.out, "%s//yet/", wanted);
    assert_true(append());
    assert_int_equal(entries(made), 1);
    others_may_write();
    assert_int_equal(lchown(wanted, 0, 0) | lchown(target, 0, 0), 0);
    segment.open = false;
    assert_true(append());
    assert_int_equal(entries(made), 2);
    assert_int_equal(unlink(wanted) | symlink(made, wanted), 0);
    strcpy(pp_config.out, wanted);
    memset(&segment, 0, sizeof segment);
    assert_true(append());
    assert_int_equal(entries(made), 3);
    strcpy(pp_config.out, loop);
    memset(&segment, 0, sizeof segment);
    assert_true(append());
    assert_int_equal(entries(fallback), 1);
}

/* Neither files nor directories in a jail; the parent has its own root still. */
TEST(nothing_is_made_under_another_root)
{
    int status;
    if (geteuid() != 0)
        skip();
    pp_directory_remember_root();
    assert_true(append());
    pid_t child = fork();
    if (child == 0) {
        bool failed = chroot(scratch_path) == 0 && chdir("/") == 0 && !append() && !append();
        pp_segment_after_fork(&segment);
        segment.retry_at_ns = 0;
        failed = failed && !append();
        _exit(failed && entries("/") == 1 && entries("/out") == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(append());
    assert_int_equal(entries(wanted), 1);
}

TEST(a_child_begins_a_file_of_its_own)
{
    assert_true(append());
    char parent[sizeof segment.instance];
    strcpy(parent, segment.instance);
    pp_segment_after_fork(&segment);
    assert_string_equal(segment.parent_instance, parent);
    assert_true(append());
    assert_int_equal(entries(wanted), 2);
    assert_string_not_equal(segment.instance, parent);
}
