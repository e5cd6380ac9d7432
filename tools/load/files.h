/* SPDX-License-Identifier: Apache-2.0 */
/* The log files that a request means (find_files.h), and what is known of each before it is read whole. */
#ifndef PT_LOAD_FILES_H
#define PT_LOAD_FILES_H

#include <stddef.h>

#include "../log/reader.h"
#include "../model/model.h"
#include "../model/request.h"
#include "../model/run_joins.h"

/* Enough for any PROCESS block: command lines end at 128 KiB each argument, logs cut theirs long before. */
#define PT_PROCESS_BYTES (256u << 10)
/* Enough for most. */
#define PT_MOST_PROCESS_BYTES (4u << 10)

struct pt_file {
    char *path;
    char *own_run, *instance; /* of its first segment */
    char *run;                /* what own_run is a part of (pt_files_join_runs), or equal to it */
    char *machine;            /* pt_machine of its process */
    enum pt_alive alive;      /* its process, before `size` was read: what it wrote at its end is in these bytes */
    uint64_t segment;         /* number of that segment in the instance */
    uint64_t pid, ppid, group, start_unix_ns, size;
    uint64_t written_unix_ns; /* by the file system */
    /* While runs are joined, of a file of `read_size` bytes; 0: it was not read. */
    uint64_t ended_unix_ns; /* UINT64_MAX: the log does not say */
    uint64_t last_unix_ns;  /* when its process last wrote to it; 0: that cannot be read */
    uint64_t read_size;
    bool named;    /* it is a path of the request, and was not found in a directory */
    bool foreign;  /* another user may have planted it (is_foreign) */
    bool fallback; /* it was found in a fallback directory */
    uint32_t owner;
};

struct pt_files {
    const struct pt_messages *messages; /* set by pt_files_find */
    struct pt_file *items;
    uint32_t count, capacity;
    struct pt_run_joins joins;
    char *own_machine; /* pt_machine of this program; NULL: not asked for yet */
    char *closed;      /* a fallback directory that cannot be read; NULL: none */
    uint32_t unusable; /* number of useless files in directories */
    struct {
        uint32_t count;
        char *path;                 /* of one of these files */
        int error;                  /* why it cannot be opened */
    } reasons[PT_READ_VERSION + 1]; /* by enum pt_read_result; PT_READ_OK: cannot be opened */
};

/* Keeps the files of the requested runs: those of an id, all, or the latest run of the directories. Returns false after
 * a message if none is left. */
bool pt_files_choose(struct pt_files *files, const struct pt_load_request *request);

/* Appends how many runs directories have besides this one and its repeats, and how these are seen; nothing if none. */
void pt_files_append_others(struct pt_buffer *text, const struct pt_files *files, const char *run);

/* Leaves out runs that another user may have made up, all files of which are foreign, and says so. Returns the number
 * of files left out. */
uint32_t pt_files_drop_foreign(struct pt_files *files);

/* Adds a file if it is a usable log; if a named file is not, a message says why. Returns whether to go on with the
 * other files. */
bool pt_files_add(struct pt_files *files, const char *path, bool named);

/* Returns whether the file is a profile: an export or a page must not replace it. */
bool pt_is_profile(const char *path);

/* Appends how many files in directories are useless, and why. */
void pt_files_append_unusable(struct pt_buffer *text, const struct pt_files *files);

/* Calls each(), if it is not NULL, with the path of every log in the directory, in the order of names. Returns their
 * number, -1 if the directory cannot be read. */
int pt_each_log(const char *directory, void (*each)(void *argument, const char *path), void *argument);

/* Returns why a file or directory cannot be read, with what to do where another user may. */
const char *pt_read_error(int error);

/* Returns false after a message if this user may not list the directory: then nothing can be said of what is there. */
bool pt_can_list(const char *directory);

/* Returns the directory that the library writes to: PYPROF_OUT or ./pyprof.out. The caller frees. */
char *pt_default_directory(void);

/* Returns the directory as a command that is to be typed next must name it, NULL if that is ./pyprof.out, which
 * commands read without a path. PYPROF_OUT may have been set for this command only. output NULL: the default
 * directory. The caller frees. */
char *pt_directory_to_name(const char *output);

/* Returns the fallback directory of this user, $TMPDIR/pyprof-UID, where the library writes if it cannot write to
 * PYPROF_OUT. The caller frees. */
char *pt_fallback_directory(void);

/* Returns which program the latest log in a fallback directory is of, and how old that is, for people; NULL: there is
 * none that can be read. The caller frees. */
char *pt_fallback_latest(const char *directory);

/* Adds the logs in the fallback directories, of this user and of others, that belong to runs found in directories. If
 * run is not NULL, also adds that run's logs written since since_ns, whether or not the run was found. */
void pt_files_add_fallbacks(struct pt_files *files, const char *run, uint64_t since_ns);

/* Sets `run` of all files, and `joins`: the run of a process whose parent was running when it started, and has a log
 * there, is a part of its parent's run. If the parent has no log, it is a part of the run of another child of the same
 * parent and of the same process group (a job of a shell, what a script starts) that was running then. */
void pt_files_join_runs(struct pt_files *files);

void pt_file_free(struct pt_file *file);
void pt_files_free(struct pt_files *files);

/* Returns what identifies the processes that can be compared by their pids: a boot of a machine, and a pid namespace;
 * "" if the boot is unknown. The caller frees. */
char *pt_machine(struct pt_text boot_id, struct pt_text pid_namespace);
/* Returns pt_machine of this program; "" if a part of it is unknown. The caller frees. */
char *pt_own_machine(void);

/* Returns whether /proc has the process, and it has neither ended nor been killed: from a SIGKILL on it runs no code of
 * its own, but is still there for some milliseconds, or until its parent takes notice. */
bool pt_runs(uint64_t pid);

/* Returns whether the process runs. own: pt_machine of this program. */
enum pt_alive pt_alive(const char *own, const char *machine, uint64_t pid);

/* Reads a whole regular file, or its first `most` bytes, and sets *size (0 for an empty file). Returns NULL with errno
 * on failure: a pipe or a device, which debug information and command lines may name, is EINVAL. The caller frees. */
void *pt_read_file(const char *path, size_t most, size_t *size);

#endif
