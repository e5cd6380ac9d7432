/* SPDX-License-Identifier: Apache-2.0 */
/* Reads loaded objects' own tables in memory, which also have what RTLD_LOCAL hides. The object must stay loaded
 * meanwhile: call these in a dl_iterate_phdr callback, or for a pinned object. Where copies are made (loader_lock.h),
 * what is not there any more is not found. Normal context. */
#ifndef PP_BASE_ELF_NAMES_H
#define PP_BASE_ELF_NAMES_H

#include "../arch/arch.h"
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* musl and static programs may lack it. */
extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __attribute__((weak));

/* Returns the address of a defined dynamic symbol, 0 if there is none. Not for IFUNC and TLS symbols. */
uintptr_t pp_elf_symbol(const struct dl_phdr_info *object, const char *name);

/* Finds the addresses that the object's own code uses for variables that it defines: that of an earlier object (an
 * executable with a copy relocation, a second copy of the library), else its own. 0 for a variable that it does not
 * define, or if the loader has not relocated the object yet. */
void pp_elf_variables(const struct dl_phdr_info *object, const char *const *names, unsigned count, uintptr_t *found);

/* Stores in `found` the functions that dlsym(RTLD_NEXT) would return for these names (each ends with a 0, the last with
 * two), NULL where there is none. False if the loader's list is not accessible. Takes no lock; async-signal-safe. */
bool pp_elf_find_next(const char *names, void **found);

/* Whether an object that may be unloaded meanwhile defines the name. dynamic: where its dynamic section is; all is read
 * through safe copies. */
bool pp_elf_defines(uintptr_t base, uintptr_t dynamic, const char *name);

/* Finds the place of a thread-local variable that an object exports, as pp_elf_defines. Where the loader has given the
 * object's block a place in static TLS after the start, no DTV has it, but the object's own relocations. module: of the
 * DTV. */
bool pp_elf_tls_word(uintptr_t base, uintptr_t dynamic, uint64_t module, const char *name, struct pp_tls_word *word);

/* Contents of the first note of this type whose owner's name has three letters or less; NULL: there is none. */
const uint8_t *pp_elf_note(const uint8_t *notes, size_t size, const char *owner, uint32_t type, size_t *length);

/* Returns the loaded segment that holds all these bytes and has the given PF_* bits, NULL if none. */
const ElfW(Phdr) * pp_elf_segment(const struct dl_phdr_info *object, uintptr_t address, size_t size, uint32_t flags);

#endif
