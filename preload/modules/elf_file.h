/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ELF file of this architecture, or an image in memory (the vDSO, what JITs register). Uses neither malloc nor
 * mmap of the file, which may be truncated meanwhile. */
#ifndef PP_MODULES_ELF_FILE_H
#define PP_MODULES_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file's bytes: a descriptor, or a copy in memory. */
struct pp_elf_source {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t size;
};

/* Reads all of the range or returns false. */
bool pp_elf_source_read(const struct pp_elf_source *source, void *to, size_t size, uint64_t offset);

/* What a file has until it is written to or replaced; all zero for memory. */
struct pp_elf_identity {
    uint64_t device, inode, size, seconds, nanoseconds;
};
bool pp_elf_source_identity(const struct pp_elf_source *source, struct pp_elf_identity *identity);

/* Copies the GNU build-id from notes; returns its length, 0 when there is none or it is longer than max. */
uint8_t pp_elf_build_id(const uint8_t *notes, size_t size, uint8_t *id, size_t max);

/* Copies the file's build-id; returns 0 when it has none or is no ELF file of this architecture. */
uint8_t pp_elf_source_build_id(const struct pp_elf_source *source, uint8_t *id, size_t max);

/* Returns which of these names, a bit for each, the symbols of .dynsym have, defined there or elsewhere. */
unsigned pp_elf_source_mentions(const struct pp_elf_source *source, const char *const *names, unsigned count);

/* Finds a variable of this size by its name of up to 63 bytes, in .dynsym or in .symtab, without reading the names of
 * all symbols: LLVM's take 15 MB. */
bool pp_elf_source_variable(const struct pp_elf_source *source, bool dynamic, const char *name, uint64_t size,
                            uint64_t *value);

struct pp_elf_sections {
    Elf64_Shdr *headers;
    size_t count;
    bool relocatable; /* not linked, as JITs register objects: values of symbols are relative to their sections */
};
bool pp_elf_sections_read(const struct pp_elf_source *source, struct pp_elf_sections *sections);
void pp_elf_sections_free(struct pp_elf_sections *sections);

#define PP_ELF_TABLE_MAX ((uint64_t)64 << 20) /* bytes */
/* Returns the first symbol table of this type that is not too large, NULL if there is none, and its strings. */
const Elf64_Shdr *pp_elf_table(const struct pp_elf_sections *sections, uint32_t type, const Elf64_Shdr **strings);

#endif
