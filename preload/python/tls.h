/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an interpreter's thread-local words without symbols, by the code of their exported getters. */
#ifndef PP_PYTHON_TLS_H
#define PP_PYTHON_TLS_H

#include "../capture/tls_word.h"
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the word that the getter reads (pp_tls_of_code). PP_TLS_NONE if its code does something else, or if the word
 * is not in this object's TLS block. Normal context, direct and safe copies only. */
struct pp_tls_word pp_python_tls_find(const struct dl_phdr_info *object, uintptr_t getter);

struct pp_python;

/* Returns the word under the key that is at `place`; PP_TLS_NONE if libc does not keep these words where we expect
 * them. Normal context. */
struct pp_tls_word pp_python_key_find(uintptr_t place);

/* Corrects an interpreter's bound word if its key is at another place than in the version whose layout is known: a
 * value stored under the right key comes back from the interpreter's own getter. Does nothing while there is no key
 * yet. Only in a thread without a thread state, all signals blocked. */
void pp_python_key_settle(struct pp_python *python);

#endif
