/* SPDX-License-Identifier: Apache-2.0 */
/* Names the relocations by which a loader fills pointers to a variable, and the version of libc that came first. */
#ifndef PP_ARCH_AARCH64_RELOCATIONS_H
#define PP_ARCH_AARCH64_RELOCATIONS_H

#include <elf.h>
#include <stdbool.h>

#define PP_ELF_MACHINE  EM_AARCH64
#define PP_ARCHITECTURE "aarch64"

#define PP_FIRST_GLIBC "GLIBC_2.17" /* version of the symbols that libc always had */

#define PP_RELOCATION_SLOT    R_AARCH64_GLOB_DAT  /* in the global offset table: the variable's address */
#define PP_RELOCATION_CALL    R_AARCH64_JUMP_SLOT /* in the global offset table: the address of a function to call */
#define PP_RELOCATION_POINTER R_AARCH64_ABS64     /* in data: the variable's address plus the addend */

/* Of thread-local variables: the place relative to the thread pointer; two words, the second of which is that place,
 * a small number, if the block is in static TLS. */
#define PP_RELOCATION_TLS_OFFSET     R_AARCH64_TLS_TPREL
#define PP_RELOCATION_TLS_DESCRIPTOR R_AARCH64_TLSDESC

/* Whether a symbol with this st_info says where in a section code and data begin, and is no function: $x, $d ("ELF
 * for the Arm 64-bit Architecture", Mapping symbols). */
static inline bool pp_marks_code(unsigned char info)
{
    return info == ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
}

#endif
