/* Programs in Go, whose stacks are not what signal handlers expect. */
#ifndef PP_MODULES_GO_RUNTIME_H
#define PP_MODULES_GO_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an object with Go's runtime is loaded. Takes the loader's lock, as dl_iterate_phdr does. */
bool pp_go_is_loaded(void);

/* Whether the object that holds this code, which is being executed, has Go's runtime. async-signal-safe: sigaction is,
 * and a thread that forks while another one is in the loader leaves the child with its lock. */
bool pp_go_holds(uintptr_t code);

#endif
