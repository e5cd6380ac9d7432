/* SPDX-License-Identifier: Apache-2.0 */
/* Names code that belongs to no module, by perf_map.h and gdb_jit.h. Flush thread only unless a function says
 * otherwise. */
#ifndef PP_MODULES_JIT_CODE_H
#define PP_MODULES_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pp_jit_name {
    const char *text; /* UTF-8 without control characters, not NUL-terminated; lives until the next call */
    size_t length;
    uintptr_t start; /* of the code */
};

/* Skips the present content of this pid's map, which is a dead process's. Call when Python appears. */
void pp_jit_code_skip_older(void);

/* Begins a flush, before samples are taken out of the rings: names that are read later hold for these samples. Costs
 * nothing until an address is asked for. */
void pp_jit_code_begin(void);

/* Finds the name of the code at the address, for samples taken since the last but one pp_jit_code_begin. Returns false,
 * and leaves *name, where none is known, or it may have changed since the samples were taken. */
bool pp_jit_code_find(uintptr_t address, struct pp_jit_name *name);

/* Runs in the child of fork, where the code is still there. */
void pp_jit_code_after_fork(void);

#endif
