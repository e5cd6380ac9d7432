/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the calls of libc that show that an interpreter begins, forks or ends. */
#include "../base/libc.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../flush/lifecycle.h"
#include "../start.h"
#include "../threads/registry.h"
#include <errno.h>
#include <string.h>

#define STAT_MAX           2048
#define STAT_THREADS       20 /* of proc(5): num_threads */
#define FINALIZED_PAUSE_NS 1000000
#define FINALIZED_PAUSES   11 /* two of their checks */

/* CPython calls this once at its start, and hardly anything else does: it shows that Python is here. */
PP_EXPORT int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    pp_start((uintptr_t)__builtin_return_address(0));
    return pp_real()->pthread_condattr_setclock ? pp_real()->pthread_condattr_setclock(attributes, clock) : ENOSYS;
}

/* Opens /proc/self/stat with "1" for its two threads; NULL if it has another number. */
static FILE *open_stat_of_one_thread(const char *mode)
{
    static char text[STAT_MAX];
    FILE *(*open_memory)(void *, size_t, const char *);
    *(void **)&open_memory = pp_real_symbol(RTLD_DEFAULT, "fmemopen");
    size_t length = pp_read_file("/proc/self/stat", text, sizeof text - 1);
    text[length] = 0;
    const char *field = pp_stat_field(text, STAT_THREADS);
    if (!open_memory || !field || strncmp(field, "2 ", 2) != 0)
        return NULL;
    text[field - text] = '1';
    return open_memory(text, length, mode);
}

/* CPython 3.12 and later warn when os.fork() finds more than one thread in /proc/self/stat, which they read through
 * fopen. Our thread must not cause that warning: the interpreter reads the file without it. Others may keep the stream
 * open and read it again, so they get the real file. */
static FILE *open_file(FILE *(*libc_fopen)(const char *, const char *), const char *path, const char *mode,
                       uintptr_t caller)
{
    if (!libc_fopen) {
        errno = ENOSYS;
        return NULL;
    }
    FILE *file = NULL;
    if (pp_python_of_code(caller) && path && mode && strcmp(mode, "r") == 0 && strcmp(path, "/proc/self/stat") == 0 &&
        pp_flush_thread_runs())
        file = open_stat_of_one_thread(mode);
    return file ? file : libc_fopen(path, mode);
}

PP_EXPORT FILE *fopen(const char *path, const char *mode)
{
    return open_file(pp_real()->fopen, path, mode, (uintptr_t)__builtin_return_address(0));
}

PP_EXPORT FILE *fopen64(const char *path, const char *mode)
{
    return open_file(pp_real()->fopen64, path, mode, (uintptr_t)__builtin_return_address(0));
}

/* Up to 3.13 a thread that waits for the GIL checks every 5 ms whether its interpreter is finalizing, and exits. It
 * crashes if the interpreter's memory is gone by then: unlikely when the process ends 0.1 ms later, likely when our
 * last flush takes some ms in between. So these threads get time to exit first. */
static void let_python_threads_leave(const struct pp_python *python)
{
    static const struct timespec pause = {0, FINALIZED_PAUSE_NS};
    uintptr_t finalizing = 0;
    if (!python->layout.waiters_exit ||
        !pp_safe_read(pp_sys_getpid(), &finalizing, python->runtime + python->layout.runtime.finalizing,
                      sizeof finalizing) ||
        !finalizing)
        return;
    for (int i = 0; i < FINALIZED_PAUSES && pp_other_threads(true); i++)
        pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
}

/* The first sign that an interpreter has finished: it deletes the key of its thread states. */
PP_EXPORT int pthread_key_delete(pthread_key_t key)
{
    const struct pp_python *python =
        pp_flush_thread_runs() ? pp_python_of_code((uintptr_t)__builtin_return_address(0)) : NULL;
    if (python) {
        atomic_fetch_add(&pp_capture.ended_pythons, 1);
        let_python_threads_leave(python);
    }
    return pp_real()->pthread_key_delete ? pp_real()->pthread_key_delete(key) : EINVAL;
}
