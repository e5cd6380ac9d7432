/* SPDX-License-Identifier: Apache-2.0 */
/* Makes system calls. */
#ifndef PP_ARCH_X86_64_SYSCALL_H
#define PP_ARCH_X86_64_SYSCALL_H

static inline long pp_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long pp_syscall4(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/* Defines our syscall(number, ...): a number below 512 whose bit is set in `chosen` goes to the function `instead`, any
 * other to the function that `real` points to. Jumps, not calls: a system call may return on another stack. */
#define PP_SYSCALL_STUB(chosen, instead, real)                                                                         \
    __asm__(".globl syscall\n"                                                                                         \
            ".type syscall, @function\n"                                                                               \
            "syscall:\n"                                                                                               \
            ".cfi_startproc\n"                                                                                         \
            "  cmp $512, %rdi\n"                                                                                       \
            "  jae 1f\n"                                                                                               \
            "  bt %rdi, " chosen "(%rip)\n"                                                                            \
            "  jc " instead "\n"                                                                                       \
            "1:\n"                                                                                                     \
            "  jmp *" real "(%rip)\n"                                                                                  \
            ".cfi_endproc\n"                                                                                           \
            ".size syscall, . - syscall\n");

#endif
