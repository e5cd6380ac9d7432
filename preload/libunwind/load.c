#include "load.h"
#include "../base/libc.h"
#include "../base/loader_lock.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../threads/registry.h"
#include "pipe.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <ucontext.h>

#define LIBRARY   "libunwind.so.8"
#define PREFIX    "_UL" PP_LIBUNWIND_NAME "_"
#define GUARD     0x5AA5C33C96690FF0u
#define WAIT_NS   10000000u /* for handlers of other threads; one takes some 0.1 ms */
#define MAX_TRIAL 4         /* frames */

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
    context.uc_mcontext.gregs[PP_GREG_PC] = 1;
    context.uc_mcontext.gregs[PP_GREG_SP] = context.uc_mcontext.gregs[PP_GREG_FP] = (long long)(uintptr_t)stack;
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
    if (library.get_register(cursor, PP_REG_SP, &pc) != 0 || pc <= sp)
        return false;
    for (unsigned i = PP_LIBUNWIND_CURSOR_WORDS; i < 2 * PP_LIBUNWIND_CURSOR_WORDS; i++)
        if (cursor[i] != GUARD)
            return false;
    return true;
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
    *(void **)&get_context = symbol(handle, "_U" PP_LIBUNWIND_NAME "_", "getcontext");
    *(void **)&flush_cache = symbol(handle, "_U" PP_LIBUNWIND_NAME "_", "flush_cache");
    local_space = symbol(handle, PREFIX, "local_addr_space");
    if (!library.init || !library.step || !library.get_register || !library.is_signal_frame || !get_context ||
        !flush_cache || !local_space)
        return LIBRARY " lacks functions that are needed (1.3 or later has them)";
    library.error_location = __errno_location;
    library.loader_lock = (const _Atomic int *)pp_loader_lock();
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
    pp_warn_once(PP_CAUSE_LIBUNWIND, line);
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

void pp_libunwind_poll(void)
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
