/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that differs between processors is in this folder: instructions, registers, a signal's context, system
 * calls, pages, relocations, glibc's TLS layout. Each processor has a folder of files with these names and functions.
 * Included by all wings above; tests/processors.sh fails when they have such knowledge themselves. */
#ifndef PP_ARCH_H
#define PP_ARCH_H

#if defined(__x86_64__) && defined(__linux__)
#include "x86_64/context.h"
#include "x86_64/memory.h"
#include "x86_64/musl.h"
#include "x86_64/opcodes.h"
#include "x86_64/plt.h"
#include "x86_64/registers.h"
#include "x86_64/relocations.h"
#include "x86_64/syscall.h"
#include "x86_64/tls.h"
#include "x86_64/undescribed.h"
#elif defined(__aarch64__) && defined(__linux__)
#include "aarch64/context.h"
#include "aarch64/memory.h"
#include "aarch64/musl.h"
#include "aarch64/opcodes.h"
#include "aarch64/plt.h"
#include "aarch64/registers.h"
#include "aarch64/relocations.h"
#include "aarch64/syscall.h"
#include "aarch64/tls.h"
#include "aarch64/undescribed.h"
#else
#error "libpyprof supports x86-64 and AArch64 Linux"
#endif

#endif
