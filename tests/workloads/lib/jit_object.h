/* An object as a JIT registers it for debuggers: not linked, with one function in a section that is placed. */
#ifndef JIT_OBJECT_H
#define JIT_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct jit_object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    Elf64_Sym symbols[3];
    char strings[32];
};

struct jit_entry {
    struct jit_entry *next, *previous;
    const void *image;
    uint64_t size;
};

/* at, bytes: the section's; value, size: the function's in it. */
static inline void make_jit_object(struct jit_object *object, uint64_t at, uint64_t bytes, uint64_t value,
                                   uint64_t size, const char *name)
{
    memset(object, 0, sizeof *object);
    memcpy(object->header.e_ident, ELFMAG, SELFMAG);
    object->header.e_ident[EI_CLASS] = ELFCLASS64;
    object->header.e_ident[EI_DATA] = ELFDATA2LSB;
#ifdef __aarch64__
    object->header.e_machine = EM_AARCH64;
#else
    object->header.e_machine = EM_X86_64;
#endif
    object->header.e_type = ET_REL;
    object->header.e_shoff = offsetof(struct jit_object, sections);
    object->header.e_shentsize = sizeof(Elf64_Shdr);
    object->header.e_shnum = 4;
    object->sections[1] =
        (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = at, .sh_size = bytes};
    object->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                       .sh_offset = offsetof(struct jit_object, symbols),
                                       .sh_size = sizeof object->symbols,
                                       .sh_entsize = sizeof(Elf64_Sym),
                                       .sh_link = 3};
    object->sections[3] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct jit_object, strings), .sh_size = sizeof object->strings};
    strncpy(object->strings + 1, name, sizeof object->strings - 2);
    object->symbols[1] = (Elf64_Sym){.st_name = 1,
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                     .st_shndx = 1,
                                     .st_value = value,
                                     .st_size = size};
}

#endif
