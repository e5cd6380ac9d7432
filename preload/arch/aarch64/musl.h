/* SPDX-License-Identifier: Apache-2.0 */
/* Musl's layout of a thread's descriptor on AArch64 is to be described: a program of musl is not profiled. No offset is
 * one that a descriptor can have, which pp_libc_find finds out. */
#ifndef PP_ARCH_AARCH64_MUSL_H
#define PP_ARCH_AARCH64_MUSL_H

#include <stdbool.h>
#include <stdint.h>

#define PP_MUSL_TID        0
#define PP_MUSL_STACK      0
#define PP_MUSL_STACK_SIZE 0
#define PP_MUSL_SPECIFIC   0

#define PP_PASS_ON_SIZE 4

static inline bool pp_passes_on_to(const uint8_t code[PP_PASS_ON_SIZE], uintptr_t at, uintptr_t function)
{
    (void)code, (void)at, (void)function;
    return false;
}

#endif
