/* Where an interpreter keeps a thread-local word, found without symbols: by what its exported getter does. */
#ifndef PP_PYTHON_TLS_H
#define PP_PYTHON_TLS_H

#include "../capture/tls_word.h"
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* What code that was compiled as `return thread_local_word;` reads, in any of the TLS models of x86-64 as compilers
 * emit and linkers relax them. PP_TLS_NONE when the code, which lies in the object as far as it is read, does something
 * else, or when what it reads is not a word of this object's TLS block. Normal context, plain and safe copies only. */
struct pp_tls_word pp_python_tls_find(const struct dl_phdr_info *object, uintptr_t getter);

struct pp_python;

/* The word under the key that is at `place`; PP_TLS_NONE where libc does not keep such words where it is known to.
 * Normal context. */
struct pp_tls_word pp_python_key_find(uintptr_t place);

/* Moves an interpreter's bound word to where its key really is, if that is another place than in the version whose
 * layout is known: a value stored under it comes back from the interpreter's own function. Nothing while there is no
 * key yet. Only in a thread without a thread state, all signals blocked. */
void pp_python_key_settle(struct pp_python *python);

#endif
