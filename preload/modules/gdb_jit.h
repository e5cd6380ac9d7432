/*
 * What JITs tell debuggers: LLVM (numba) and CPython 3.15 keep a list of the objects that they have made, whole ELF
 * files in memory, at the symbol __jit_debug_descriptor. The program changes the list whenever it likes: all is read
 * through safe copies, and what does not hold together is left. Flush thread only.
 */
#ifndef PP_MODULES_GDB_JIT_H
#define PP_MODULES_GDB_JIT_H

#include "code_ranges.h"

#define PP_GDB_JIT_OBJECTS_MAX  8192 /* looked at, of all lists together */
#define PP_GDB_JIT_FIRST_SOURCE 2    /* smaller ones are for others */

/* All zero: nothing known. */
struct pp_gdb_jit {
    struct pp_arena arena;
    struct pp_intern objects; /* value[0]: the source of its ranges, value[1]: which look last saw it */
    uint32_t next_source;
    /* of the look that is under way */
    uint32_t look;
    unsigned walked, fresh;
    bool complete;
};

/* Looks at the lists of all loaded objects, and puts the functions of new entries, each with a source of its own.
 * `look` counts up by one. The ranges of an entry that has gone are kept for one more look: it was there when earlier
 * samples were taken. False: there is more than is read at once, or a list was being changed. */
bool pp_gdb_jit_refresh(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uint32_t look);

/* The steps of a look: any number of lists, each by the address of its descriptor. */
void pp_gdb_jit_begin(struct pp_gdb_jit *jit, uint32_t look);
void pp_gdb_jit_walk(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uintptr_t descriptor);
bool pp_gdb_jit_end(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges);

#endif
