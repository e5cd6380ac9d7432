/* SPDX-License-Identifier: Apache-2.0 */
/* Defines what the program may call (pyprof.h): the library's only functions that are not libc's. Async-signal-safe. */
#include "base/libc.h"
#include "capture/capture.h"
#include "flush/lifecycle.h"
#include "flush/requests.h"
#include "pyprof.h"
#include "start.h"
#include <errno.h>

static const char own_copy; /* its address tells this copy of the library from others */

/* Returns what only the copy of the library has whose functions the program finds. async-signal-safe. */
PP_EXPORT const void *pyprof_copy(void);

PP_EXPORT int pyprof_is_active(void)
{
    return pp_flush_thread_runs() && !atomic_load(&pp_capture.pauses) && !atomic_load(&pp_capture.stopped);
}

PP_EXPORT const void *pyprof_copy(void)
{
    return &own_copy;
}

/* A copy that has come first answers the call. The functions' addresses are not compared: that of a function which an
 * executable names may be the executable's own stub. */
bool pp_is_first_copy(void)
{
    const void *(*volatile first)(void) = pyprof_copy; /* volatile: clang would call its own */
    return first() == &own_copy;
}

PP_EXPORT int pyprof_pause(void)
{
    atomic_fetch_add(&pp_capture.pauses, 1);
    return 0;
}

/* Decrements the count, unless it is 0. */
static int decrement(_Atomic uint32_t *count)
{
    uint32_t before = atomic_load(count);
    while (before && !atomic_compare_exchange_weak(count, &before, before - 1))
        ;
    return 0;
}

PP_EXPORT int pyprof_resume(void)
{
    return decrement(&pp_capture.pauses);
}

PP_EXPORT int pyprof_traces_begin(void)
{
    atomic_fetch_add(&pp_capture.traces_begun, 1);
    atomic_store(&pp_capture.traces_met, 1);
    if (atomic_load(&pp_capture.traces_pause))
        pp_wake_flush(PP_WAKE_TRACES);
    return 0;
}

PP_EXPORT int pyprof_traces_end(void)
{
    return decrement(&pp_capture.traces_begun);
}

PP_EXPORT int pyprof_find_contexts(void)
{
    pp_wake_flush(PP_WAKE_CONTEXTS);
    return 0;
}

PP_EXPORT int pyprof_flush(void)
{
    int before = errno;
    pp_flush_before_signal();
    errno = before;
    return 0;
}

PP_EXPORT int pyprof_labels(const char *text)
{
    struct pp_slot *slot = pp_is_enabled() ? pp_slot_of(pp_sys_gettid()) : NULL;
    uint32_t length = 0;
    if (!slot)
        return -1;
    struct pp_thread_labels *labels = &slot->thread.labels;
    atomic_store(&labels->length, 0);
    for (; text && text[length] && length < PP_CONTEXT_TEXT_MAX; length++)
        labels->text[length] = text[length];
    labels->cut = text && text[length];
    atomic_store(&labels->length, length);
    return 0;
}

PP_EXPORT int pyprof_request(const char *endpoint, uint64_t cpu_ns)
{
    if (!atomic_load(&pp_capture.pauses) && !atomic_load(&pp_capture.stopped))
        pp_requests_add(endpoint, cpu_ns);
    return 0;
}
