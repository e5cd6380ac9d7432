/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_slot.h"
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"

#define END_ROUNDS 3 /* of glibc's 4 over key destructors: ours runs after the application's */

static pthread_key_t end_key;
static void (*at_end)(struct pp_slot *slot);

static void on_thread_end(void *argument)
{
    struct pp_slot *slot = argument;
    if (!pp_is_enabled() || atomic_load(&slot->state) != PP_SLOT_LIVE || atomic_load(&slot->tid) != pp_sys_gettid())
        return; /* a fork gave the slot away */
    if (++slot->thread.end_rounds < END_ROUNDS && pp_real()->pthread_setspecific(end_key, slot) == 0)
        return;
    at_end(slot);
}

bool pp_threads_watch_ends(void (*on_end)(struct pp_slot *slot))
{
    const struct pp_real *libc = pp_real();
    if (!libc->pthread_create || !libc->pthread_sigmask || !libc->pthread_setspecific || !libc->pthread_getspecific ||
        !libc->pthread_attr_init || !libc->pthread_attr_setstacksize || !libc->pthread_attr_destroy ||
        !libc->pthread_key_create || libc->pthread_key_create(&end_key, on_thread_end) != 0)
        return false;
    at_end = on_end;
    return true;
}

void pp_thread_bind(struct pp_slot *slot)
{
    if (at_end)
        pp_real()->pthread_setspecific(end_key, slot);
}

struct pp_slot *pp_slot_here(void)
{
    if (!pp_is_enabled() || !at_end)
        return NULL;
    struct pp_slot *slot = pp_real()->pthread_getspecific(end_key);
    /* another thread's in a raw clone that shares this thread's TLS, or given away by a fork */
    return slot && atomic_load_explicit(&slot->tid, memory_order_relaxed) == pp_sys_gettid() ? slot : NULL;
}
