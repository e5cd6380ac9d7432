/* Getters of thread-local words in each form of the processor's ABI, written out so that no compiler, flag or sanitizer
 * changes them. Included by an executable and by a library: the linker makes other forms of some in an executable. */
#ifndef TLS_FORMS_H
#define TLS_FORMS_H

#include <stdbool.h>
#include <stdint.h>

struct tls_form {
    const char *name;
    uintptr_t (*get)(void);
    void (*set)(uintptr_t);
    bool unreadable;
};

#define FORM(name, code)                                                                                               \
    static __thread uintptr_t word_##name __attribute__((used, aligned(8)));                                           \
    __asm__(".text\n.p2align 4\n.type get_" #name ", @function\nget_" #name ":\n" code "\n.size get_" #name            \
            ", . - get_" #name "\n");                                                                                  \
    uintptr_t get_##name(void) __attribute__((visibility("hidden")));                                                  \
    static void set_##name(uintptr_t value)                                                                            \
    {                                                                                                                  \
        word_##name = value;                                                                                           \
    }

#ifdef __x86_64__
#define GENERAL(name)                                                                                                  \
    ".byte 0x66\nleaq word_" #name "@tlsgd(%rip), %rdi\n.value 0x6666\nrex64\ncall __tls_get_addr@PLT\n"
#define GENERAL_NO_PLT(name)                                                                                           \
    ".byte 0x66\nleaq word_" #name "@tlsgd(%rip), %rdi\n.byte 0x66\nrex64\ncall *__tls_get_addr@GOTPCREL(%rip)\n"

/* gcc -O2 -fPIC */
FORM(general, "subq $8, %rsp\n" GENERAL(general) "movq (%rax), %rax\naddq $8, %rsp\nret")
/* clang -O2 -fPIC */
FORM(general_push, "pushq %rax\n" GENERAL(general_push) "movq (%rax), %rax\npopq %rcx\nret")
/* -fcf-protection -fno-omit-frame-pointer -fno-plt */
FORM(general_frame, "endbr64\npushq %rbp\nmovq %rsp, %rbp\n" GENERAL_NO_PLT(general_frame) "movq (%rax), %rax\n"
                                                                                           "popq %rbp\nret")
FORM(local, "subq $8, %rsp\nleaq word_local@tlsld(%rip), %rdi\ncall __tls_get_addr@PLT\n"
            "movq word_local@dtpoff(%rax), %rax\naddq $8, %rsp\nret")
/* -mtls-dialect=gnu2 */
FORM(descriptor, "subq $8, %rsp\nleaq word_descriptor@tlsdesc(%rip), %rax\ncall *word_descriptor@tlscall(%rax)\n"
                 "movq %fs:(%rax), %rax\naddq $8, %rsp\nret")
/* something is done with it: not the word itself */
FORM(changed, GENERAL(changed) "movq (%rax), %rax\nshlq $1, %rax\nret")
FORM(pointed, GENERAL(pointed) "movq (%rax), %rax\nmovq (%rax), %rax\nret")
FORM(constant, "xorl %eax, %eax\nret")

#ifdef TLS_FORMS_STATIC /* these make the TLS of a whole library static */
FORM(initial, "movq word_initial@gottpoff(%rip), %rax\nmovq %fs:(%rax), %rax\nret")
FORM(initial_address, "movq %fs:0, %rax\naddq word_initial_address@gottpoff(%rip), %rax\nmovq (%rax), %rax\nret")
#endif

#define TLS_FORMS_OF_PROCESSOR                                                                                         \
    TLS_FORM(general, false), TLS_FORM(general_push, false), TLS_FORM(general_frame, false), TLS_FORM(local, false),   \
        TLS_FORM(descriptor, false)
/* Of a library: words that are found through the DTV, and those that still are if other forms make its TLS static. */
#define TLS_FORMS_BY_DTV        5
#define TLS_FORMS_BY_DTV_STATIC 4

#else
#define GENERAL(name) "adrp x0, :tlsgd:word_" #name "\nadd x0, x0, :tlsgd_lo12:word_" #name "\nbl __tls_get_addr\nnop\n"
#define DESCRIPTOR(name)                                                                                               \
    "adrp x0, :tlsdesc:word_" #name "\nldr x1, [x0, #:tlsdesc_lo12:word_" #name                                        \
    "]\nadd x0, x0, :tlsdesc_lo12:word_" #name "\n.tlsdesccall word_" #name "\nblr x1\n"
#define ENTER "stp x29, x30, [sp, -16]!\n"
#define LEAVE "ldp x29, x30, [sp], 16\nret"

/* gcc -O2 -fPIC */
FORM(descriptor, ENTER "mov x29, sp\n" DESCRIPTOR(descriptor) "mrs x1, tpidr_el0\nldr x0, [x1, x0]\n" LEAVE)
/* gcc and clang with -mbranch-protection=standard; hints: paciasp, autiasp */
FORM(descriptor_signed, "hint #25\nstp x29, x30, [sp, -32]!\nstr x19, [sp, 16]\nmrs x19, tpidr_el0\n" DESCRIPTOR(
                            descriptor_signed) "add x0, x19, x0\nldr x0, [x0]\nldr x19, [sp, 16]\n"
                                               "ldp x29, x30, [sp], 32\nhint #29\nret")
/* -mtls-dialect=trad */
FORM(general, ENTER GENERAL(general) "ldr x0, [x0]\n" LEAVE)
/* something is done with it: not the word itself */
FORM(changed, ENTER GENERAL(changed) "ldr x0, [x0]\nlsl x0, x0, 1\n" LEAVE)
FORM(pointed, ENTER GENERAL(pointed) "ldr x0, [x0]\nldr x0, [x0]\n" LEAVE)
FORM(constant, "mov x0, 0\nret")

#ifdef TLS_FORMS_STATIC
FORM(initial, "mrs x1, tpidr_el0\nadrp x0, :gottprel:word_initial\n"
              "ldr x0, [x0, #:gottprel_lo12:word_initial]\nldr x0, [x1, x0]\nret")
FORM(initial_address, "adrp x1, :gottprel:word_initial_address\nldr x1, [x1, #:gottprel_lo12:word_initial_address]\n"
                      "mrs x0, tpidr_el0\nadd x0, x0, x1\nldr x0, [x0]\nret")
#endif

#define TLS_FORMS_OF_PROCESSOR  TLS_FORM(descriptor, false), TLS_FORM(descriptor_signed, false), TLS_FORM(general, false)
/* Of a library: words that are found through the DTV, and those that still are if other forms make its TLS static. */
#define TLS_FORMS_BY_DTV        3
#define TLS_FORMS_BY_DTV_STATIC 1

#endif

#define TLS_FORM(name, unreadable)                                                                                     \
    {                                                                                                                  \
#name, get_##name, set_##name, unreadable                                                                      \
    }
#define TLS_FORMS_DYNAMIC                                                                                              \
    TLS_FORMS_OF_PROCESSOR, TLS_FORM(changed, true), TLS_FORM(pointed, true), TLS_FORM(constant, true)
#ifdef TLS_FORMS_STATIC
#define TLS_FORMS TLS_FORMS_DYNAMIC, TLS_FORM(initial, false), TLS_FORM(initial_address, false)
#else
#define TLS_FORMS TLS_FORMS_DYNAMIC
#endif

/* Of the libraries. */
typedef const struct tls_form *tls_forms_of_library(unsigned *count);

#endif
