/*
 * Each function here does what libc's does, as seen by the caller, and a little for us besides. Before profiling has
 * started, in the child of vfork and on a libc that lacks the real one they only pass through.
 */
#include "threads.h"
#include "../base/elf_names.h"
#include "../base/mappings.h"
#include "../base/proc_file.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../flush/lifecycle.h"
#include "../start.h"
#include "../threads/registry.h"
#include "sandbox.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* The default version of dlsym is GLIBC_2.34 where libdl became a part of libc; the old one is there as well. */
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#pragma weak dlsym

#define STAT_MAX             2048
#define FIELDS_TO_THREADS    18 /* num_threads is the 20th field of proc(5), the 18th after the name's ')' */
#define LAST_DANGEROUS_MINOR 13
#define FINALIZED_PAUSE_NS   1000000
#define FINALIZED_PAUSES     11 /* two of their checks */
#define END_ROUNDS           3  /* of glibc's 4 over key destructors: ours runs after the application's */

static struct pp_real real;
static _Atomic int real_ready;
static pthread_key_t end_key;
static _Atomic bool registering;

void *pp_real_symbol(void *library, const char *name)
{
    return dlsym ? dlsym(library, name) : NULL;
}

const struct pp_real *pp_real(void)
{
#define NAME(name) #name "\0"
    static const char names[] = PP_REAL_FUNCTIONS(NAME);
    /* Two threads may both do this: they store the same. */
    if (!atomic_load_explicit(&real_ready, memory_order_acquire)) {
        void **found = (void **)&real;
        if (!pp_elf_find_next(names, found))
            for (const char *name = names; *name; name += strlen(name) + 1)
                *found++ = pp_real_symbol(RTLD_NEXT, name);
        if (real.syscall)
            pp_real_syscall = (__typeof__(pp_real_syscall))real.syscall;
        atomic_store_explicit(&real_ready, 1, memory_order_release);
    }
    return &real;
}

/* Runs in the thread that ends: return from its start routine, pthread_exit and cancellation all come here. */
static void on_thread_end(void *argument)
{
    struct pp_slot *slot = argument;
    if (!atomic_load(&registering) || atomic_load(&slot->state) != PP_SLOT_LIVE ||
        atomic_load(&slot->tid) != pp_sys_gettid())
        return; /* a fork gave the slot away */
    if (++slot->end_rounds < END_ROUNDS && pp_real()->pthread_setspecific(end_key, slot) == 0)
        return;
    if (slot->is_main)
        pp_flush_thread_outlives_main();
    pp_thread_end(slot);
}

bool pp_interpose_start(void)
{
    const struct pp_real *libc = pp_real();
    if (!libc->pthread_create || !libc->pthread_sigmask || !libc->pthread_setspecific || !libc->pthread_getspecific ||
        !libc->pthread_attr_init || !libc->pthread_attr_setstacksize || !libc->pthread_attr_destroy ||
        !libc->pthread_key_create || libc->pthread_key_create(&end_key, on_thread_end) != 0)
        return false;
    atomic_store(&registering, true);
    return true;
}

void pp_interpose_stop(void)
{
    atomic_store(&registering, false);
}

void pp_interpose_thread(struct pp_slot *slot)
{
    pp_real()->pthread_setspecific(end_key, slot);
}

struct pp_slot *pp_slot_here(void)
{
    if (!atomic_load_explicit(&registering, memory_order_acquire))
        return NULL;
    struct pp_slot *slot = real.pthread_getspecific(end_key);
    /* another thread's in a raw clone that shares this thread's TLS, or given away by a fork */
    return slot && atomic_load_explicit(&slot->tid, memory_order_relaxed) == pp_sys_gettid() ? slot : NULL;
}

