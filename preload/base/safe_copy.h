/* SPDX-License-Identifier: Apache-2.0 */
/* Copies memory of this process that another thread may unmap at any moment (a module being unloaded). */
#ifndef PP_BASE_SAFE_COPY_H
#define PP_BASE_SAFE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies all of the range or returns false; never faults. Where process_vm_readv is denied, uses /proc/self/mem. */
bool pp_safe_copy(void *to, uintptr_t from, size_t size);

/* Copies into fresh pages, which the caller unmaps with pp_unmap; NULL when it fails. */
void *pp_safe_copy_mapped(uintptr_t from, size_t size);

#endif
