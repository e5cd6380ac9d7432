/* SPDX-License-Identifier: Apache-2.0 */
/* Names the relocations by which a loader fills pointers to a variable, and the version of libc that came first. */
#ifndef PP_ARCH_X86_64_RELOCATIONS_H
#define PP_ARCH_X86_64_RELOCATIONS_H

#include <elf.h>
#include <stdbool.h>

#define PP_ELF_MACHINE  EM_X86_64
#define PP_ARCHITECTURE "x86_64"

#define PP_FIRST_GLIBC "GLIBC_2.2.5" /* version of the symbols that libc always had */

#define PP_RELOCATION_SLOT    R_X86_64_GLOB_DAT  /* in the global offset table: the variable's address */
#define PP_RELOCATION_CALL    R_X86_64_JUMP_SLOT /* in the global offset table: the address of a function to call */
#define PP_RELOCATION_POINTER R_X86_64_64        /* in data: the variable's address plus the addend */

/* Of thread-local variables: the place relative to the thread pointer; two words, the second of which is that place,
 * below 0, if the block is in static TLS. */
#define PP_RELOCATION_TLS_OFFSET     R_X86_64_TPOFF64
#define PP_RELOCATION_TLS_DESCRIPTOR R_X86_64_TLSDESC

/* Whether a symbol with this st_info says where in a section code and data begin, and is no function: none does. */
static inline bool pp_marks_code(unsigned char info)
{
    (void)info;
    return false;
}

#endif
