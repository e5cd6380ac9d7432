/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the names of functions in an ELF file, in .symtab or else .dynsym. Of a file that has been read stay an index,
 * of 8 bytes for each symbol, and the names that were found. */
#ifndef PP_MODULES_ELF_SYMBOLS_H
#define PP_MODULES_ELF_SYMBOLS_H

#include "../base/arena.h"
#include "elf_file.h"
#include <stdatomic.h>

#define PP_ELF_NAME_MAX 4096

/* Says where the file has the symbols of its code. All zero: there are none. */
struct pp_elf_index {
    uint64_t *items;   /* see elf_symbols.c */
    uint32_t *buckets; /* in the same mapping */
    uint32_t bucket_count;
    size_t symbol_count, count, mapped;
    uint64_t base;                           /* of the values */
    unsigned shift;                          /* from a value to its bucket */
    uint64_t symbols, strings, strings_size; /* where the tables are */
    uint64_t stubs_start, stubs_end;         /* no stub lies outside: see elf_plt.h */
};

/* Makes the index. False when there are no functions, the tables are damaged or too large, or there is no memory: then
 * it has the bounds of stubs only. */
bool pp_elf_index_read(const struct pp_elf_source *source, struct pp_elf_index *index);
void pp_elf_index_free(struct pp_elf_index *index);

struct pp_elf_symbol {
    uint64_t value, size;           /* size 0: up to the next symbol */
    uint64_t from, to;              /* the addresses around the one that was asked for which have the same answer */
    char name[PP_ELF_NAME_MAX + 1]; /* "": none */
};

/* Finds the function that holds the address (in the file's terms). The source should be what the index was made from:
 * of another one the answer is wrong. */
void pp_elf_index_find(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t address,
                       struct pp_elf_symbol *found);

/* Reads the function that begins first at or after the address, by the best of its names; not from and to. False: there
 * is none. */
bool pp_elf_index_next(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t address,
                       struct pp_elf_symbol *found);

/* What is kept of a module's file. */
struct pp_elf_symbols {
    struct pp_elf_identity identity; /* of the file that the index is of */
    struct pp_elf_index index;
    /* The names that were found, ascending by address. */
    struct pp_vector known, names;
    _Atomic bool changing; /* these two: a fork leaves the child with half a change */
};

/* Returns whether the address has been asked for, or one with the same answer. *name: NULL if it has none; valid until
 * the next pp_elf_symbols_remember. */
bool pp_elf_symbols_know(const struct pp_elf_symbols *symbols, uint64_t address, uint64_t *value, const char **name);
void pp_elf_symbols_remember(struct pp_elf_symbols *symbols, const struct pp_elf_symbol *found);
/* Runs in the child of fork: forgets names that were being changed; the index is not among them. */
void pp_elf_symbols_after_fork(struct pp_elf_symbols *symbols);
void pp_elf_symbols_free(struct pp_elf_symbols *symbols);

#endif
