/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a program file what decides whether a library can be preloaded into it. */
#ifndef PT_DOCTOR_ELF_FACTS_H
#define PT_DOCTOR_ELF_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct pt_elf_facts {
    int class, machine;         /* ELFCLASS*, EM_* */
    char interpreter[PATH_MAX]; /* the loader; "" for static programs and libraries */
    bool python;                /* it holds an interpreter */
    uint32_t python_version;    /* PY_VERSION_HEX; 0: it does not say (before 3.11) */
    bool python_debug;
    char sanitizer[64]; /* AddressSanitizer's library, if it needs that; else "" */
};

/* Returns false when it cannot be read (errno) or is no ELF file (errno 0). */
bool pt_elf_facts_read(const char *path, struct pt_elf_facts *facts);

/* "64-bit x86-64"; a static string. */
const char *pt_elf_kind(const struct pt_elf_facts *facts);

#endif
