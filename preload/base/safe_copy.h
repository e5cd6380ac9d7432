/* Copies of this process's memory that another thread may unmap at any moment (a module being unloaded). */
#ifndef PP_BASE_SAFE_COPY_H
#define PP_BASE_SAFE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of the range or false; never faults. By process_vm_readv, and where that is denied by /proc/self/mem. */
bool pp_safe_copy(void *to, uintptr_t from, size_t size);

/* The same into fresh pages (pp_unmap them, with the same size); NULL when it fails. */
void *pp_safe_copy_mapped(uintptr_t from, size_t size);

#endif
