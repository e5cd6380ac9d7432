/* SPDX-License-Identifier: Apache-2.0 */
/* Names the stubs of procedure linkage tables, through which a module calls functions of others. */
#ifndef PP_MODULES_ELF_PLT_H
#define PP_MODULES_ELF_PLT_H

#include "elf_symbols.h"

/* Finds the addresses (in the file's terms) between which all of a file's stubs lie: of a linker that marks its tables,
 * a small part of the code. */
void pp_elf_plt_bounds(const struct pp_elf_sections *sections, uint64_t *start, uint64_t *end);

/* If the address (in the file's terms) is in such a table, sets *found to its stub, named "function@plt", or without a
 * name if it is not known where the stub leads. */
void pp_elf_plt_find(const struct pp_elf_source *source, uint64_t address, struct pp_elf_symbol *found);

#endif
