/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the lists that JITs keep for debuggers: LLVM (numba) and CPython 3.15 list the objects that they make, whole
 * ELF files in memory, at the symbol __jit_debug_descriptor. The program may change a list at any time: everything is
 * read through safe copies and checked. Flush thread only.
 */
#ifndef PP_MODULES_GDB_JIT_H
#define PP_MODULES_GDB_JIT_H

#include "code_ranges.h"

#define PP_GDB_JIT_OBJECTS_MAX  8192 /* read, of all lists together */
#define PP_GDB_JIT_FIRST_SOURCE 2    /* smaller ones have other uses */

/* All zero: nothing known. */
struct pp_gdb_jit {
    struct pp_arena arena;
    struct pp_intern objects; /* value[0]: the source of its ranges, value[1]: the refresh that last saw it */
    uint32_t next_source;
    /* of the current refresh */
    struct pp_code_ranges *ranges;
    uint32_t refresh;
    unsigned walked, fresh;
    bool complete;
};

/* Reads the lists of all loaded objects and adds the functions of new entries, each with a source of its own. `refresh`
 * counts up by one. The ranges of a removed entry are kept for one more refresh, for samples taken before. False: there
 * is more than is read at once, or a list was being changed. */
bool pp_gdb_jit_refresh(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uint32_t refresh);

/* The steps of a refresh: any number of lists, each by the address of its descriptor. */
void pp_gdb_jit_begin(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uint32_t refresh);
void pp_gdb_jit_walk(struct pp_gdb_jit *jit, uintptr_t descriptor);
bool pp_gdb_jit_end(struct pp_gdb_jit *jit);

#endif
