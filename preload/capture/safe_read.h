/* SPDX-License-Identifier: Apache-2.0 */
/* Reads through pointers that may be stale: the kernel copies, so an unmapped page is an error and not a fault. */
#ifndef PP_CAPTURE_SAFE_READ_H
#define PP_CAPTURE_SAFE_READ_H

#include "../base/syscalls.h"
#include <stdbool.h>
#include <string.h>

#define PP_LOWEST_ADDRESS 0x10000u

/* Whether an object could be at the address. async-signal-safe. */
static inline bool pp_plausible(uintptr_t address)
{
    return address >= PP_LOWEST_ADDRESS && address < PP_HIGHEST_ADDRESS && address % 8 == 0;
}

/* Copies size bytes from address; false if not all of them are readable. async-signal-safe. */
static inline bool pp_safe_read(int pid, void *to, uintptr_t address, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)address, size};
    return pp_sys_safe_copy(pid, &local, 1, &remote, 1) == (long)size;
}

/* Loads a field of a structure in our own memory, or in memory that cannot be freed meanwhile. async-signal-safe. */
static inline uintptr_t pp_word(const void *base, unsigned offset)
{
    uintptr_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static inline uint32_t pp_u32(const void *base, unsigned offset)
{
    uint32_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

#endif
