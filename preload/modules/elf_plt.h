/* SPDX-License-Identifier: Apache-2.0 */
/* Names the stubs of procedure linkage tables, through which a module calls functions of others. */
#ifndef PP_MODULES_ELF_PLT_H
#define PP_MODULES_ELF_PLT_H

#include "elf_symbols.h"

/* If the address (in the file's terms) is in such a table, sets *found to its stub, named "function@plt", or without a
 * name if it is not known where the stub leads. */
void pp_elf_plt_find(const struct pp_elf_source *source, uint64_t address, struct pp_elf_symbol *found);

#endif
