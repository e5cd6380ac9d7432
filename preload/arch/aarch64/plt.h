/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_ARCH_AARCH64_PLT_H
#define PP_ARCH_AARCH64_PLT_H

#include <stddef.h>
#include <stdint.h>

/* An entry pushes nothing. */
#define PP_PLT_CFA_OFFSET 0

uint8_t pp_plt_expression(const uint8_t *expression, size_t size);
uintptr_t pp_plt_pushed(uintptr_t pc, uint8_t from);

#endif
