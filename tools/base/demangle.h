/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles names of C++, Rust and Cython functions. */
#ifndef PT_BASE_DEMANGLE_H
#define PT_BASE_DEMANGLE_H

#include "memory.h"

/* Appends the name that a linker symbol encodes: C++ (_Z…), Rust (_R…, and _ZN…17h<hash>E, without the hash),
 * Cython (__pyx_f_, __pyx_pf_ and __pyx_pw_: "package.Class.method").
 * False, and nothing appended, when the symbol is none of these, or longer than a person would read. */
bool pt_demangle(struct pt_buffer *text, const char *symbol);

#endif
