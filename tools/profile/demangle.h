/* Names of C++ and Rust functions as people read them. */
#ifndef PP_PROFILE_DEMANGLE_H
#define PP_PROFILE_DEMANGLE_H

#include "../memory.h"

/* Appends the name that a linker symbol stands for: C++ (_Z…), Rust (_R…, and _ZN…17h<hash>E, without the hash).
 * False, and nothing appended, when it is neither, or longer than anyone would read. */
bool pp_demangle(struct pp_buffer *text, const char *symbol);

#endif
