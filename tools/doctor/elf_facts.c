/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_interpreter(Elf *elf, int file, struct pt_elf_facts *facts)
{
    size_t count = 0;
    GElf_Phdr segment;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_INTERP ||
            segment.p_filesz >= sizeof facts->interpreter)
            continue;
        ssize_t length = pread(file, facts->interpreter, segment.p_filesz, (off_t)segment.p_offset);
        facts->interpreter[length > 0 ? length : 0] = '\0';
    }
}

static uint32_t read_word(Elf *elf, const GElf_Sym *symbol)
{
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    GElf_Shdr header;
    uint32_t word = 0;
    if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
        return 0;
    Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t offset = symbol->st_value - header.sh_addr;
    if (data && data->d_buf && offset < data->d_size && data->d_size - offset >= sizeof word)
        memcpy(&word, (const char *)data->d_buf + offset, sizeof word);
    return word;
}

/* Exported symbols, as the library finds an interpreter. */
static void read_symbols(Elf *elf, struct pt_elf_facts *facts)
{
    bool runtime = false, version = false;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (!name || symbol.st_shndx == SHN_UNDEF)
                continue;
            runtime |= strcmp(name, "_PyRuntime") == 0;
            version |= strcmp(name, "Py_GetVersion") == 0;
            facts->python_debug |= strcmp(name, "_Py_NegativeRefcount") == 0;
            if (strcmp(name, "Py_Version") == 0)
                facts->python_version = read_word(elf, &symbol);
        }
    }
    facts->python = runtime && version;
}

static void read_needed(Elf *elf, struct pt_elf_facts *facts)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Dyn entry;
        for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
            const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
            if (name && (strstr(name, "libasan.so") || strstr(name, "libclang_rt.asan")))
                snprintf(facts->sanitizer, sizeof facts->sanitizer, "%s", name);
        }
    }
}

bool pt_elf_facts_read(const char *path, struct pt_elf_facts *facts)
{
    *facts = (struct pt_elf_facts){0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ, NULL);
    GElf_Ehdr header;
    bool good = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
    if (good) {
        facts->class = gelf_getclass(elf);
        facts->machine = header.e_machine;
        read_interpreter(elf, file, facts);
        read_symbols(elf, facts);
        read_needed(elf, facts);
    }
    elf_end(elf);
    close(file);
    errno = 0;
    return good;
}

const char *pt_elf_kind(const struct pt_elf_facts *facts)
{
    static char text[32];
    const char *bits = facts->class == ELFCLASS32 ? "32-bit" : "64-bit";
    const char *machine = facts->machine == EM_X86_64    ? "x86-64"
                          : facts->machine == EM_386     ? "x86"
                          : facts->machine == EM_AARCH64 ? "ARM"
                                                         : NULL;
    if (machine)
        snprintf(text, sizeof text, "%s %s", bits, machine);
    else
        snprintf(text, sizeof text, "%s, machine %d", bits, facts->machine);
    return text;
}
