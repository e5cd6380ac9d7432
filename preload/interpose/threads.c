/* SPDX-License-Identifier: Apache-2.0 */
/* interpose/ wraps functions of libc that the program calls: each does for the caller what libc's does, and a little
 * for us; before profiling starts and in the child of vfork it only passes the call through. Here: the functions that
 * make threads. */
#include "../base/libc.h"
#include "../base/libc_kind.h"
#include "../base/mappings.h"
#include "../base/process.h"
#include "../start.h"
#include "../threads/registry.h"
#include <errno.h>
#include <stdarg.h>

/* Is a function of its own: run_thread jumps to the thread's function, so that no frame of ours is in the stacks. */
static __attribute__((noinline)) void begin_thread(struct pp_slot *slot)
{
    uintptr_t low = 0, size = slot->thread.stack_size;
    uintptr_t top = pp_libc_stack_top((uintptr_t)pthread_self(), (uintptr_t)__builtin_frame_address(0), &low);
    pp_thread_begin(slot, !low && size && top > size ? top - size : low, top);
}

static void *run_thread(void *argument)
{
    struct pp_slot *slot = argument;
    void *(*start)(void *) = slot->thread.start_routine;
    void *start_argument = slot->thread.start_argument;
    begin_thread(slot);
    return start(start_argument);
}

/* Returns the stack size of a thread with these attributes; 0: unknown. */
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
    if (!pp_is_enabled())
        pp_start_if_initialized();
    struct pp_slot *slot = pp_is_enabled() ? pp_slot_claim() : NULL;
    if (!slot)
        return libc->pthread_create ? libc->pthread_create(thread, attributes, start, argument) : ENOSYS;
    slot->thread.start_routine = start;
    slot->thread.start_argument = argument;
    slot->thread.stack_size = stack_size_of(attributes);
    int error = libc->pthread_create(thread, attributes, run_thread, slot);
    if (error)
        pp_slot_release(slot);
    return error;
}

/* No TLS in here: the thread may share its creator's. */
static int run_bare_thread(void *argument)
{
    struct pp_slot *slot = argument;
    int (*start)(void *) = (int (*)(void *))(uintptr_t)slot->thread.start_routine;
    void *start_argument = slot->thread.start_argument;
    pp_thread_begin_bare(slot);
    int result = start(start_argument);
    pp_thread_end(slot);
    return result;
}

/* Without this a scan would find the thread a second late, and its end would not be noticed. */
PP_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    va_list more;
    va_start(more, argument);
    void *parent_tid = va_arg(more, void *), *tls = va_arg(more, void *), *child_tid = va_arg(more, void *);
    va_end(more);
    PP_REQUIRE(clone);
    bool registered = (flags & CLONE_THREAD) && start && stack && pp_is_enabled();
    struct pp_slot *slot = registered ? pp_slot_claim() : NULL;
    if (!slot)
        return pp_real()->clone(start, stack, flags, argument, parent_tid, tls, child_tid);
    slot->thread.start_routine = (void *(*)(void *))(uintptr_t)start;
    slot->thread.start_argument = argument;
    uintptr_t stack_low = 0, end;
    bool known = pp_mapping_around((uintptr_t)stack - 1, &stack_low, &end);
    pp_thread_has_stack(slot, known ? (uintptr_t)stack - stack_low : 0);
    atomic_store(&slot->thread.stack_low, stack_low);
    atomic_store(&slot->thread.stack_top, (uintptr_t)stack);
    int tid = pp_real()->clone(run_bare_thread, stack, flags, slot, parent_tid, tls, child_tid), error = errno;
    if (tid == -1)
        pp_slot_release(slot);
    errno = error;
    return tid;
}
