/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the address space: pages, and where a program's memory ends. */
#ifndef PP_ARCH_AARCH64_MEMORY_H
#define PP_ARCH_AARCH64_MEMORY_H

#include <stdint.h>

/* No page is smaller. */
#define PP_PAGE_MIN 4096u

extern uint32_t pp_page_bytes; /* 0: not asked for yet */
void pp_page_size_learn(void);

/* Returns the size of a page: 4, 16 or 64 KiB, by the kernel's configuration. async-signal-safe. */
static inline uintptr_t pp_page_size(void)
{
    if (__builtin_expect(!__atomic_load_n(&pp_page_bytes, __ATOMIC_RELAXED), 0))
        pp_page_size_learn();
    return __atomic_load_n(&pp_page_bytes, __ATOMIC_RELAXED);
}

/* The last address that the kernel gives to a program that does not ask for more. */
#define PP_HIGHEST_ADDRESS 0xffffffffffffu

#endif
