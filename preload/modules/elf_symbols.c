#include "elf_symbols.h"
#include "../base/arena.h"
#include "../base/elf_names.h"
#include "../base/syscalls.h"
#include <elf.h>
#include <string.h>

/* Larger tables are not read: .dynsym is taken instead of .symtab. */
#define MAX_TABLES   ((uint64_t)64 << 20)
#define MAX_SECTIONS 65536
#define MAX_NOTES    4096
/* Nested symbols that end before an address may hide the enclosing one. */
#define MAX_STEPS_BACK 16
#define DIGIT_BITS     8 /* of the sort; the values of a library's functions have two or three */
#define DIGITS         (1u << DIGIT_BITS)

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
    if (!read_header(source, &header) || header.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr phdr;
        if (!pp_elf_source_read(source, &phdr, sizeof phdr, header.e_phoff + i * sizeof phdr))
            return 0;
        uint8_t notes[MAX_NOTES];
        size_t size = phdr.p_filesz < sizeof notes ? phdr.p_filesz : sizeof notes;
        if (phdr.p_type != PT_NOTE || !pp_elf_source_read(source, notes, size, phdr.p_offset))
            continue;
        uint8_t length = pp_elf_build_id(notes, size, id, max);
        if (length)
            return length;
    }
    return 0;
}

/* The parts of a file, read whole into our own memory. */
struct tables {
    Elf64_Shdr *sections;
    size_t section_count;
    Elf64_Sym *symbols;
    size_t symbol_count, symbols_size;
    char *strings;
    size_t strings_size;
};

static void *read_mapped(const struct pp_elf_source *source, uint64_t size, uint64_t offset)
{
    void *to = size ? pp_map(size) : NULL;
    if (to && !pp_elf_source_read(source, to, size, offset)) {
        pp_unmap(to, size);
        return NULL;
    }
    return to;
}

static void free_tables(struct tables *t)
{
    pp_unmap(t->sections, t->section_count * sizeof *t->sections);
    pp_unmap(t->symbols, t->symbols_size);
    pp_unmap(t->strings, t->strings_size);
}

static bool read_table(const struct pp_elf_source *source, struct tables *t, uint32_t type)
{
    for (size_t i = 0; i < t->section_count; i++) {
        const Elf64_Shdr *table = &t->sections[i];
        if (table->sh_type != type || table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= t->section_count)
            continue;
        const Elf64_Shdr *strings = &t->sections[table->sh_link];
        if (strings->sh_type != SHT_STRTAB || table->sh_size > MAX_TABLES ||
            strings->sh_size > MAX_TABLES - table->sh_size)
            continue;
        t->symbols_size = table->sh_size;
        t->strings_size = strings->sh_size;
        t->symbols = read_mapped(source, t->symbols_size, table->sh_offset);
        t->strings = read_mapped(source, t->strings_size, strings->sh_offset);
        if (t->symbols && t->strings) {
            t->symbol_count = t->symbols_size / sizeof *t->symbols;
            t->strings[t->strings_size - 1] = '\0';
            return true;
        }
        pp_unmap(t->symbols, t->symbols_size);
        pp_unmap(t->strings, t->strings_size);
        t->symbols = NULL;
        t->strings = NULL;
    }
    return false;
}

/* Adds section addresses: in an object that was not linked, as JITs register them, values are relative to the section.
 */
static void add_section_starts(struct tables *t)
{
    for (size_t i = 0; i < t->symbol_count; i++)
        if (t->symbols[i].st_shndx < t->section_count)
            t->symbols[i].st_value += t->sections[t->symbols[i].st_shndx].sh_addr;
}

static bool read_sections(const struct pp_elf_source *source, struct tables *t, bool *relocatable)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    *t = (struct tables){0};
    if (!read_header(source, &header) || !header.e_shoff || header.e_shentsize != sizeof first ||
        !pp_elf_source_read(source, &first, sizeof first, header.e_shoff))
        return false;
    uint64_t count = header.e_shnum ? header.e_shnum : first.sh_size;
    if (count == 0 || count > MAX_SECTIONS)
        return false;
    t->section_count = count;
    t->sections = read_mapped(source, count * sizeof first, header.e_shoff);
    *relocatable = header.e_type == ET_REL;
    return t->sections != NULL;
}

static bool read_tables(const struct pp_elf_source *source, struct tables *t)
{
    bool relocatable;
    if (!read_sections(source, t, &relocatable) ||
        !(read_table(source, t, SHT_SYMTAB) || read_table(source, t, SHT_DYNSYM)))
        return false;
    if (relocatable)
        add_section_starts(t);
    return true;
}

bool pp_elf_source_symbol(const struct pp_elf_source *source, bool dynamic, const char *name, uint64_t *value)
{
    struct tables t;
    bool relocatable, found = false;
    if (read_sections(source, &t, &relocatable) && read_table(source, &t, dynamic ? SHT_DYNSYM : SHT_SYMTAB))
        for (size_t i = 0; i < t.symbol_count && !found; i++) {
            const Elf64_Sym *symbol = &t.symbols[i];
            found = symbol->st_name < t.strings_size && strcmp(t.strings + symbol->st_name, name) == 0;
            *value = symbol->st_shndx == SHN_UNDEF ? 0 : symbol->st_value;
        }
    free_tables(&t);
    return found;
}

