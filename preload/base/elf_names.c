#include "elf_names.h"
#include "../arch/arch.h"
#include "safe_copy.h"
#include <string.h>

/* Reads memory of this process: false when it is not there. */
typedef bool copy_function(void *to, uintptr_t from, size_t size);

struct tables {
    copy_function *copy;
    uintptr_t strings, symbols, gnu_hash, hash, versions, relocations;
    size_t relocation_bytes, relative_relocations;
};

#define HIDDEN_VERSION 0x8000 /* not the symbol's default version */
#define MAX_CHAIN      4096u  /* symbols of one hash bucket */
#define NO_SYMBOL      UINT32_MAX

static bool copy_loaded(void *to, uintptr_t from, size_t size)
{
    memcpy(to, (const void *)from, size);
    return true;
}

static bool read_tables(copy_function *copy, uintptr_t base, const ElfW(Dyn) * dynamic, struct tables *tables)
{
    *tables = (struct tables){.copy = copy};
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        /* glibc relocates the addresses in the dynamic section of most objects, not those of the vDSO */
        uintptr_t at = dynamic->d_un.d_ptr < base ? dynamic->d_un.d_ptr + base : dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_STRTAB)
            tables->strings = at;
        else if (dynamic->d_tag == DT_SYMTAB)
            tables->symbols = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            tables->gnu_hash = at;
        else if (dynamic->d_tag == DT_HASH)
            tables->hash = at;
        else if (dynamic->d_tag == DT_VERSYM)
            tables->versions = at;
        else if (dynamic->d_tag == DT_RELA)
            tables->relocations = at;
        else if (dynamic->d_tag == DT_RELASZ)
            tables->relocation_bytes = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELACOUNT)
            tables->relative_relocations = dynamic->d_un.d_val;
    }
    return tables->strings && tables->symbols && (tables->gnu_hash || tables->hash);
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *tables)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return read_tables(copy_loaded, object->dlpi_addr, dynamic, tables);
}

static bool is_definition(const struct tables *tables, uint32_t index, const char *name, ElfW(Sym) * symbol)
{
    ElfW(Half) version;
    char c;
    if (!tables->copy(symbol, tables->symbols + index * sizeof *symbol, sizeof *symbol) ||
        symbol->st_shndx == SHN_UNDEF)
        return false;
    uintptr_t at = tables->strings + symbol->st_name;
    do
        if (!tables->copy(&c, at++, 1) || c != *name)
            return false;
    while (*name++);
    return !tables->versions || (tables->copy(&version, tables->versions + index * sizeof version, sizeof version) &&
                                 !(version & HIDDEN_VERSION));
}

static uint32_t find_by_gnu_hash(const struct tables *tables, const char *name, ElfW(Sym) * symbol)
{
    uint32_t header[4], hash = 5381, index, chained;
    uint64_t word;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = hash * 33 + *p;
    if (!tables->copy(header, tables->gnu_hash, sizeof header) || !header[0] || !header[2])
        return NO_SYMBOL;
    uint32_t buckets = header[0], first = header[1], bloom_words = header[2], shift = header[3];
    uintptr_t bloom = tables->gnu_hash + sizeof header, bucket = bloom + bloom_words * sizeof word;
    uintptr_t chain = bucket + buckets * sizeof index;
    if (!tables->copy(&word, bloom + hash / 64 % bloom_words * sizeof word, sizeof word) ||
        !(word >> hash % 64 & word >> (hash >> shift) % 64 & 1) ||
        !tables->copy(&index, bucket + hash % buckets * sizeof index, sizeof index) || !index || index < first)
        return NO_SYMBOL;
    for (uint32_t n = 0; n < MAX_CHAIN; n++, index++) {
        if (!tables->copy(&chained, chain + (uintptr_t)(index - first) * sizeof chained, sizeof chained))
            return NO_SYMBOL;
        if ((chained | 1) == (hash | 1) && is_definition(tables, index, name, symbol))
            return index;
        if (chained & 1)
            break;
    }
    return NO_SYMBOL;
}

static uint32_t find_by_hash(const struct tables *tables, const char *name, ElfW(Sym) * symbol)
{
    uint32_t buckets, hash = 0, index;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        hash = (hash << 4) + *p;
        hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
    }
    if (!tables->copy(&buckets, tables->hash, sizeof buckets) || !buckets)
        return NO_SYMBOL;
    uintptr_t bucket = tables->hash + 2 * sizeof index, chain = bucket + buckets * sizeof index;
    bool there = tables->copy(&index, bucket + hash % buckets * sizeof index, sizeof index);
    for (uint32_t n = 0; there && index && n < MAX_CHAIN; n++) {
        if (is_definition(tables, index, name, symbol))
            return index;
        there = tables->copy(&index, chain + (uintptr_t)index * sizeof index, sizeof index);
    }
    return NO_SYMBOL;
}

