/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_file.h"
#include "../base/arena.h"
#include "../base/elf_names.h"
#include "../base/syscalls.h"
#include <string.h>
#include <sys/stat.h>

#define MAX_SECTIONS 65536
#define MAX_SEGMENTS 64
#define MAX_NOTES    4096
#define AT_ONCE      680u /* symbols read: 16 KB */
#define MAX_NAME     64u

bool pp_elf_source_read(const struct pp_elf_source *source, void *to, size_t size, uint64_t offset)
{
    if (source->fd < 0) {
        if (offset > source->size || size > source->size - offset)
            return false;
        memcpy(to, source->memory + offset, size);
        return true;
    }
    for (size_t done = 0; done < size;) {
        long r = pp_sys_pread(source->fd, (char *)to + done, size - done, offset + done);
        if (r <= 0)
            return false;
        done += (size_t)r;
    }
    return true;
}

bool pp_elf_source_identity(const struct pp_elf_source *source, struct pp_elf_identity *identity)
{
    struct stat status;
    *identity = (struct pp_elf_identity){0};
    if (source->fd < 0)
        return true;
    if (pp_syscall4(SYS_fstat, source->fd, (long)&status, 0, 0) != 0)
        return false;
    *identity = (struct pp_elf_identity){
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = (uint64_t)status.st_size,
        .seconds = (uint64_t)status.st_mtim.tv_sec,
        .nanoseconds = (uint64_t)status.st_mtim.tv_nsec,
    };
    return true;
}

static bool read_header(const struct pp_elf_source *source, Elf64_Ehdr *header)
{
    return pp_elf_source_read(source, header, sizeof *header, 0) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_machine == PP_ELF_MACHINE;
}

uint8_t pp_elf_build_id(const uint8_t *notes, size_t size, uint8_t *id, size_t max)
{
    size_t length;
    const uint8_t *found = pp_elf_note(notes, size, "GNU", NT_GNU_BUILD_ID, &length);
    if (!found || length > max)
        return 0;
    memcpy(id, found, length);
    return (uint8_t)length;
}

uint8_t pp_elf_source_build_id(const struct pp_elf_source *source, uint8_t *id, size_t max)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[MAX_SEGMENTS];
    if (!read_header(source, &header) || header.e_phentsize != sizeof *segments)
        return 0;
    unsigned count = header.e_phnum < MAX_SEGMENTS ? header.e_phnum : MAX_SEGMENTS;
    if (!pp_elf_source_read(source, segments, count * sizeof *segments, header.e_phoff))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t notes[MAX_NOTES];
        size_t size = segments[i].p_filesz < sizeof notes ? segments[i].p_filesz : sizeof notes;
        if (segments[i].p_type != PT_NOTE || !pp_elf_source_read(source, notes, size, segments[i].p_offset))
            continue;
        uint8_t length = pp_elf_build_id(notes, size, id, max);
        if (length)
            return length;
    }
    return 0;
}

static void *read_mapped(const struct pp_elf_source *source, uint64_t size, uint64_t offset)
{
    void *to = size ? pp_map_uncleared(size) : NULL;
    if (to && !pp_elf_source_read(source, to, size, offset)) {
        pp_unmap(to, size);
        return NULL;
    }
    return to;
}

bool pp_elf_sections_read(const struct pp_elf_source *source, struct pp_elf_sections *sections)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    if (!read_header(source, &header) || !header.e_shoff || header.e_shentsize != sizeof first ||
        !pp_elf_source_read(source, &first, sizeof first, header.e_shoff))
        return false;
    sections->count = header.e_shnum ? header.e_shnum : first.sh_size;
    if (sections->count == 0 || sections->count > MAX_SECTIONS)
        return false;
    sections->headers = read_mapped(source, sections->count * sizeof first, header.e_shoff);
    sections->relocatable = header.e_type == ET_REL;
    return sections->headers != NULL;
}

void pp_elf_sections_free(struct pp_elf_sections *sections)
{
    pp_unmap(sections->headers, sections->count * sizeof *sections->headers);
}

const Elf64_Shdr *pp_elf_table(const struct pp_elf_sections *sections, uint32_t type, const Elf64_Shdr **strings)
{
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *table = &sections->headers[i];
        if (table->sh_type != type || table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= sections->count ||
            table->sh_size > PP_ELF_TABLE_MAX)
            continue;
        *strings = &sections->headers[table->sh_link];
        if ((*strings)->sh_type == SHT_STRTAB)
            return table;
    }
    return NULL;
}

unsigned pp_elf_source_mentions(const struct pp_elf_source *source, const char *const *names, unsigned count)
{
    struct pp_elf_sections sections;
    unsigned found = 0;
    if (!pp_elf_sections_read(source, &sections))
        return 0;
    const Elf64_Shdr *strings, *table = pp_elf_table(&sections, SHT_DYNSYM, &strings);
    uint64_t size = table && strings->sh_size <= PP_ELF_TABLE_MAX ? strings->sh_size : 0;
    char *text = read_mapped(source, size, table ? strings->sh_offset : 0);
    for (unsigned i = 0; text && i < count; i++)
        if (memmem(text, size, names[i], strlen(names[i]) + 1))
            found |= 1u << i;
    pp_unmap(text, size);
    pp_elf_sections_free(&sections);
    return found;
}

/* Whether the symbol is a variable of this size in a section that can be written to. */
static bool is_variable(const struct pp_elf_sections *sections, const Elf64_Sym *symbol, uint64_t size)
{
    return symbol->st_size == size && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_shndx < sections->count && sections->headers[symbol->st_shndx].sh_flags & SHF_WRITE;
}

static bool has_name(const struct pp_elf_source *source, const Elf64_Shdr *strings, const Elf64_Sym *symbol,
                     const char *name)
{
    char there[MAX_NAME];
    size_t size = strlen(name) + 1;
    return size <= sizeof there && symbol->st_name < strings->sh_size && size <= strings->sh_size - symbol->st_name &&
           pp_elf_source_read(source, there, size, strings->sh_offset + symbol->st_name) &&
           memcmp(there, name, size) == 0;
}

bool pp_elf_source_variable(const struct pp_elf_source *source, bool dynamic, const char *name, uint64_t size,
                            uint64_t *value)
{
    struct pp_elf_sections sections;
    Elf64_Sym symbols[AT_ONCE];
    bool found = false;
    if (!pp_elf_sections_read(source, &sections))
        return false;
    const Elf64_Shdr *strings, *table = pp_elf_table(&sections, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &strings);
    uint64_t count = table ? table->sh_size / sizeof *symbols : 0, some;
    for (uint64_t at = 0; !found && at < count; at += some) {
        some = count - at < AT_ONCE ? count - at : AT_ONCE;
        if (!pp_elf_source_read(source, symbols, some * sizeof *symbols, table->sh_offset + at * sizeof *symbols))
            break;
        for (uint64_t i = 0; !found && i < some; i++) {
            found = is_variable(&sections, &symbols[i], size) && has_name(source, strings, &symbols[i], name);
            *value = found ? symbols[i].st_value : *value;
        }
    }
    pp_elf_sections_free(&sections);
    return found;
}
