/* Dynamic symbols of an object that is loaded, from its own tables in memory: also finds what RTLD_LOCAL hides. */
#ifndef PP_ELF_LOOKUP_H
#define PP_ELF_LOOKUP_H

#include <link.h>
#include <stdint.h>

/* Address of a defined dynamic symbol, 0 if the object has none of that name. The object must stay loaded: call it in
 * a dl_iterate_phdr callback. Not for IFUNC and TLS symbols. */
uintptr_t pp_elf_symbol(const struct dl_phdr_info *object, const char *name);

#endif
