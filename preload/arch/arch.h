/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that differs between processors is in this folder: instructions, registers, a signal's context, system
 * calls, pages, relocations, glibc's TLS layout. Each processor has a folder of files with these names and functions.
 * Included by all wings above. */
#ifndef PP_ARCH_H
#define PP_ARCH_H

#if defined(__x86_64__) && defined(__linux__)
#include "x86_64/context.h"
#include "x86_64/memory.h"
#include "x86_64/opcodes.h"
#include "x86_64/plt.h"
#include "x86_64/registers.h"
#include "x86_64/relocations.h"
#include "x86_64/syscall.h"
#include "x86_64/tls.h"
#else
#error "libpyprof supports x86-64 Linux"
#endif

#endif
