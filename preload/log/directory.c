/* SPDX-License-Identifier: Apache-2.0 */
#include "directory.h"
#include "../base/config.h"
#include "../base/syscalls.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY_MODE 0700
#define MAX_LINKS      40 /* as the kernel has it */

static dev_t root_device;
static ino_t root_inode; /* 0: unknown */

void pp_directory_remember_root(void)
{
    struct stat root;
    if (pp_sys_stat("/", &root, 0) != 0)
        return;
    root_device = root.st_dev;
    root_inode = root.st_ino;
}

/* Applies the kernel's rule for links (fs.protected_symlinks) to directories too: in a directory that all may write, an
 * entry is trusted if it belongs to its owner, to root or to us. */
static bool is_trusted(const struct stat *parent, const struct stat *entry)
{
    return !(parent->st_mode & S_IWOTH) || entry->st_uid == 0 || entry->st_uid == parent->st_uid ||
           entry->st_uid == (uid_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
}

/* Opens an entry of a directory without following a link. */
static int open_entry(int parent, const char *name, bool make)
{
    int fd = pp_sys_openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd == -ENOTDIR)
        return pp_sys_openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd != -ENOENT || !make)
        return fd;
    long made = pp_syscall4(SYS_mkdirat, parent, (long)name, DIRECTORY_MODE, 0);
    return made && made != -EEXIST ? (int)made : open_entry(parent, name, false);
}

static int open_start(const char *path)
{
    struct stat root;
    int fd = pp_sys_open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0 || !root_inode || pp_sys_stat("/", &root, 0) != 0 ||
        (root.st_dev == root_device && root.st_ino == root_inode))
        return fd;
    pp_sys_close(fd);
    return -PP_DIRECTORY_OTHER_ROOT;
}

/* Replaces a link by its target in the path that is left; false when there is no room. */
static bool put_link(int link, char *way, size_t size, const char *rest)
{
    static char target[PP_PATH_MAX];
    long length = pp_syscall4(SYS_readlinkat, link, (long)"", (long)target, sizeof target);
    size_t rest_size = strlen(rest) + 1;
    if (length <= 0 || (size_t)length + 1 + rest_size > size)
        return false;
    memmove(way + length + 1, rest, rest_size);
    memcpy(way, target, (size_t)length);
    way[length] = '/';
    return true;
}

/* Returns 0 or -errno, and whether the entry is a link. */
static long check_entry(int parent, int fd, bool *is_link)
{
    struct stat above, entry;
    long error = fd < 0 ? fd : pp_syscall4(SYS_fstat, parent, (long)&above, 0, 0);
    if (!error)
        error = pp_syscall4(SYS_fstat, fd, (long)&entry, 0, 0);
    *is_link = !error && S_ISLNK(entry.st_mode);
    return error || is_trusted(&above, &entry) ? error : -PP_DIRECTORY_OF_ANOTHER;
}

int pp_directory_open(const char *path, bool make)
{
    static char way[2 * PP_PATH_MAX];
    if (strlen(path) >= sizeof way)
        return -ENAMETOOLONG;
    strcpy(way, path);
    unsigned links = 0;
    int directory = open_start(way);
    for (char *name = way, *rest; directory >= 0 && *(name += strspn(name, "/")); name = rest) {
        bool is_link;
        rest = name + strcspn(name, "/");
        if (*rest)
            *rest++ = 0;
        int fd = open_entry(directory, name, make);
        long error = check_entry(directory, fd, &is_link);
        if (!error && is_link) {
            if (links++ == MAX_LINKS || !put_link(fd, way, sizeof way, rest))
                error = -ENOTDIR;
            rest = way;
            pp_sys_close(fd);
            fd = *way == '/' ? open_start(way) : directory;
        }
        if (fd != directory)
            pp_sys_close(directory);
        if (error && fd >= 0)
            pp_sys_close(fd);
        directory = error ? (int)error : fd;
    }
    return directory;
}
