/*
 * Reads the function names of an ELF file: .symtab, or else .dynsym, of the file or of an image in memory (the vDSO).
 * Uses neither malloc nor mmap of the file, which may be truncated meanwhile.
 */
#ifndef PP_MODULES_ELF_SYMBOLS_H
#define PP_MODULES_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pp_elf_symbol {
    uint64_t value;
    uint32_t size; /* 0: up to the next symbol */
    uint32_t name; /* offset in names */
};

struct pp_elf_symbols {
    const struct pp_elf_symbol *symbols; /* ascending by value, one per value */
    size_t count;
    const char *names;
    void *mapping;
    size_t mapped;
};

/* The file's bytes: a descriptor, or a copy in memory. */
struct pp_elf_source {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t size;
};

/* Reads all of the range or returns false. */
bool pp_elf_source_read(const struct pp_elf_source *source, void *to, size_t size, uint64_t offset);

/* Copies the GNU build-id from notes; returns its length, 0 when there is none or it is longer than max. */
uint8_t pp_elf_build_id(const uint8_t *notes, size_t size, uint8_t *id, size_t max);

/* Copies the file's build-id; returns 0 when it has none or is no ELF file of this architecture. */
uint8_t pp_elf_source_build_id(const struct pp_elf_source *source, uint8_t *id, size_t max);

/* Finds a symbol of any kind by its name, in .dynsym or in .symtab. *value: 0 when it is used but not defined there. */
bool pp_elf_source_symbol(const struct pp_elf_source *source, bool dynamic, const char *name, uint64_t *value);

/* Reads all function symbols. False when there are none, they are damaged or too large, or there is no memory. */
bool pp_elf_symbols_read(const struct pp_elf_source *source, struct pp_elf_symbols *out);
void pp_elf_symbols_free(struct pp_elf_symbols *symbols);

/* Returns the function that holds the address (in the file's terms); NULL if none. */
const struct pp_elf_symbol *pp_elf_symbols_find(const struct pp_elf_symbols *symbols, uint64_t address);

#endif
