/* SPDX-License-Identifier: Apache-2.0 */
#include "eh_frame_hdr.h"

#include <gelf.h>
#include <string.h>

/* Every linker writes (DW_EH_PE_*) a 4-byte pointer to .eh_frame, a 4-byte count, and a sorted table of pairs of 4-byte
 * offsets from the section's start. Other forms are not read. */
#define VERSION        1
#define COUNT_UDATA4   0x03
#define TABLE_DATAREL4 0x3b
#define HEADER_BYTES   12
#define ENTRY_BYTES    8
/* An FDE as every compiler writes it: its length, where its CIE is, then as 4 bytes each where its code begins,
 * relative to that field, and how long the code is. */
#define FDE_START 8
#define FDE_BYTES 16

struct table {
    const unsigned char *entries;
    uint32_t count;
    uint64_t base;
};

static int32_t number_at(const unsigned char *bytes)
{
    int32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static int32_t offset_of(const struct table *table, uint32_t entry)
{
    return number_at(table->entries + (size_t)entry * ENTRY_BYTES);
}

static bool find_table(Elf *elf, struct table *table)
{
    size_t headers;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &headers) != 0)
        return false;
    for (size_t i = 0; i < headers; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
        const unsigned char *bytes = data ? data->d_buf : NULL;
        if (!bytes || data->d_size < HEADER_BYTES || bytes[0] != VERSION || bytes[2] != COUNT_UDATA4 ||
            bytes[3] != TABLE_DATAREL4)
            return false;
        memcpy(&table->count, bytes + 8, sizeof table->count);
        table->entries = bytes + HEADER_BYTES;
        table->base = header.p_vaddr;
        return table->count && table->count <= (data->d_size - HEADER_BYTES) / ENTRY_BYTES;
    }
    return false;
}

/* Returns bytes of the file by their address in memory; NULL: there are none. */
static const unsigned char *bytes_at(Elf *elf, uint64_t address, size_t size)
{
    size_t headers;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &headers) != 0)
        return NULL;
    for (size_t i = 0; i < headers; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD || address < header.p_vaddr ||
            address - header.p_vaddr >= header.p_filesz || header.p_filesz - (address - header.p_vaddr) < size)
            continue;
        Elf_Data *data =
            elf_getdata_rawchunk(elf, (int64_t)(header.p_offset + address - header.p_vaddr), size, ELF_T_BYTE);
        return data ? data->d_buf : NULL;
    }
    return NULL;
}

/* Whether the entry's function, which begins at `start`, holds the address: after the last one of a section may be
 * code without any, as the PLT of some linkers. */
static bool holds(Elf *elf, const struct table *table, uint32_t entry, uint64_t start, uint64_t address)
{
    uint64_t fde = table->base + (uint64_t)(int64_t)number_at(table->entries + (size_t)entry * ENTRY_BYTES + 4);
    const unsigned char *bytes = bytes_at(elf, fde, FDE_BYTES);
    return bytes && fde + FDE_START + (uint64_t)(int64_t)number_at(bytes + FDE_START) == start &&
           address - start < (uint32_t)number_at(bytes + FDE_START + 4);
}

bool pt_eh_frame_function_start(Elf *elf, uint64_t address, uint64_t *start)
{
    struct table table;
    if (!find_table(elf, &table))
        return false;
    uint32_t low = 0, high = table.count; /* the last entry at or below the address is in [low, high) */
    int64_t wanted = (int64_t)(address - table.base);
    if (offset_of(&table, 0) > wanted)
        return false;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (offset_of(&table, middle) <= wanted)
            low = middle;
        else
            high = middle;
    }
    *start = table.base + (uint64_t)(int64_t)offset_of(&table, low);
    return holds(elf, &table, low, *start, address);
}
