/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_names.h"
#include "../arch/arch.h"
#include "libc_kind.h"
#include "loader_copy.h"
#include "loader_lock.h"
#include "safe_copy.h"
#include <string.h>

struct tables {
    bool may_go; /* the object may be unloaded meanwhile, or its file truncated */
    uintptr_t strings, symbols, gnu_hash, hash, versions, relocations, plt_relocations;
    size_t relocation_count, relative_relocations, plt_relocation_count;
};

#define HIDDEN_VERSION  0x8000 /* not the symbol's default version */
#define MAX_CHAIN       4096u  /* symbols of one hash bucket */
#define MAX_NAME        64     /* of a name that is searched in an object that may go */
#define NO_SYMBOL       UINT32_MAX
#define MAX_DYNAMIC     4096u /* entries of a dynamic section */
#define DYNAMIC_AT_ONCE 32u   /* which is all of most */

static inline __attribute__((always_inline)) bool copy(const struct tables *tables, void *to, uintptr_t from,
                                                       size_t size)
{
    if (tables->may_go)
        return pp_safe_copy(to, from, size);
    memcpy(to, (const void *)from, size);
    return true;
}

static void record_entry(struct tables *tables, uintptr_t base, const ElfW(Dyn) * entry)
{
    /* glibc relocates the addresses in the dynamic section of most objects, not those of the vDSO */
    uintptr_t at = entry->d_un.d_ptr < base ? entry->d_un.d_ptr + base : entry->d_un.d_ptr;
    switch (entry->d_tag) {
    case DT_STRTAB:
        tables->strings = at;
        break;
    case DT_SYMTAB:
        tables->symbols = at;
        break;
    case DT_GNU_HASH:
        tables->gnu_hash = at;
        break;
    case DT_HASH:
        tables->hash = at;
        break;
    case DT_VERSYM:
        tables->versions = at;
        break;
    case DT_RELA:
        tables->relocations = at;
        break;
    case DT_RELASZ:
        tables->relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_RELACOUNT:
        tables->relative_relocations = entry->d_un.d_val;
        break;
    case DT_JMPREL:
        tables->plt_relocations = at;
        break;
    case DT_PLTRELSZ:
        tables->plt_relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    }
}

/* Of a dynamic section only the beginning is known: what is copied at once is on one page. */
static bool read_tables(bool may_go, uintptr_t base, uintptr_t dynamic, struct tables *tables)
{
    ElfW(Dyn) some[DYNAMIC_AT_ONCE];
    *tables = (struct tables){.may_go = may_go};
    for (size_t read = 0, count; dynamic && read < MAX_DYNAMIC; read += count, dynamic += count * sizeof *some) {
        size_t on_page = (pp_page_size() - (dynamic & (pp_page_size() - 1))) / sizeof *some;
        count = !may_go || on_page == 0 ? 1 : on_page < DYNAMIC_AT_ONCE ? on_page : DYNAMIC_AT_ONCE;
        if (!may_go)
            memcpy(some, (const void *)dynamic, sizeof *some);
        else if (!pp_safe_copy(some, dynamic, count * sizeof *some))
            return false;
        for (size_t i = 0; i < count; i++) {
            if (some[i].d_tag == DT_NULL)
                return tables->strings && tables->symbols && (tables->gnu_hash || tables->hash);
            record_entry(tables, base, &some[i]);
        }
    }
    return false;
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *tables)
{
    uintptr_t dynamic = 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    return read_tables(pp_loader_is_copied(), object->dlpi_addr, dynamic, tables);
}

/* The copy of a longer text that would be equal is not cut off by the end of what is mapped. */
static bool is_text(const struct tables *tables, uintptr_t at, const char *text)
{
    char there[MAX_NAME];
    size_t size = strlen(text) + 1;
    if (!tables->may_go)
        return strcmp((const char *)at, text) == 0;
    return size <= sizeof there && pp_safe_copy(there, at, size) && memcmp(there, text, size) == 0;
}

static bool is_definition(const struct tables *tables, uint32_t index, const char *name, ElfW(Sym) * symbol)
{
    ElfW(Half) version;
    if (!copy(tables, symbol, tables->symbols + index * sizeof *symbol, sizeof *symbol) ||
        symbol->st_shndx == SHN_UNDEF)
        return false;
    if (!is_text(tables, tables->strings + symbol->st_name, name))
        return false;
    return !tables->versions || (copy(tables, &version, tables->versions + index * sizeof version, sizeof version) &&
                                 !(version & HIDDEN_VERSION));
}

