/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the address space: pages, and where a program's memory ends. */
#ifndef PP_ARCH_X86_64_MEMORY_H
#define PP_ARCH_X86_64_MEMORY_H

#include <stdint.h>

/* No page is smaller. */
#define PP_PAGE_MIN 4096u

/* Returns the size of a page, which this processor leaves no choice. async-signal-safe. */
static inline uintptr_t pp_page_size(void)
{
    return PP_PAGE_MIN;
}

/* The last address that the kernel gives to a program that does not ask for more. */
#define PP_HIGHEST_ADDRESS 0x7fffffffffffu

#endif
