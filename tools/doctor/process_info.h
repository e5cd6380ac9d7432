/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what /proc shows of a process. */
#ifndef PT_DOCTOR_PROCESS_INFO_H
#define PT_DOCTOR_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pt_process_info {
    int pid, pid_inside; /* here, and in its own pid namespace */
    uid_t real_uid, uid; /* uid, gid: effective */
    gid_t gid;
    char *name, *command; /* command: arguments with blanks between; "" when there are none */
    char *quoted; /* the command as a shell takes it, cut before an argument that is long; NULL when there is none */
    char *status; /* text of /proc/PID/status */
    char *maps, *environment; /* NULL when they cannot be seen; environment: NUL-separated, two NULs at the end */
    char *program, *working;  /* paths in its own root; NULL when they cannot be seen */
    bool ended, secure;       /* secure: the loader ignores LD_PRELOAD */
    uint64_t cpu_ns, age_ns;  /* of the pid, exec or not; 0: not known */
    uint64_t start_ticks;     /* field 22 of /proc/PID/stat: tells it from another process of the same pid */
};

/* Returns false when the process does not exist. pt_process_info_free ends it. */
bool pt_process_info_read(int pid, struct pt_process_info *subject);
void pt_process_info_free(struct pt_process_info *subject);

/* Returns a variable of its environment at start, NULL if it is unset, empty or cannot be seen. */
const char *pt_process_info_variable(const struct pt_process_info *subject, const char *name);
/* Returns the number after "name:\t" in a text of lines like /proc/PID/status; 0 if it is absent. */
uint64_t pt_status_number(const char *status, const char *name, int base);

/* Returns the path by which this program reaches a path of the process's root. The caller frees. */
char *pt_process_info_path(const struct pt_process_info *subject, const char *path);
/* Returns the path in the process's root of a path from pt_process_info_path. Points into path. */
const char *pt_process_info_inside(const struct pt_process_info *subject, const char *path);

/* Returns /proc/PID/NAME, NUL-terminated; NULL with errno when it cannot be read. size may be NULL. The caller frees.
 */
char *pt_proc_text(int pid, const char *name, size_t *size);

/* Returns the path of the first mapped file whose name has this beginning, as the kernel writes it (" (deleted)" at its
 * end included); from *at on, which is advanced. NULL when there is none. The caller frees. */
char *pt_next_mapped(const char **at, const char *beginning);

/* Calls each with every thread's tid. */
void pt_each_task(int pid, void (*each)(void *data, int tid), void *data);

/* Returns the pids of *count descendants, the nearest first. The caller frees. */
int *pt_descendants(int pid, uint32_t *count);

#endif