static uint32_t find_by_gnu_hash(const struct tables *tables, const char *name, ElfW(Sym) * symbol)
{
    uint32_t header[4], hash = 5381, index, chained;
    uint64_t word;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = hash * 33 + *p;
    if (!copy(tables, header, tables->gnu_hash, sizeof header) || !header[0] || !header[2])
        return NO_SYMBOL;
    uint32_t buckets = header[0], first = header[1], bloom_words = header[2], shift = header[3];
    uintptr_t bloom = tables->gnu_hash + sizeof header, bucket = bloom + bloom_words * sizeof word;
    uintptr_t chain = bucket + buckets * sizeof index;
    if (!copy(tables, &word, bloom + hash / 64 % bloom_words * sizeof word, sizeof word) ||
        !(word >> hash % 64 & word >> (hash >> shift) % 64 & 1) ||
        !copy(tables, &index, bucket + hash % buckets * sizeof index, sizeof index) || !index || index < first)
        return NO_SYMBOL;
    for (uint32_t n = 0; n < MAX_CHAIN; n++, index++) {
        if (!copy(tables, &chained, chain + (uintptr_t)(index - first) * sizeof chained, sizeof chained))
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
    if (!copy(tables, &buckets, tables->hash, sizeof buckets) || !buckets)
        return NO_SYMBOL;
    uintptr_t bucket = tables->hash + 2 * sizeof index, chain = bucket + buckets * sizeof index;
    bool there = copy(tables, &index, bucket + hash % buckets * sizeof index, sizeof index);
    for (uint32_t n = 0; there && index && n < MAX_CHAIN; n++) {
        if (is_definition(tables, index, name, symbol))
            return index;
        there = copy(tables, &index, chain + (uintptr_t)index * sizeof index, sizeof index);
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

bool pp_elf_defines(uintptr_t base, uintptr_t dynamic, const char *name)
{
    struct tables tables;
    ElfW(Sym) symbol;
    return read_tables(true, base, dynamic, &tables) && find_defined(&tables, name, &symbol) != NO_SYMBOL;
}

#define RELOCATIONS_AT_ONCE 128

/* Reads relocations of the table from number `at` on; returns how many, 0 at its end or if they are gone. */
static size_t read_relocations(const struct tables *tables, uintptr_t table, size_t at, size_t count,
                               ElfW(Rela) some[RELOCATIONS_AT_ONCE])
{
    size_t number = at >= count ? 0 : count - at < RELOCATIONS_AT_ONCE ? count - at : RELOCATIONS_AT_ONCE;
    return copy(tables, some, table + at * sizeof *some, number * sizeof *some) ? number : 0;
}

/* Searches a table of relocations for the entry that gives the thread-local variable's place relative to the thread
 * pointer. */
static bool find_fixed(const struct tables *tables, uintptr_t base, uintptr_t from, size_t count, uint32_t index,
                       const ElfW(Sym) * symbol, int64_t *offset)
{
    ElfW(Rela) some[RELOCATIONS_AT_ONCE];
    for (size_t at = 0, number; (number = read_relocations(tables, from, at, count, some)) != 0; at += number) {
        for (size_t i = 0; i < number; i++) {
            unsigned long type = ELF64_R_TYPE(some[i].r_info), of = ELF64_R_SYM(some[i].r_info);
            bool descriptor = type == PP_RELOCATION_TLS_DESCRIPTOR;
            uintptr_t slot = base + some[i].r_offset + (descriptor ? sizeof slot : 0);
            if ((descriptor || type == PP_RELOCATION_TLS_OFFSET) &&
                (of ? of == index : (uint64_t)some[i].r_addend == symbol->st_value) &&
                copy(tables, offset, slot, sizeof *offset) && pp_tls_is_static(*offset))
                return true;
        }
    }
    return false;
}

bool pp_elf_tls_word(uintptr_t base, uintptr_t dynamic, uint64_t module, const char *name, struct pp_tls_word *word)
{
    struct tables tables;
    ElfW(Sym) symbol;
    int64_t offset;
    uint32_t index = read_tables(true, base, dynamic, &tables) ? find_defined(&tables, name, &symbol) : NO_SYMBOL;
    if (index == NO_SYMBOL || ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
        return false;
    if (find_fixed(&tables, base, tables.relocations + tables.relative_relocations * sizeof(ElfW(Rela)),
                   tables.relocation_count - tables.relative_relocations, index, &symbol, &offset) ||
        find_fixed(&tables, base, tables.plt_relocations, tables.plt_relocation_count, index, &symbol, &offset))
        *word = (struct pp_tls_word){.kind = PP_TLS_FIXED, .offset = offset};
    else
        *word = (struct pp_tls_word){PP_TLS_DYNAMIC, module, (int64_t)symbol.st_value};
    return true;
}

bool pp_elf_find_next(const char *names, void **found)
{
    const struct link_map *object = pp_libc_objects();
    while (object && object->l_ld != _DYNAMIC)
        object = object->l_next;
    if (!object)
        return false;
    bool missing = true;
    while (missing && (object = object->l_next) != NULL) {
        struct tables tables;
        ElfW(Sym) symbol;
        if (!read_tables(false, object->l_addr, (uintptr_t)object->l_ld, &tables))
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

/* Whether the loader has relocated the object: it does so in the table's order, lazy binding is for functions only, and
 * the last address of a symbol that is defined is not 0. */
static bool is_relocated(const struct tables *tables, uintptr_t base)
{
    ElfW(Rela) one;
    ElfW(Sym) symbol;
    uintptr_t stored;
    for (size_t i = tables->relocation_count; i-- > tables->relative_relocations;) {
        if (!copy(tables, &one, tables->relocations + i * sizeof one, sizeof one) ||
            !copy(tables, &symbol, tables->symbols + ELF64_R_SYM(one.r_info) * sizeof symbol, sizeof symbol))
            return false;
        unsigned long type = ELF64_R_TYPE(one.r_info);
        if ((type == PP_RELOCATION_SLOT || type == PP_RELOCATION_POINTER) && symbol.st_shndx != SHN_UNDEF)
            return copy(tables, &stored, base + one.r_offset, sizeof stored) && stored != 0;
    }
    return true;
}

/* Returns the address that relocations have given to a variable, `own` if no relocation names it, 0 if they are gone.
 * The slot of the offset table decides if the variable has a slot: other pointers to the variable may be bound before
 * it. */
static uintptr_t bound_address(const struct tables *tables, uintptr_t base, uint32_t index, uintptr_t own)
{
    ElfW(Rela) some[RELOCATIONS_AT_ONCE], pointer = {0};
    bool found = false, has_slot = false;
    size_t at = tables->relative_relocations, number;
    while (!has_slot && (number = read_relocations(tables, tables->relocations, at, tables->relocation_count, some))) {
        for (size_t i = 0; i < number && !has_slot; i++) {
            unsigned long type = ELF64_R_TYPE(some[i].r_info);
            if (ELF64_R_SYM(some[i].r_info) != index || (type != PP_RELOCATION_SLOT && type != PP_RELOCATION_POINTER))
                continue;
            has_slot = type == PP_RELOCATION_SLOT;
            pointer = some[i];
            found = true;
        }
        at += number;
    }
    if (!has_slot && at < tables->relocation_count)
        return 0;
    uintptr_t address = own;
    if (found) {
        if (!copy(tables, &address, base + pointer.r_offset, sizeof address))
            return 0;
        address -= has_slot ? 0 : (uintptr_t)pointer.r_addend;
    }
    return address;
}

/* Whether another object defines one of these names too, or might. */
static bool have_rivals(const struct dl_phdr_info *own, const char *const *names, unsigned count)
{
    bool listed = false;
    for (const struct link_map *object = pp_libc_objects(); object; object = object->l_next) {
        struct tables tables;
        ElfW(Sym) symbol;
        bool is_own = object->l_addr == own->dlpi_addr;
        listed |= is_own;
        if (is_own || !read_tables(pp_loader_is_copied(), object->l_addr, (uintptr_t)object->l_ld, &tables))
            continue;
        for (unsigned i = 0; i < count; i++)
            if (find_defined(&tables, names[i], &symbol) != NO_SYMBOL)
                return true;
    }
    return !listed;
}

void pp_elf_variables(const struct dl_phdr_info *object, const char *const *names, unsigned count, uintptr_t *found)
{
    struct tables tables;
    ElfW(Sym) symbol;
    uintptr_t base = object->dlpi_addr;
    memset(found, 0, count * sizeof *found);
    if (!find_tables(object, &tables) || !is_relocated(&tables, base))
        return;
    /* of libpython's 39,000 relocations 16,000 name a symbol: they are read only where they can make a difference */
    bool read_relocations = have_rivals(object, names, count);
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = find_defined(&tables, names[i], &symbol);
        if (index == NO_SYMBOL)
            continue;
        found[i] = base + symbol.st_value;
        if (read_relocations)
            found[i] = bound_address(&tables, base, index, found[i]);
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
