#include "elf_names.h"
#include "../arch/arch.h"
#include <string.h>

struct tables {
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu_hash, *hash;
    const ElfW(Half) * versions;
    const ElfW(Rela) * relocations;
    size_t relocation_bytes;
};

#define HIDDEN_VERSION 0x8000 /* not the symbol's default one */

static bool read_tables(uintptr_t base, const ElfW(Dyn) * dynamic, struct tables *tables)
{
    memset(tables, 0, sizeof *tables);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        /* glibc relocates the addresses in the dynamic section of most objects, not those of the vDSO */
        uintptr_t at = dynamic->d_un.d_ptr < base ? dynamic->d_un.d_ptr + base : dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_STRTAB)
            tables->strings = (const char *)at;
        else if (dynamic->d_tag == DT_SYMTAB)
            tables->symbols = (const ElfW(Sym) *)at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            tables->gnu_hash = (const uint32_t *)at;
        else if (dynamic->d_tag == DT_HASH)
            tables->hash = (const uint32_t *)at;
        else if (dynamic->d_tag == DT_VERSYM)
            tables->versions = (const ElfW(Half) *)at;
        else if (dynamic->d_tag == DT_RELA)
            tables->relocations = (const ElfW(Rela) *)at;
        else if (dynamic->d_tag == DT_RELASZ)
            tables->relocation_bytes = dynamic->d_un.d_val;
    }
    return tables->strings && tables->symbols && (tables->gnu_hash || tables->hash);
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *tables)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return read_tables(object->dlpi_addr, dynamic, tables);
}

static bool is_named(const struct tables *tables, uint32_t symbol, const char *name)
{
    return strcmp(tables->strings + tables->symbols[symbol].st_name, name) == 0 &&
           !(tables->versions && tables->versions[symbol] & HIDDEN_VERSION);
}

static const ElfW(Sym) * by_gnu_hash(const struct tables *tables, const char *name)
{
    const uint32_t *table = tables->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom_words = table[2], shift = table[3], h = 5381;
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words), *chain = bucket + buckets;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        h = h * 33 + *p;
    if (!buckets || !bloom_words)
        return NULL;
    uint64_t word = bloom[h / 64 % bloom_words];
    if (!(word >> h % 64 & word >> (h >> shift) % 64 & 1))
        return NULL;
    for (uint32_t i = bucket[h % buckets]; i >= first && i; i++) {
        if ((chain[i - first] | 1) == (h | 1) && is_named(tables, i, name))
            return &tables->symbols[i];
        if (chain[i - first] & 1)
            break;
    }
    return NULL;
}

static const ElfW(Sym) * by_hash(const struct tables *tables, const char *name)
{
    uint32_t buckets = tables->hash[0], h = 0;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        h = (h << 4) + *p;
        h = (h ^ (h & 0xf0000000u) >> 24) & 0x0fffffffu;
    }
    if (!buckets)
        return NULL;
    for (uint32_t i = tables->hash[2 + h % buckets]; i; i = tables->hash[2 + buckets + i])
        if (is_named(tables, i, name))
            return &tables->symbols[i];
    return NULL;
}

static const ElfW(Sym) * defined(const struct tables *tables, const char *name)
{
    const ElfW(Sym) *symbol = tables->gnu_hash ? by_gnu_hash(tables, name) : by_hash(tables, name);
    return symbol && symbol->st_shndx != SHN_UNDEF ? symbol : NULL;
}

uintptr_t pp_elf_symbol(const struct dl_phdr_info *object, const char *name)
{
    struct tables tables;
    const ElfW(Sym) *symbol = find_tables(object, &tables) ? defined(&tables, name) : NULL;
    return symbol ? object->dlpi_addr + symbol->st_value : 0;
}

extern struct r_debug _r_debug __attribute__((weak)); /* musl has none */

bool pp_elf_find_next(const char *names, void **found)
{
    const struct link_map *object = &_r_debug ? _r_debug.r_map : NULL;
    while (object && object->l_ld != _DYNAMIC)
        object = object->l_next;
    if (!object)
        return false;
    bool missing = true;
    while (missing && (object = object->l_next) != NULL) {
        struct tables tables;
        if (!read_tables(object->l_addr, object->l_ld, &tables))
            continue;
        missing = false;
        void **at = found;
        for (const char *name = names; *name; name += strlen(name) + 1, at++) {
            const ElfW(Sym) *symbol = *at ? NULL : defined(&tables, name);
            if (symbol)
                *at = (void *)(object->l_addr + symbol->st_value);
            missing |= !*at;
        }
    }
    return true;
}

/* The word that the relocation is about: 0 as long as the loader has not come to it. */
static uintptr_t stored_at(const struct dl_phdr_info *object, const ElfW(Rela) * relocation)
{
    uintptr_t stored;
    memcpy(&stored, (const void *)(object->dlpi_addr + relocation->r_offset), sizeof stored);
    return stored;
}

uintptr_t pp_elf_variable(const struct dl_phdr_info *object, const char *name)
{
    struct tables tables;
    const ElfW(Sym) *symbol = find_tables(object, &tables) ? defined(&tables, name) : NULL;
    if (!symbol)
        return 0;
    /* The loader stores there what it finds; lazy binding is for functions only. The slot that code goes by tells, if
     * there is one: another pointer to the variable may be bound before it. */
    const ElfW(Rela) *end = tables.relocations + tables.relocation_bytes / sizeof *end, *pointer = NULL;
    for (const ElfW(Rela) *relocation = tables.relocations; tables.relocations && relocation < end; relocation++) {
        unsigned long type = ELF64_R_TYPE(relocation->r_info);
        if ((type != PP_RELOCATION_SLOT && type != PP_RELOCATION_POINTER) ||
            tables.symbols + ELF64_R_SYM(relocation->r_info) != symbol)
            continue;
        if (type == PP_RELOCATION_SLOT)
            return stored_at(object, relocation);
        pointer = relocation;
    }
    if (pointer) {
        uintptr_t stored = stored_at(object, pointer);
        return stored ? stored - (uintptr_t)pointer->r_addend : 0;
    }
    return object->dlpi_addr + symbol->st_value;
}

bool pp_elf_holds(const struct dl_phdr_info *object, uintptr_t address, size_t size, uint32_t flags)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && address >= start &&
            size <= segment->p_memsz && address - start <= segment->p_memsz - size)
            return true;
    }
    return false;
}
