#include "libunwind.h"
#include "capture/capture.h"
#include "interpose.h"
#include "libunwind_pipe.h"
#include "say.h"
#include "syscalls.h"
#include "threads.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <ucontext.h>

#define LIBRARY           "libunwind.so.8"
#define PREFIX            "_ULx86_64_"
#define GUARD             0x5AA5C33C96690FF0u
#define WAIT_NS           10000000u /* for handlers of other threads; one takes some 0.1 ms */
#define MAX_TRIAL         4         /* frames */
#define MAX_WORDS         4096
#define OWNER_BEHIND_LOCK 2 /* ints, in pthread_mutex_t: lock, count, owner */

static struct pp_libunwind library;
static void (*flush_cache)(void *space, uintptr_t low, uintptr_t high);
static void **local_space;
static bool loaded;
static bool quiet; /* no handler was in it when the fork began */

static void *symbol(void *handle, const char *prefix, const char *name)
{
    char whole[64];
    struct pp_text text;
    pp_text_init(&text, whole, sizeof whole);
    pp_text_add(&text, prefix);
    pp_text_add(&text, name);
    return pp_real_symbol(handle, whole);
}

/* Where it knows no way it guesses, and tries memory first: for that it makes its pipe. */
static void try_memory(int (*get_context)(void *))
{
    static uint64_t cursor[PP_LIBUNWIND_CURSOR_WORDS];
    static ucontext_t context;
    static uintptr_t stack[8];
    if (get_context(&context) != 0)
        return;
    context.uc_mcontext.gregs[REG_RIP] = 1;
    context.uc_mcontext.gregs[REG_RSP] = context.uc_mcontext.gregs[REG_RBP] = (long long)(uintptr_t)stack;
    if (library.init(cursor, &context, 0) == 0)
        library.step(cursor);
}

/* Whether it walks: out of this function into its caller and on, within the cursor that we have for it. What it makes
 * at its first use is made here, in normal context. */
static __attribute__((noinline)) bool works(int (*get_context)(void *))
{
    static uint64_t cursor[2 * PP_LIBUNWIND_CURSOR_WORDS];
    static ucontext_t context;
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0), caller = (uintptr_t)__builtin_return_address(0), pc = 0;
    for (unsigned i = 0; i < 2 * PP_LIBUNWIND_CURSOR_WORDS; i++)
        cursor[i] = GUARD;
    if (get_context(&context) != 0 || library.init(cursor, &context, 0) != 0 || library.step(cursor) <= 0 ||
        library.get_register(cursor, PP_REG_RA, &pc) != 0 || pc != caller)
        return false;
    for (unsigned i = 0; i < MAX_TRIAL; i++)
        if (library.step(cursor) <= 0 || library.is_signal_frame(cursor) < 0)
            break;
    if (library.get_register(cursor, PP_REG_RSP, &pc) != 0 || pc <= sp)
        return false;
    for (unsigned i = PP_LIBUNWIND_CURSOR_WORDS; i < 2 * PP_LIBUNWIND_CURSOR_WORDS; i++)
        if (cursor[i] != GUARD)
            return false;
    return true;
}

/* glibc keeps the lock in _rtld_global and says nowhere where. Its owner is a word that is our tid while the list is
 * walked, and 0 before and after; two words before it stands the lock itself. That is what counts: a thread that was
 * interrupted between taking it and writing its tid down waited for itself. */
struct search {
    const int *words;
    size_t count;
    const int *found;
    unsigned matches;
};

static int find_end(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)search->words >= start && (uintptr_t)search->words < end)
            search->count = (end - (uintptr_t)search->words) / sizeof *search->words;
    }
    return 0;
}

static int compare(struct dl_phdr_info *info, size_t size, void *argument)
{
    static int before[MAX_WORDS];
    struct search *search = argument;
    int tid = pp_sys_gettid();
    (void)size;
    if (!info) {
        memcpy(before, search->words, search->count * sizeof *before);
        return 0;
    }
    volatile const int *now = search->words;
    for (size_t i = OWNER_BEHIND_LOCK; i < search->count; i++)
        if (before[i] == 0 && now[i] == tid && before[i - OWNER_BEHIND_LOCK] == 0 && now[i - OWNER_BEHIND_LOCK] != 0) {
            search->found = &search->words[i - OWNER_BEHIND_LOCK];
            search->matches++;
        }
    return 1;
}

static const int *loader_lock(void)
{
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    *(void **)&iterate = pp_real_symbol(RTLD_DEFAULT, "dl_iterate_phdr");
    struct search search = {.words = pp_real_symbol(RTLD_DEFAULT, "_rtld_global")};
    if (!iterate || !search.words)
        return NULL;
    iterate(find_end, &search);
    search.count = search.count < MAX_WORDS ? search.count : MAX_WORDS;
    compare(NULL, 0, &search);
    iterate(compare, &search);
    return search.matches == 1 && *(volatile const int *)search.found == 0 ? search.found : NULL;
}

static const char *load(void)
{
    const struct pp_real *libc = pp_real();
    int (*get_context)(void *);
    /* our signal is not blocked by what it does outside handlers to block all: a thread would wait for itself */
    if (libc->dlopen && libc->dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
        return "the program uses " LIBRARY " itself";
    pp_libunwind_pipe_before();
    /* RTLD_LOCAL: its _Unwind_* are not to stand in front of libgcc's. RTLD_NOW: handlers must not bind symbols. */
    void *handle = libc->dlopen ? libc->dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (!handle)
        return LIBRARY " cannot be loaded";
    *(void **)&library.init = symbol(handle, PREFIX, "init_local2");
    *(void **)&library.step = symbol(handle, PREFIX, "step");
    *(void **)&library.get_register = symbol(handle, PREFIX, "get_reg");
    *(void **)&library.is_signal_frame = symbol(handle, PREFIX, "is_signal_frame");
    *(void **)&get_context = symbol(handle, "_Ux86_64_", "getcontext");
    *(void **)&flush_cache = symbol(handle, "_Ux86_64_", "flush_cache");
    local_space = symbol(handle, PREFIX, "local_addr_space");
    if (!library.init || !library.step || !library.get_register || !library.is_signal_frame || !get_context ||
        !flush_cache || !local_space)
        return LIBRARY " lacks functions that are needed (1.3 or later has them)";
    library.error_location = __errno_location;
    library.loader_lock = (const _Atomic int *)loader_lock();
    if (!library.loader_lock)
        return "the loader's lock is not where glibc has it";
    if (!works(get_context))
        return LIBRARY " does not find the way out of its own caller";
    try_memory(get_context);
    /* another way to try memory may be without harm, or not: unknown */
    return pp_libunwind_pipe_find(&library, (uintptr_t)library.step) ? NULL : "the pipe of " LIBRARY " is not found";
}

static void say_not_used(const char *why)
{
    char line[256];
    struct pp_text text;
    pp_text_init(&text, line, sizeof line);
    pp_text_add(&text, "PYPROF_UNWIND=libunwind: ");
    pp_text_add(&text, why);
    pp_text_add(&text, ": using the own unwind rows");
    pp_say_once(PP_CAUSE_LIBUNWIND, line);
}

void pp_libunwind_load(void)
{
    const char *why = load();
    loaded = !why;
    if (loaded)
        atomic_store(&pp_capture.libunwind, &library);
    else
        say_not_used(why);
}

void pp_libunwind_look(void)
{
    if (loaded && !atomic_load(&pp_capture.libunwind))
        say_not_used("the program has closed the pipe that it needs");
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
