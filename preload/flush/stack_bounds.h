#ifndef PP_FLUSH_STACK_BOUNDS_H
#define PP_FLUSH_STACK_BOUNDS_H

#include <stdint.h>

/* End of the mapping that holds `address`, by /proc/self/maps; 0 if there is none. Normal context, no allocation. */
uintptr_t pp_mapping_end(uintptr_t address);

#endif