/* Functions, and labels without a type in executable sections. */
static bool is_code(const struct tables *t, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= t->strings_size || !t->strings[symbol->st_name])
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    return type == STT_NOTYPE && symbol->st_shndx < t->section_count &&
           t->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR;
}

static unsigned underscores(const char *name)
{
    unsigned n = 0;
    while (name[n] == '_')
        n++;
    return n;
}

/* Chooses between two names of one address: a function before a label, exported before local, sized before unsized, the
 * public name (fewer leading underscores) before its internal alias, then alphabetically. */
static bool is_better(const struct tables *t, const Elf64_Sym *a, const Elf64_Sym *b)
{
    bool label_a = ELF64_ST_TYPE(a->st_info) == STT_NOTYPE, label_b = ELF64_ST_TYPE(b->st_info) == STT_NOTYPE;
    if (label_a != label_b)
        return label_b;
    bool local_a = ELF64_ST_BIND(a->st_info) == STB_LOCAL, local_b = ELF64_ST_BIND(b->st_info) == STB_LOCAL;
    if (local_a != local_b)
        return local_b;
    if ((a->st_size == 0) != (b->st_size == 0))
        return b->st_size == 0;
    const char *name_a = t->strings + a->st_name, *name_b = t->strings + b->st_name;
    if (underscores(name_a) != underscores(name_b))
        return underscores(name_a) < underscores(name_b);
    return strcmp(name_a, name_b) < 0;
}

/* Sorts by value: by its lowest digit, then stably by each higher one. False without memory. */
static bool sort_by_value(Elf64_Sym *symbols, size_t count)
{
    uint64_t highest = 0;
    size_t size = count * sizeof *symbols;
    Elf64_Sym *from = symbols, *to = pp_map(size), *other = to;
    if (!other)
        return false;
    for (size_t i = 0; i < count; i++)
        highest = symbols[i].st_value > highest ? symbols[i].st_value : highest;
    for (unsigned shift = 0; shift < 64 && highest >> shift; shift += DIGIT_BITS) {
        uint32_t starts[DIGITS + 1] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(from[i].st_value >> shift) % DIGITS + 1]++;
        for (unsigned digit = 0; digit < DIGITS; digit++)
            starts[digit + 1] += starts[digit];
        for (size_t i = 0; i < count; i++)
            to[starts[(from[i].st_value >> shift) % DIGITS]++] = from[i];
        Elf64_Sym *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != symbols)
        memcpy(symbols, from, size);
    pp_unmap(other, size);
    return true;
}

/* Keeps code only, ascending, with the best name of each address and without labels inside a sized function. Returns
 * their number, 0 without memory. */
static size_t select_symbols(struct tables *t)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < t->symbol_count; i++)
        if (is_code(t, &t->symbols[i]))
            t->symbols[count++] = t->symbols[i];
    if (!count || !sort_by_value(t->symbols, count))
        return 0;
    uint64_t covered = 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &t->symbols[i];
        Elf64_Sym *last = kept ? &t->symbols[kept - 1] : NULL;
        if (last && last->st_value == symbol->st_value) {
            if (is_better(t, symbol, last))
                *last = *symbol;
            if (last->st_value + last->st_size > covered)
                covered = last->st_value + last->st_size;
            continue;
        }
        if (symbol->st_size == 0 && symbol->st_value < covered)
            continue;
        uint64_t end = symbol->st_value + symbol->st_size;
        if (end > covered)
            covered = end;
        t->symbols[kept++] = *symbol;
    }
    return kept;
}

static bool pack(const struct tables *t, size_t count, struct pp_elf_symbols *out)
{
    size_t names_size = 0;
    for (size_t i = 0; i < count; i++)
        names_size += strlen(t->strings + t->symbols[i].st_name) + 1;
    size_t mapped = count * sizeof(struct pp_elf_symbol) + names_size;
    if (count == 0 || names_size > UINT32_MAX)
        return false;
    struct pp_elf_symbol *symbols = pp_map(mapped);
    if (!symbols)
        return false;
    char *names = (char *)(symbols + count);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &t->symbols[i];
        uint64_t size = symbol->st_size;
        symbols[i] =
            (struct pp_elf_symbol){symbol->st_value, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, (uint32_t)used};
        size_t length = strlen(t->strings + symbol->st_name) + 1;
        memcpy(names + used, t->strings + symbol->st_name, length);
        used += length;
    }
    *out = (struct pp_elf_symbols){symbols, count, names, symbols, mapped};
    return true;
}

bool pp_elf_symbols_read(const struct pp_elf_source *source, struct pp_elf_symbols *out)
{
    struct tables t;
    *out = (struct pp_elf_symbols){0};
    bool done = read_tables(source, &t) && pack(&t, select_symbols(&t), out);
    free_tables(&t);
    return done;
}

void pp_elf_symbols_free(struct pp_elf_symbols *symbols)
{
    pp_unmap(symbols->mapping, symbols->mapped);
    *symbols = (struct pp_elf_symbols){0};
}

const struct pp_elf_symbol *pp_elf_symbols_find(const struct pp_elf_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (symbols->symbols[middle].value <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned n = 0; n < MAX_STEPS_BACK && low-- > 0; n++) {
        const struct pp_elf_symbol *symbol = &symbols->symbols[low];
        if (address - symbol->value < symbol->size || (symbol->size == 0 && n == 0))
            return symbol;
    }
    return NULL;
}
