/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes Go programs, whose stacks are not what signal handlers expect. */
#ifndef PP_MODULES_GO_RUNTIME_H
#define PP_MODULES_GO_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an object with Go's runtime is loaded. Takes the loader's lock, as dl_iterate_phdr does. */
bool pp_go_is_loaded(void);

/* Whether the object that holds this running code has Go's runtime. async-signal-safe, as sigaction is, and without the
 * loader's lock, which may be held for ever in the child of a fork. */
bool pp_go_holds(uintptr_t code);

#endif
