/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is mapped where, by /proc/self/maps. No allocation; normal context. */
#ifndef PP_BASE_MAPPINGS_H
#define PP_BASE_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the mapping that holds the address: [*start, *end). Returns false if there is none. */
bool pp_mapping_around(uintptr_t address, uintptr_t *start, uintptr_t *end);

/* Writes the path of the file that is mapped at the address, cut to `size` with its NUL; "" when there is none. */
void pp_mapped_path(uintptr_t address, char *path, size_t size);

/* Inode and device, as stat has them, of the file that is mapped at the address; 0 when there is none. On overlays and
 * subvolumes stat has another device. */
uint64_t pp_mapped_inode(uintptr_t address, uint64_t *device);

#endif
