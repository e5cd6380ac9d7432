/* SPDX-License-Identifier: Apache-2.0 */
#include "libunwind.h"
#include "../base/elf_names.h"
#include "../base/libc.h"
#include "../base/loader_lock.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../capture/libunwind_walk.h"
#include "../threads/registry.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>

#define LIBRARY         "libunwind.so.8"
#define PREFIX          "_UL" PP_LIBUNWIND_NAME "_"
#define GUARD           0x5AA5C33C96690FF0u
#define WAIT_NS         10000000u /* for handlers of other threads, which take some 0.1 ms */
#define MAX_TRIAL       4         /* frames */
#define MAX_DESCRIPTORS 4096u     /* a new one has the lowest number that is free */

static struct pp_libunwind library;
static void (*flush_cache)(void *space, uintptr_t low, uintptr_t high);
static void **local_space;
static bool loaded;
static bool quiet; /* no handler was in it when the fork began */

static void *symbol(void *handle, const char *prefix, const char *name)
{
    char whole[64];
    return pp_real_symbol(handle, pp_format(whole, sizeof whole, "%s%s", prefix, name));
}

/* Makes libunwind create its pipe: it guesses where it has no unwind information, and first tests the memory by the
 * pipe. */
static void try_memory(int (*get_context)(void *))
{
    static uint64_t cursor[PP_LIBUNWIND_CURSOR_WORDS];
    static ucontext_t context;
    static uintptr_t stack[8];
    if (get_context(&context) != 0)
        return;
    pp_context_set(&context, 1, (uintptr_t)stack, (uintptr_t)stack);
    if (library.init(cursor, &context, 0) == 0)
        library.step(cursor);
}

/* Whether it walks from this function to its caller and on, within the cursor that we have for it. Its first use is
 * here, in normal context, since it allocates. */
static __attribute__((noinline)) bool works(int (*get_context)(void *))
{
    static uint64_t cursor[2 * PP_LIBUNWIND_CURSOR_WORDS];
    static ucontext_t context;
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0), caller = (uintptr_t)__builtin_return_address(0), pc = 0;
    for (unsigned i = 0; i < 2 * PP_LIBUNWIND_CURSOR_WORDS; i++)
        cursor[i] = GUARD;
    if (get_context(&context) != 0 || library.init(cursor, &context, 0) != 0 || library.step(cursor) <= 0 ||
        library.get_register(cursor, PP_LIBUNWIND_PC, &pc) != 0 || pc != caller)
        return false;
    for (unsigned i = 0; i < MAX_TRIAL; i++)
        if (library.step(cursor) <= 0 || library.is_signal_frame(cursor) < 0)
            break;
    if (library.get_register(cursor, PP_REG_SP, &pc) != 0 || pc <= sp)
        return false;
    for (unsigned i = PP_LIBUNWIND_CURSOR_WORDS; i < 2 * PP_LIBUNWIND_CURSOR_WORDS; i++)
        if (cursor[i] != GUARD)
            return false;
    return true;
}

static uint8_t open_before[MAX_DESCRIPTORS];

/* Notes the open descriptors, before anything of libunwind is called. */
static void note_descriptors(void)
{
    for (int fd = 0; fd < (int)MAX_DESCRIPTORS; fd++)
        open_before[fd] = pp_syscall4(SYS_fcntl, fd, F_GETFD, 0, 0) >= 0;
}

static bool is_pipe(int fd, long mode, struct stat *status)
{
    return pp_syscall4(SYS_fstat, fd, (long)status, 0, 0) == 0 && S_ISFIFO(status->st_mode) &&
           (pp_syscall4(SYS_fcntl, fd, F_GETFL, 0, 0) & (O_ACCMODE | O_NONBLOCK)) == (mode | O_NONBLOCK);
}

/* Finds both ends of the only new pipe. */
static bool find_ends(int ends[2], struct stat *status)
{
    static const long modes[] = {O_RDONLY, O_WRONLY};
    struct stat other;
    unsigned found[2] = {0, 0};
    for (int fd = 0; fd < (int)MAX_DESCRIPTORS; fd++)
        for (unsigned end = 0; end < 2; end++)
            if (!open_before[fd] && is_pipe(fd, modes[end], end ? &other : status)) {
                ends[end] = fd;
                found[end]++;
            }
    return found[0] == 1 && found[1] == 1 && is_pipe(ends[0], O_RDONLY, status) && status->st_dev == other.st_dev &&
           status->st_ino == other.st_ino;
}

struct search {
    uintptr_t function;
    const int *ends, *found;
};

