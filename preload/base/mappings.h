#ifndef PP_FLUSH_STACK_BOUNDS_H
#define PP_FLUSH_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* The mapping that holds `address`, by /proc/self/maps: [*start, *end). False if there is none. Normal context, no
 * allocation. */
bool pp_mapping_around(uintptr_t address, uintptr_t *start, uintptr_t *end);

#endif