static void *run_thread(void *argument)
{
    struct pp_slot *slot = argument;
    void *(*start)(void *) = slot->start_routine;
    void *start_argument = slot->start_argument;
    /* glibc puts a thread's descriptor at the top of its stack, above every frame */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), self = (uintptr_t)pthread_self();
    pp_interpose_thread(slot);
    uintptr_t top = self > here ? self & ~(uintptr_t)7 : 0;
    pp_thread_begin(slot, top > slot->stack_size && slot->stack_size ? top - slot->stack_size : 0, top);
    return start(start_argument);
}

/* That of a thread with these attributes; 0: unknown. */
static size_t stack_size_of(const pthread_attr_t *attributes)
{
    const struct pp_real *libc = pp_real();
    pthread_attr_t usual;
    size_t size = 0;
    if (!libc->pthread_attr_getstacksize)
        return 0;
    if (attributes)
        return libc->pthread_attr_getstacksize(attributes, &size) == 0 ? size : 0;
    if (libc->pthread_attr_init(&usual) != 0)
        return 0;
    if (libc->pthread_attr_getstacksize(&usual, &size) != 0)
        size = 0;
    libc->pthread_attr_destroy(&usual);
    return size;
}

PP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                             void *argument)
{
    const struct pp_real *libc = pp_real();
    /* an interpreter that was loaded with RTLD_DEEPBIND does not call our pthread_condattr_setclock */
    if (!atomic_load(&registering))
        pp_start_if_initialized();
    /* in the child of a raw fork nobody would drain it */
    bool registered = atomic_load(&registering) && pp_process_is_profiled();
    struct pp_slot *slot = registered ? pp_slot_claim() : NULL;
    if (!slot)
        return libc->pthread_create ? libc->pthread_create(thread, attributes, start, argument) : ENOSYS;
    slot->start_routine = start;
    slot->start_argument = argument;
    slot->stack_size = stack_size_of(attributes);
    /* a thread inherits its creator's mask: what that believes it to be */
    const struct pp_slot *creator = pp_slot_here();
    slot->believes_blocked = creator && creator->believes_blocked;
    int error = libc->pthread_create(thread, attributes, run_thread, slot);
    if (error)
        pp_slot_release(slot);
    return error;
}

/* No TLS in here: the thread may share its creator's. */
static int run_bare_thread(void *argument)
{
    struct pp_slot *slot = argument;
    int (*start)(void *) = (int (*)(void *))(uintptr_t)slot->start_routine;
    void *start_argument = slot->start_argument;
    pp_thread_begin_bare(slot);
    int result = start(start_argument);
    pp_thread_end(slot);
    return result;
}

/* Else a scan would find the thread, a second late, and nobody would see its end. */
PP_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    const struct pp_real *libc = pp_real();
    va_list more;
    va_start(more, argument);
    void *parent_tid = va_arg(more, void *), *tls = va_arg(more, void *), *child_tid = va_arg(more, void *);
    va_end(more);
    if (!libc->clone) {
        errno = ENOSYS;
        return -1;
    }
    bool registered = (flags & CLONE_THREAD) && start && stack && atomic_load(&registering) && pp_process_is_profiled();
    struct pp_slot *slot = registered ? pp_slot_claim() : NULL;
    if (!slot)
        return libc->clone(start, stack, flags, argument, parent_tid, tls, child_tid);
    slot->start_routine = (void *(*)(void *))(uintptr_t)start;
    slot->start_argument = argument;
    uintptr_t stack_low = 0, end;
    bool known = pp_mapping_around((uintptr_t)stack - 1, &stack_low, &end);
    pp_thread_has_stack(slot, known ? (uintptr_t)stack - stack_low : 0);
    atomic_store(&slot->stack_low, stack_low);
    atomic_store(&slot->stack_top, (uintptr_t)stack);
    int tid = libc->clone(run_bare_thread, stack, flags, slot, parent_tid, tls, child_tid), error = errno;
    if (tid == -1)
        pp_slot_release(slot);
    errno = error;
    return tid;
}

