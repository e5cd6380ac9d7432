/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_ARCH_AARCH64_MEMORY_H
#define PP_ARCH_AARCH64_MEMORY_H

#include <stdint.h>

#define PP_PAGE_MIN 4096u

/* AT_PAGESZ: 4, 16 or 64 KiB, by the kernel's configuration. */
uintptr_t pp_page_size(void);

#define PP_HIGHEST_ADDRESS 0xffffffffffffu

#endif
