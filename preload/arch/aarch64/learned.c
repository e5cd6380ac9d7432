/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what differs between kernels and versions of glibc, when it is asked for first: that is before the first
 * signal. */
#include "memory.h"
#include "tls.h"
#include <pthread.h>
#include <sys/auxv.h>

uint32_t pp_page_bytes, pp_descriptor_bytes;

void pp_page_size_learn(void)
{
    unsigned long size = getauxval(AT_PAGESZ);
    __atomic_store_n(&pp_page_bytes, size ? (uint32_t)size : PP_PAGE_MIN, __ATOMIC_RELAXED);
}

/* Right whatever the register points to: what is asked for is a distance. */
void pp_descriptor_size_learn(void)
{
    uintptr_t size = pp_own_thread_pointer() - (uintptr_t)pthread_self();
    __atomic_store_n(&pp_descriptor_bytes, (uint32_t)size, __ATOMIC_RELAXED);
}
