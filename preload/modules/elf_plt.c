/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_plt.h"
#include "../arch/arch.h"
#include "../base/syscalls.h"
#include <string.h>

#define MAX_RELOCATIONS ((uint64_t)64 << 20) /* bytes */
#define AT_ONCE         340u                 /* relocations read: 8 KB */
#define SUFFIX          "@plt"

/* Most linkers give the tables, and no other code, an entry size: of 8 or 16 bytes. lld and mold give none, as to all
 * code: there each place may be a stub. */
static bool may_have_stubs(const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_EXECINSTR &&
           (section->sh_entsize == 8 || section->sh_entsize == PP_STUB_SIZE || !section->sh_entsize);
}

void pp_elf_plt_bounds(const struct pp_elf_sections *sections, uint64_t *start, uint64_t *end)
{
    bool marked = false;
    *start = UINT64_MAX;
    *end = 0;
    for (size_t i = 0; i < sections->count && !sections->relocatable; i++)
        marked |= may_have_stubs(&sections->headers[i]) && sections->headers[i].sh_entsize;
    for (size_t i = 0; i < sections->count && !sections->relocatable; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        if (!may_have_stubs(section) || (marked && !section->sh_entsize))
            continue;
        *start = section->sh_addr < *start ? section->sh_addr : *start;
        *end = section->sh_addr + section->sh_size > *end ? section->sh_addr + section->sh_size : *end;
    }
}

static const Elf64_Shdr *table_at(const struct pp_elf_sections *sections, uint64_t address)
{
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        if (may_have_stubs(section) && address >= section->sh_addr && address - section->sh_addr < section->sh_size)
            return section;
    }
    return NULL;
}

/* Returns the symbol whose address this relocation has the loader put into the slot, 0 if it is another slot's. */
static uint32_t symbol_of(const Elf64_Rela *item, uint64_t slot)
{
    uint64_t type = ELF64_R_TYPE(item->r_info);
    bool is_for = item->r_offset == slot && (type == PP_RELOCATION_CALL || type == PP_RELOCATION_SLOT);
    return is_for ? (uint32_t)ELF64_R_SYM(item->r_info) : 0;
}

/* Linkers give the slots of .plt the order of their relocations: two are read, and not tens of kilobytes. */
static uint32_t symbol_in_order(const struct pp_elf_source *source, const Elf64_Shdr *table, uint64_t slot)
{
    Elf64_Rela item;
    if (table->sh_size < sizeof item || !pp_elf_source_read(source, &item, sizeof item, table->sh_offset))
        return 0;
    uint64_t number = (slot - item.r_offset) / sizeof slot;
    if (number >= table->sh_size / sizeof item ||
        !pp_elf_source_read(source, &item, sizeof item, table->sh_offset + number * sizeof item))
        return 0;
    return symbol_of(&item, slot);
}

/* Returns the number of the symbol whose address the loader puts into the slot, 0 if there is none. Reads the table
 * from its end: linkers put first what needs no symbol, which is most of a megabyte in libpython. */
static uint32_t symbol_in_slot(const struct pp_elf_source *source, const Elf64_Shdr *table, uint64_t slot)
{
    Elf64_Rela items[AT_ONCE];
    uint32_t symbol = symbol_in_order(source, table, slot);
    uint64_t left = table->sh_size / sizeof *items;
    if (table->sh_size > MAX_RELOCATIONS)
        return symbol;
    while (!symbol && left) {
        size_t some = left < AT_ONCE ? left : AT_ONCE;
        left -= some;
        if (!pp_elf_source_read(source, items, some * sizeof *items, table->sh_offset + left * sizeof *items))
            return 0;
        for (size_t i = some; !symbol && i-- > 0;)
            symbol = symbol_of(&items[i], slot);
    }
    return symbol;
}

/* Sets the name to that of a symbol of the table; false if it cannot be read. */
static bool read_name(const struct pp_elf_source *source, const struct pp_elf_sections *sections, uint32_t table,
                      uint32_t symbol, char *name)
{
    Elf64_Sym item;
    const Elf64_Shdr *symbols = table < sections->count ? &sections->headers[table] : NULL;
    if (!symbols || symbols->sh_link >= sections->count || symbol >= symbols->sh_size / sizeof item ||
        !pp_elf_source_read(source, &item, sizeof item, symbols->sh_offset + symbol * sizeof item))
        return false;
    const Elf64_Shdr *strings = &sections->headers[symbols->sh_link];
    uint64_t left = item.st_name < strings->sh_size ? strings->sh_size - item.st_name : 0;
    size_t most = PP_ELF_NAME_MAX - (sizeof SUFFIX - 1), size = left < most ? left : most;
    if (!pp_elf_source_read(source, name, size, strings->sh_offset + item.st_name))
        return false;
    name[size] = 0;
    return *name;
}

/* Relocations of these tables follow the others. */
static void name_stub(const struct pp_elf_source *source, const struct pp_elf_sections *sections, uint64_t slot,
                      char *name)
{
    for (size_t i = sections->count; i-- > 0;) {
        const Elf64_Shdr *table = &sections->headers[i];
        uint32_t symbol = table->sh_type == SHT_RELA ? symbol_in_slot(source, table, slot) : 0;
        if (!symbol)
            continue;
        if (read_name(source, sections, table->sh_link, symbol, name))
            memcpy(name + strlen(name), SUFFIX, sizeof SUFFIX);
        else
            *name = 0;
        return;
    }
}

/* Returns the slot of the stub that holds the address, 0 if there is none; *start, *size: the stub, in a table whose
 * entries have *size bytes at most. */
static uint64_t slot_of_stub(const struct pp_elf_source *source, const Elf64_Shdr *table, uint64_t address,
                             uint64_t *start, uint64_t *size)
{
    uint8_t code[PP_STUB_SIZE], found;
    uint64_t step = *size < PP_STUB_ALIGN ? *size : PP_STUB_ALIGN, offset = address - table->sh_addr;
    *start = address - offset % *size;
    offset -= offset % step;
    for (uint64_t back = 0; back < *size && back <= offset; back += step) {
        uint64_t at = table->sh_addr + offset - back;
        uint64_t slot = pp_elf_source_read(source, code, sizeof code, table->sh_offset + offset - back)
                            ? pp_stub_slot(code, at, &found)
                            : 0;
        if (!slot || address - at >= found)
            continue;
        *start = at;
        *size = found < *size ? found : *size;
        return slot;
    }
    return 0;
}

void pp_elf_plt_find(const struct pp_elf_source *source, uint64_t address, struct pp_elf_symbol *found)
{
    struct pp_elf_sections sections;
    if (!pp_elf_sections_read(source, &sections))
        return;
    const Elf64_Shdr *table = sections.relocatable ? NULL : table_at(&sections, address);
    if (table) {
        uint64_t start, size = table->sh_entsize ? table->sh_entsize : PP_STUB_SIZE;
        uint64_t slot = slot_of_stub(source, table, address, &start, &size);
        *found->name = 0;
        if (slot)
            name_stub(source, &sections, slot, found->name);
        if (table->sh_entsize || *found->name) {
            found->from = found->value = start;
            found->size = size;
            found->to = start + size;
        }
    }
    pp_elf_sections_free(&sections);
}
