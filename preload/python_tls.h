/* Where an interpreter keeps a thread-local word, found without symbols: by what its exported getter does. */
#ifndef PP_PYTHON_TLS_H
#define PP_PYTHON_TLS_H

#include "capture/tls_word.h"
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* What code that was compiled as `return thread_local_word;` reads, in any of the TLS models of x86-64 as compilers
 * emit and linkers relax them. PP_TLS_NONE when the code, which lies in the object as far as it is read, does something
 * else, or when what it reads is not a word of this object's TLS block. Normal context, plain and safe copies only. */
struct pp_tls_word pp_python_tls_find(const struct dl_phdr_info *object, uintptr_t getter);

#endif