/* CPython calls this once at its start, and hardly anything else does: the sign that Python is here (design D12). */
PP_EXPORT int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    pp_start((uintptr_t)__builtin_return_address(0));
    const struct pp_real *libc = pp_real();
    return libc->pthread_condattr_setclock ? libc->pthread_condattr_setclock(attributes, clock) : ENOSYS;
}

/* The functions that fork come back in the child after every atfork handler has run, so that the child's allocator is
 * usable again: only there may its flush thread be made. */
PP_EXPORT pid_t fork(void)
{
    const struct pp_real *libc = pp_real();
    if (!libc->fork) {
        errno = ENOSYS;
        return -1;
    }
    pid_t pid = libc->fork();
    if (pid == 0)
        pp_flush_thread_in_child();
    return pid;
}

PP_EXPORT int forkpty(int *master, char *name, const struct termios *terminal, const struct winsize *window)
{
    const struct pp_real *libc = pp_real();
    if (!libc->forkpty) {
        errno = ENOSYS;
        return -1;
    }
    int pid = libc->forkpty(master, name, terminal, window);
    if (pid == 0)
        pp_flush_thread_in_child();
    return pid;
}

PP_EXPORT int daemon(int keep_directory, int keep_descriptors)
{
    const struct pp_real *libc = pp_real();
    if (!libc->daemon) {
        errno = ENOSYS;
        return -1;
    }
    pp_flush_before_exec(); /* the parent ends by libc's own _exit */
    int result = libc->daemon(keep_directory, keep_descriptors);
    pp_flush_thread_in_child(); /* it may have failed after its fork */
    return result;
}

/* /proc/self/stat with one thread where it has two, NULL where it has not. */
static FILE *open_stat_of_one_thread(const char *mode)
{
    static char text[STAT_MAX];
    FILE *(*open_memory)(void *, size_t, const char *);
    *(void **)&open_memory = pp_real_symbol(RTLD_DEFAULT, "fmemopen");
    size_t length = pp_read_file("/proc/self/stat", text, sizeof text - 1);
    text[length] = 0;
    char *field = strrchr(text, ')');
    for (int i = 0; field && i < FIELDS_TO_THREADS; i++)
        field = strchr(field + 1, ' ');
    if (!open_memory || !field || strncmp(field, " 2 ", 3) != 0)
        return NULL;
    field[1] = '1';
    return open_memory(text, length, mode);
}

/* CPython 3.12 and later warn when os.fork() finds more than one thread in /proc/self/stat, which they read through
 * fopen. A program of one thread is to get no warning because of ours: that one file is answered without it, to the
 * interpreter only (others may keep the stream open and read it again). */
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

/* Up to 3.13 a thread that waits for the GIL checks every 5 ms whether its interpreter is finalizing, and leaves. If it
 * does so when the interpreter's memory is gone already it crashes: that takes luck where the process ends 0.1 ms
 * later, and none with the some ms of our last flush in between. So these threads get the time to leave before. */
static void let_python_threads_leave(const struct pp_python *python)
{
    static const struct timespec pause = {0, FINALIZED_PAUSE_NS};
    uintptr_t finalizing = 0;
    if (python->layout.minor > LAST_DANGEROUS_MINOR ||
        !pp_safe_read(pp_sys_getpid(), &finalizing, python->runtime + python->layout.runtime.finalizing,
                      sizeof finalizing) ||
        !finalizing)
        return;
    for (int i = 0; i < FINALIZED_PAUSES && pp_other_threads(true); i++)
        pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
}

/* The first sign of an interpreter that has finished: it gives up the key of its thread states. */
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

static _Noreturn void leave(int status)
{
    pp_flush_at_exit();
    if (pp_real()->_exit)
        pp_real()->_exit(status);
    for (;;)
        pp_syscall4(SYS_exit_group, status, 0, 0, 0);
}

PP_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

PP_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}

PP_EXPORT _Noreturn void quick_exit(int status)
{
    pp_flush_at_exit();
    if (pp_real()->quick_exit)
        pp_real()->quick_exit(status);
    leave(status);
}
