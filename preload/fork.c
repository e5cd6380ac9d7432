/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/libc.h"
#include "base/loader_lock.h"
#include "base/memory_file.h"
#include "base/process.h"
#include "base/syscalls.h"
#include "capture/capture.h"
#include "flush/fork_gate.h"
#include "flush/lifecycle.h"
#include "libunwind/libunwind.h"
#include "modules/jit_code.h"
#include "modules/modules.h"
#include "start.h"
#include "threads/after_fork.h"
#include "threads/registry.h"
#include <stddef.h>

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

/* The forks that this thread has under way: atfork handlers of the program take their time, and a signal handler may
 * fork meanwhile, whose child may come back to the fork that was interrupted. Other threads have theirs. A thread made
 * by a bare clone() shares its creator's, hence the tid. */
static __thread struct {
    int tid;
    unsigned depth, inherited; /* of these, the outer ones that began in the parent */
    uint64_t added;            /* to the mask */
} forking;

static void before_fork(void)
{
    int tid = pp_sys_gettid();
    if (atomic_load(&pp_process.silent) || (forking.depth && forking.tid != tid))
        return;
    forking.tid = tid;
    if (forking.depth++ == 0)
        forking.added = 0;
    /* our thread is not inside the loader when the child is copied */
    pp_fork_gate_fork_begins();
    if (forking.depth > 1)
        return;
    pp_libunwind_before_fork();
    /* a fork that is interrupted on some kernels starts again, for ever if it takes longer than a tick */
    forking.added = pp_profiler_signal_bit();
    forking.added &= ~pp_sys_signal_mask(SIG_BLOCK, forking.added);
}

/* What else is blocked may be other signals than before: those of a handler that has forked. */
static void unblock(void)
{
    pp_sys_signal_mask(SIG_UNBLOCK, forking.added);
}

static void after_fork_in_parent(void)
{
    if (!forking.depth || forking.tid != pp_sys_gettid())
        return;
    bool inherited = forking.depth == forking.inherited;
    if (forking.depth == 1 && !inherited)
        pp_libunwind_after_fork(false);
    if (forking.depth == 1)
        unblock();
    forking.depth--;
    if (inherited)
        forking.inherited--;
    else
        pp_fork_gate_fork_ends();
}

/* Forgets what only the parent's other threads could have gone on with, and what is only the parent's to write. */
static void forget_parent(void)
{
    pp_arena_after_fork();         /* memory that its flush thread was giving back */
    pp_memory_file_after_fork();   /* its memory, which ours must not be read from */
    pp_process_after_fork();       /* its number, how it began, which thread was ending it */
    pp_flush_after_fork();         /* its flush thread, the forks under way, what was not written, its file */
    pp_threads_after_fork();       /* its threads: slots, timers, handlers at work, suspects of the scan */
    pp_libunwind_after_fork(true); /* the pause for this fork; libunwind itself, if a handler may have been in it */
    pp_loader_lock_after_fork();   /* whether the loader's lock is held by a thread that is not here, and that it is */
    pp_modules_after_fork();       /* the list of modules, which may have been half read */
    pp_jit_code_after_fork();      /* its perf map; the registered code, if that was being changed */
}

static void after_fork_in_child(void)
{
    if (atomic_load(&pp_process.silent)) {
        if (forking.depth)
            unblock();
        return;
    }
    const struct pp_slot *caller = pp_slot_of(forking.tid);
    bool blocks = caller && caller->thread.believes_blocked;
    /* 0, unknown: the flush thread finds it when the first signal comes */
    uintptr_t stack_low = caller ? atomic_load(&caller->thread.stack_low) : 0;
    uintptr_t stack_top = caller ? atomic_load(&caller->thread.stack_top) : 0;
    forget_parent();
    if (forking.depth) {
        unblock(); /* before the new slot reads the mask; the return from a signal handler may block it again */
        forking.inherited = --forking.depth;
    }
    forking.tid = pp_sys_gettid();
    struct pp_slot *slot = pp_slot_claim();
    if (slot) {
        slot->thread.believes_blocked = blocks;
        pp_thread_begin(slot, stack_low, stack_top);
    }
    atomic_store(&pp_process.main_watched, slot != NULL);
}

bool pp_fork_watch(void)
{
    if (__register_atfork)
        return __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL) == 0;
    /* glibc has none in the library: each program has its own, which calls the function above */
    int (*atfork)(void (*)(void), void (*)(void), void (*)(void));
    *(void **)&atfork = pp_real_symbol(RTLD_DEFAULT, "pthread_atfork");
    return atfork && atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}
