/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_ARCH_AARCH64_SYSCALL_H
#define PP_ARCH_AARCH64_SYSCALL_H

long pp_syscall6(long number, long a, long b, long c, long d, long e, long f);
long pp_syscall4(long number, long a, long b, long c, long d);

#define PP_SYSCALL_STUB(chosen, instead, real)

#endif
