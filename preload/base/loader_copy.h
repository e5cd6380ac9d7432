/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the loader's tables: in place, or by copies where the program may take them away. */
#ifndef PP_BASE_LOADER_COPY_H
#define PP_BASE_LOADER_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From here on what the loader's list points to is copied: a filter of the program may kill for that, or permits it. */
void pp_loader_visit_by_copies(void);
bool pp_loader_is_copied(void);
/* Reads what the loader's list points to; false where copies are made and it is not there any more. */
bool pp_loader_read(void *to, uintptr_t from, size_t size);

#endif
