/* SPDX-License-Identifier: Apache-2.0 */
/* Makes system calls. */
#ifndef PP_ARCH_AARCH64_SYSCALL_H
#define PP_ARCH_AARCH64_SYSCALL_H

static inline long pp_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

static inline long pp_syscall4(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

/* Defines our syscall(number, ...): a number below 512 whose bit is set in `chosen` goes to the function `instead`, any
 * other to the function that `real` points to. Jumps, not calls: a system call may return on another stack. hint 34 is
 * bti c: the processor may be told that only such places are called through pointers. */
#define PP_SYSCALL_STUB(chosen, instead, real)                                                                         \
    __asm__(".globl syscall\n"                                                                                         \
            ".type syscall, %function\n"                                                                               \
            ".p2align 2\n"                                                                                             \
            "syscall:\n"                                                                                               \
            ".cfi_startproc\n"                                                                                         \
            "  hint #34\n"                                                                                             \
            "  cmp x0, #512\n"                                                                                         \
            "  b.hs 1f\n"                                                                                              \
            "  adrp x16, " chosen "\n"                                                                                 \
            "  add x16, x16, :lo12:" chosen "\n"                                                                       \
            "  lsr x17, x0, #6\n"                                                                                      \
            "  ldr x16, [x16, x17, lsl #3]\n"                                                                          \
            "  lsr x16, x16, x0\n"                                                                                     \
            "  tbz x16, #0, 1f\n"                                                                                      \
            "  b " instead "\n"                                                                                        \
            "1:\n"                                                                                                     \
            "  adrp x16, " real "\n"                                                                                   \
            "  ldr x16, [x16, :lo12:" real "]\n"                                                                       \
            "  br x16\n"                                                                                               \
            ".cfi_endproc\n"                                                                                           \
            ".size syscall, . - syscall\n");

#endif
