/* SPDX-License-Identifier: Apache-2.0 */
/* Checks where the profile of a process goes, and whether the process can write there. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../preload/common/settings.h"
#include "../base/memory.h"
#include "../load/control_file.h"
#include "../sent/state.h"
#include "checks.h"

#define TOPIC       "output"
#define MAX_GROUPS  256
#define CANNOT_TELL 255 /* exit status of the child that tries; others are errno */

char *pt_output_directory(const struct pt_process_info *subject)
{
    const char *value = pt_process_info_variable(subject, "PYPROF_OUT");
    struct pt_buffer path = {0};
    if (!value)
        value = PT_DEFAULT_DIRECTORY;
    if (*value != '/' && subject->working)
        pt_buffer_format(&path, "%s/", strcmp(subject->working, "/") ? subject->working : "");
    pt_buffer_text(&path, value);
    return path.data;
}

char *pt_output_fallback(const struct pt_process_info *subject)
{
    const char *temporary = pt_process_info_variable(subject, "TMPDIR");
    struct pt_buffer path =
        pt_formatted("%s/pyprof-%u", temporary && *temporary == '/' ? temporary : "/tmp", (unsigned)subject->real_uid);
    return path.data;
}

/* This child becomes the user of the subject, in its root. */
static bool become(const struct pt_process_info *subject)
{
    gid_t groups[MAX_GROUPS];
    size_t count = 0;
    struct stat root, own;
    char *path = pt_process_info_path(subject, "/");
    bool same =
        stat(path, &root) == 0 && stat("/", &own) == 0 && root.st_dev == own.st_dev && root.st_ino == own.st_ino;
    bool done = same || (chroot(path) == 0 && chdir("/") == 0);
    free(path);
    if (subject->uid == geteuid())
        return done;
    const char *line = strstr(subject->status, "\nGroups:");
    const char *at = line ? line + strlen("\nGroups:") : "";
    for (char *end; count < MAX_GROUPS; at = end) {
        at += strspn(at, "\t ");
        unsigned long group = strtoul(at, &end, 10);
        if (end == at || *at == '\n')
            break;
        groups[count++] = (gid_t)group;
    }
    return done && setgroups(count, groups) == 0 && setresgid(subject->gid, subject->gid, subject->gid) == 0 &&
           setresuid(subject->uid, subject->uid, subject->uid) == 0;
}

/* Makes a directory in `parent` and removes it: file systems like /proc refuse that even to a user with the right to
 * write there. */
static int try_to_make(const char *parent)
{
    PT_AUTO_BUFFER path = pt_formatted("%s/.pyprof-XXXXXX", parent);
    return mkdtemp(path.data) && rmdir(path.data) == 0 ? 0 : errno;
}

/* Tests the nearest directory that exists: the library makes those that are missing. */
int pt_output_error(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    bool missing = false;
    if (strlen(directory) >= sizeof path)
        return ENAMETOOLONG;
    strcpy(path, directory);
    for (; stat(path, &status) != 0; missing = true) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash || !path[1])
            return errno;
        slash[slash == path] = '\0';
    }
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        return errno;
    return missing ? try_to_make(path) : 0;
}

/* 0, why the process cannot write there (errno), or CANNOT_TELL. */
static int try_as(const struct pt_process_info *subject, const char *directory)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(become(subject) ? pt_output_error(directory) : CANNOT_TELL);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return CANNOT_TELL;
    return WEXITSTATUS(status);
}

static bool is_full(const struct pt_process_info *subject, const char *directory)
{
    PT_AUTO_FREE char *path = pt_process_info_path(subject, directory);
    struct statvfs space;
    return statvfs(path, &space) == 0 &&
           pp_disk_is_full((uint64_t)space.f_bavail * space.f_frsize, (uint64_t)space.f_blocks * space.f_frsize);
}

static void find_push(void *findings, struct pt_push_state *state, const char *path)
{
    if (!state) {
        pt_find(findings, PT_LEVEL_WARN, "push", "%s is damaged, or not ours: it is not read", path);
        return;
    }
    PT_AUTO_BUFFER text = {0};
    bool fails = state->error_unix_ns > state->success_unix_ns;
    pt_push_state_describe(&text, state);
    pt_find(findings, fails ? PT_LEVEL_WARN : PT_LEVEL_OK, "push", "%s", text.data);
    if (fails)
        pt_remedy(findings, "what is in the logs is sent when that is mended and 'pyprof push' runs");
}

void pt_check_output(const struct pt_process_info *subject, struct pt_findings *findings)
{
    if (!subject->environment)
        return;
    PT_AUTO_FREE char *directory = pt_output_directory(subject), *fallback = pt_output_fallback(subject);
    int error = try_as(subject, directory);
    if (!error && is_full(subject, directory)) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC,
                "%s: the disk is full, or nearly: its last 64 MB (or 5 %%) are left to others", directory);
        pt_remedy(findings, "make room: writing begins again by itself; or set PYPROF_OUT to another disk");
    } else if (!error) {
        PT_AUTO_FREE char *path = pt_process_info_path(subject, directory);
        pt_find(findings, PT_LEVEL_OK, TOPIC, "%s can be written by user %u", directory, (unsigned)subject->uid);
        pt_push_each_state(path, find_push, findings);
        if (subject->pid == getpid() && pt_control_pauses(directory, NULL, false)) { /* of others the timers tell */
            PT_AUTO_BUFFER command = {0};
            pt_append_resume(&command, directory);
            pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s is paused, by pyprof ctl: what is started takes no samples",
                    directory);
            pt_remedy(findings, "%s", command.data);
        }
    } else if (error == CANNOT_TELL) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "whether user %u can write %s cannot be seen", (unsigned)subject->uid,
                directory);
        pt_remedy(findings, "ask as that user or as root");
    } else {
        bool lost = try_as(subject, fallback) != 0;
        pt_find(findings, lost ? PT_LEVEL_FAIL : PT_LEVEL_WARN, TOPIC, "user %u cannot write %s: %s; %s %s",
                (unsigned)subject->uid, directory, strerror(error), lost ? "neither can it write" : "files go to",
                fallback);
        pt_remedy(
            findings,
            "set PYPROF_OUT to a directory that user %u can write; of workers that change their user: 'install -d "
            "-m 1770 -g GROUP DIR' before the start",
            (unsigned)subject->uid);
    }
}
