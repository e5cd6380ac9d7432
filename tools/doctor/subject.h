/* A process, as /proc shows it. */
#ifndef PP_DOCTOR_SUBJECT_H
#define PP_DOCTOR_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pp_subject {
    int pid, pid_inside; /* here, and in its own pid namespace */
    uid_t real_uid, uid; /* uid, gid: effective */
    gid_t gid;
    char *name, *command;     /* command: arguments with blanks between; "" when there are none */
    char *status;             /* text of /proc/PID/status */
    char *maps, *environment; /* NULL when they cannot be seen; environment: NUL-separated, two NULs at the end */
    char *program, *working;  /* paths in its own root; NULL when they cannot be seen */
    bool ended, secure;       /* secure: the loader ignores LD_PRELOAD */
    uint64_t cpu_ns, age_ns;  /* of the pid, exec or not; 0: not known */
};

/* False when there is no such process. pp_subject_free ends it. */
bool pp_subject_read(int pid, struct pp_subject *subject);
void pp_subject_free(struct pp_subject *subject);

/* Value of a variable in its environment at start, NULL when unset, empty or unseen. */
const char *pp_subject_variable(const struct pp_subject *subject, const char *name);
/* Number behind "name:\t" in a text of lines like /proc/PID/status; 0 when absent. */
uint64_t pp_status_number(const char *status, const char *name, int base);

/* A path of its root as one that is good here. The caller frees. */
char *pp_subject_path(const struct pp_subject *subject, const char *path);
/* The way back, for people: what such a path is in its root. Points into path. */
const char *pp_subject_inside(const struct pp_subject *subject, const char *path);

/* /proc/PID/NAME, a NUL behind it; NULL with errno when it cannot be read. size may be NULL. The caller frees. */
char *pp_proc_text(int pid, const char *name, size_t *size);

/* Path of the first mapped file whose name begins so, as the kernel writes it (" (deleted)" at its end included); from
 * *at on, which moves on behind it. NULL when there is none. The caller frees. */
char *pp_next_mapped(const char **at, const char *beginning);

/* Calls each with every thread's tid. */
void pp_each_task(int pid, void (*each)(void *context, int tid), void *context);

/* Descendants, the nearest first; *count of them. The caller frees. */
int *pp_descendants(int pid, uint32_t *count);

#endif