/* Returns the number of the symbol in its table, NO_SYMBOL if there is none. */
static uint32_t find_defined(const struct tables *tables, const char *name, ElfW(Sym) * symbol)
{
    return tables->gnu_hash ? find_by_gnu_hash(tables, name, symbol) : find_by_hash(tables, name, symbol);
}

uintptr_t pp_elf_symbol(const struct dl_phdr_info *object, const char *name)
{
    struct tables tables;
    ElfW(Sym) symbol;
    return find_tables(object, &tables) && find_defined(&tables, name, &symbol) != NO_SYMBOL
               ? object->dlpi_addr + symbol.st_value
               : 0;
}

bool pp_elf_defines(uintptr_t base, const ElfW(Dyn) * dynamic, const char *name)
{
    struct tables tables;
    ElfW(Sym) symbol;
    return read_tables(pp_safe_copy, base, dynamic, &tables) && find_defined(&tables, name, &symbol) != NO_SYMBOL;
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
        ElfW(Sym) symbol;
        if (!read_tables(copy_loaded, object->l_addr, object->l_ld, &tables))
            continue;
        missing = false;
        void **at = found;
        for (const char *name = names; *name; name += strlen(name) + 1, at++) {
            if (!*at && find_defined(&tables, name, &symbol) != NO_SYMBOL)
                *at = (void *)(object->l_addr + symbol.st_value);
            missing |= !*at;
        }
    }
    return true;
}

/* A variable that is searched by the object's relocations. */
struct variable {
    uint32_t index;             /* of its symbol, NO_SYMBOL: not defined */
    bool has_slot;              /* of the offset table */
    const ElfW(Rela) * pointer; /* another relocation; NULL: none yet */
};

/* Takes a relocation into account if it is a variable's. The slot of the offset table decides if there is one: other
 * pointers to the variable may be bound before it. */
static void note_relocation(struct variable *variables, unsigned count, const ElfW(Rela) * relocation)
{
    unsigned long type = ELF64_R_TYPE(relocation->r_info), index = ELF64_R_SYM(relocation->r_info);
    if (type != PP_RELOCATION_SLOT && type != PP_RELOCATION_POINTER)
        return;
    for (unsigned i = 0; i < count; i++)
        if (variables[i].index == index && !variables[i].has_slot) {
            variables[i].has_slot = type == PP_RELOCATION_SLOT;
            variables[i].pointer = relocation;
        }
}

void pp_elf_variables(const struct dl_phdr_info *object, const char *const *names, unsigned count, uintptr_t *found)
{
    struct tables tables;
    struct variable variables[PP_ELF_VARIABLES_MAX] = {{0}};
    ElfW(Sym) symbol;
    uint64_t wanted = 0; /* a bit for each index, modulo 64: most relocations are others' */
    bool readable = find_tables(object, &tables);
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = variables[i].index = readable ? find_defined(&tables, names[i], &symbol) : NO_SYMBOL;
        found[i] = index != NO_SYMBOL ? object->dlpi_addr + symbol.st_value : 0;
        wanted |= index != NO_SYMBOL ? (uint64_t)1 << index % 64 : 0;
    }
    /* The loader stores the addresses that it found; lazy binding is for functions only. Of libpython's 39,000
     * relocations the first 23,000 have no symbol. */
    const ElfW(Rela) *all = (const ElfW(Rela) *)tables.relocations;
    size_t relocations = wanted && all ? tables.relocation_bytes / sizeof *all : 0;
    for (size_t i = tables.relative_relocations; i < relocations; i++)
        if (wanted >> ELF64_R_SYM(all[i].r_info) % 64 & 1)
            note_relocation(variables, count, &all[i]);
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Rela) *pointer = variables[i].pointer;
        if (!pointer)
            continue;
        memcpy(&found[i], (const void *)(object->dlpi_addr + pointer->r_offset), sizeof found[i]);
        if (found[i] && !variables[i].has_slot)
            found[i] -= (uintptr_t)pointer->r_addend;
    }
}

static size_t align4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

const uint8_t *pp_elf_note(const uint8_t *notes, size_t size, const char *owner, uint32_t type, size_t *length)
{
    ElfW(Nhdr) header;
    for (size_t at = 0; at <= size && size - at >= sizeof header;) {
        memcpy(&header, notes + at, sizeof header);
        size_t name = at + sizeof header, data = name + align4(header.n_namesz);
        if (data > size || header.n_descsz > size - data)
            return NULL;
        if (header.n_type == type && header.n_namesz == 4 && strncmp((const char *)notes + name, owner, 4) == 0) {
            *length = header.n_descsz;
            return notes + data;
        }
        at = data + align4(header.n_descsz);
    }
    return NULL;
}

const ElfW(Phdr) * pp_elf_segment(const struct dl_phdr_info *object, uintptr_t address, size_t size, uint32_t flags)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && address >= start &&
            size <= segment->p_memsz && address - start <= segment->p_memsz - size)
            return segment;
    }
    return NULL;
}