/* Searches libunwind's writable data. A thread-local pipe is not there. */
static int find_numbers(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    if (!pp_elf_segment(info, search->function, 1, PF_X))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
            continue;
        const int *words = (const int *)((info->dlpi_addr + header->p_vaddr + 3) & ~(uintptr_t)3);
        const int *end = (const int *)((info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(uintptr_t)3);
        for (; words + 1 < end && !search->found; words++)
            if (words[0] == search->ends[0] && words[1] == search->ends[1])
                search->found = words;
    }
    return 1;
}

/* Finds its pipe after it has tried memory. False: there is none, it is not in its data, or another thread has opened
 * pipes meanwhile. */
static bool find_pipe(void)
{
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    int ends[2];
    struct stat status;
    struct search search = {.function = (uintptr_t)library.step, .ends = ends};
    *(void **)&iterate = pp_real_symbol(RTLD_DEFAULT, "dl_iterate_phdr");
    if (!iterate || !find_ends(ends, &status))
        return false;
    iterate(find_numbers, &search);
    library.pipe = search.found;
    library.pipe_device = status.st_dev;
    library.pipe_inode = status.st_ino;
    return library.pipe;
}

static const char *load(void)
{
    const struct pp_real *libc = pp_real();
    int (*get_context)(void *);
    library.loader_lock = (const _Atomic int *)pp_loader_lock();
    if (!library.loader_lock)
        return "the loader's lock is not where glibc has it";
    /* when the program calls it, its blocking of all signals does not block ours: a thread would wait for itself */
    if (libc->dlopen && libc->dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
        return "the program uses " LIBRARY " itself";
    note_descriptors();
    /* RTLD_LOCAL: its _Unwind_* must not override libgcc's. RTLD_NOW: handlers must not bind symbols. */
    void *handle = libc->dlopen ? libc->dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (!handle)
        return LIBRARY " cannot be loaded";
    *(void **)&library.init = symbol(handle, PREFIX, "init_local2");
    *(void **)&library.step = symbol(handle, PREFIX, "step");
    *(void **)&library.get_register = symbol(handle, PREFIX, "get_reg");
    *(void **)&library.is_signal_frame = symbol(handle, PREFIX, "is_signal_frame");
    *(void **)&get_context = symbol(handle, "_U" PP_LIBUNWIND_NAME "_", "getcontext");
    *(void **)&flush_cache = symbol(handle, "_U" PP_LIBUNWIND_NAME "_", "flush_cache");
    local_space = symbol(handle, PREFIX, "local_addr_space");
    if (!library.init || !library.step || !library.get_register || !library.is_signal_frame || !get_context ||
        !flush_cache || !local_space)
        return LIBRARY " lacks functions that are needed (1.3 or later has them)";
    library.error_location = __errno_location;
    if (!works(get_context))
        return LIBRARY " does not find the way out of its own caller";
    try_memory(get_context);
    /* another way to try memory may do harm */
    return find_pipe() ? NULL : "the pipe of " LIBRARY " is not found";
}

static void warn_not_used(const char *why)
{
    pp_warn_once(PP_CAUSE_LIBUNWIND, "PYPROF_UNWIND=libunwind: %s: using the own unwind rows", why);
}

void pp_libunwind_load(void)
{
    const char *why = load();
    loaded = !why;
    if (loaded)
        atomic_store(&pp_capture.libunwind, &library);
    else
        warn_not_used(why);
}

void pp_libunwind_poll(void)
{
    if (loaded && !atomic_load(&pp_capture.libunwind))
        warn_not_used("the program has closed the pipe that it needs");
}

void pp_libunwind_forget(void)
{
    if (atomic_load(&pp_capture.libunwind))
        flush_cache(*local_space, 0, 0);
}

void pp_libunwind_before_fork(void)
{
    if (!atomic_load(&pp_capture.libunwind))
        return;
    atomic_fetch_add(&pp_capture.libunwind_pauses, 1);
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
    while (!(quiet = pp_handlers_quiet()) && pp_sys_clock_ns(CLOCK_MONOTONIC) < end)
        pp_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

void pp_libunwind_after_fork(bool in_child)
{
    if (!atomic_load(&pp_capture.libunwind))
        return;
    if (!in_child) {
        atomic_fetch_sub(&pp_capture.libunwind_pauses, 1);
        return;
    }
    atomic_store(&pp_capture.libunwind_pauses, 0);
    if (quiet)
        return;
    loaded = false;
    atomic_store(&pp_capture.libunwind, NULL);
}
