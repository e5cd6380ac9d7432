/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_symbols.h"
#include "../arch/arch.h"
#include "../base/syscalls.h"
#include "elf_plt.h"
#include <stdatomic.h>
#include <string.h>

#define AT_ONCE 680u /* symbols read: 16 KB */
/* Nested functions that end before an address may hide the enclosing one. */
#define MAX_STEPS_BACK 16
#define MAX_ALIASES    16
#define PIECE          256 /* of a name */

/* An item of the index: {value - base, bound of the size, number of the next item of its bucket}. */
#define VALUE_SHIFT 32
#define BOUND_SHIFT 22
#define BOUND_BITS  5 /* of each of its two parts */
#define BOUND_MASK  ((1u << 2 * BOUND_BITS) - 1)
#define NEXT_MASK   (((uint64_t)1 << BOUND_SHIFT) - 1)
#define MAX_ITEMS   NEXT_MASK
_Static_assert(PP_ELF_TABLE_MAX / sizeof(Elf64_Sym) < MAX_ITEMS, "numbers of symbols fit");
#define CODE_TYPES (1u << STT_FUNC | 1u << STT_GNU_IFUNC | 1u << STT_NOTYPE)
#define NO_VALUE   UINT64_MAX

/*
 * An index, in one mapping:
 *
 *     buckets   [0] [1] [2] ...              each the number of an item, plus one; 0: it is empty
 *                |       |
 *     items     [0] [1] [2] [3] ... [count)  item i is symbol i of the file; after those the sections' starts
 *                |_______^
 *
 * Buckets are ascending by value; the items of a bucket are linked in no order. To read the table and to link each
 * item takes a pass; to sort the items would take longer than all else, and a program asks for the names of a few
 * functions. What is not code is in no bucket. Nothing changes after the pass: a fork finds a whole index, or none.
 */
#define BUCKET_ITEMS 8 /* on average */

/* Returns the bucket of a value. */
static inline uint32_t bucket_of(const struct pp_elf_index *index, uint64_t value)
{
    uint64_t bucket = value >> index->shift;
    return bucket < index->bucket_count ? (uint32_t)bucket : index->bucket_count - 1;
}

static inline uint64_t value_of(uint64_t item)
{
    return item >> VALUE_SHIFT;
}

static void add_item(struct pp_elf_index *index, uint64_t number, uint64_t value, uint64_t bound)
{
    uint32_t *bucket = &index->buckets[bucket_of(index, value)];
    index->items[number] = value << VALUE_SHIFT | bound << BOUND_SHIFT | *bucket;
    *bucket = (uint32_t)number + 1;
}

/* Returns the size rounded up to five binary digits and their place, plus one; 0 for no size. Most functions that end
 * below an address are passed over by it: to read a symbol takes a system call. */
static uint64_t bound_of_size(uint64_t size)
{
    if (!size)
        return 0;
    uint64_t last = size - 1 < UINT32_MAX ? size - 1 : UINT32_MAX;
    unsigned place = 64 - BOUND_BITS - (unsigned)__builtin_clzll(last | ((1u << BOUND_BITS) - 1));
    return (place << BOUND_BITS | last >> place) + 1;
}

static uint64_t size_of_bound(uint64_t bound)
{
    if (!bound)
        return 0;
    bound--;
    return ((bound & ((1u << BOUND_BITS) - 1)) + 1) << (bound >> BOUND_BITS);
}

/* Functions, and labels without a type in executable sections. */
static bool is_code(const struct pp_elf_sections *sections, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (!(1u << type & CODE_TYPES) || symbol->st_shndx == SHN_UNDEF || !symbol->st_name ||
        pp_marks_code(symbol->st_info))
        return false;
    return type != STT_NOTYPE ||
           (symbol->st_shndx < sections->count && sections->headers[symbol->st_shndx].sh_flags & SHF_EXECINSTR);
}

/* Spreads the buckets over all sections of code. False: there is none. JITs leave sections that are empty at address 0.
 */
static bool place_buckets(const struct pp_elf_sections *sections, struct pp_elf_index *index)
{
    uint64_t end = 0;
    index->base = UINT64_MAX;
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        if (!(section->sh_flags & SHF_EXECINSTR) || !section->sh_size)
            continue;
        if (section->sh_addr < index->base)
            index->base = section->sh_addr;
        if (section->sh_addr + section->sh_size > end)
            end = section->sh_addr + section->sh_size;
    }
    if (end <= index->base)
        return false;
    index->bucket_count = (uint32_t)(index->symbol_count / BUCKET_ITEMS) + 1;
    while (index->shift < VALUE_SHIFT && (end - index->base - 1) >> index->shift >= index->bucket_count)
        index->shift++;
    return true;
}

/* Adds the code among these symbols of the table, of which the first has this number. In an object that was not linked,
 * as JITs register them, values are relative to the section. Returns whether there is any. */
static bool add_symbols(const struct pp_elf_sections *sections, const Elf64_Sym *symbols, size_t count, uint64_t number,
                        struct pp_elf_index *out)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (!is_code(sections, symbol))
            continue;
        uint64_t value = symbol->st_value - out->base;
        if (sections->relocatable && symbol->st_shndx < sections->count)
            value += sections->headers[symbol->st_shndx].sh_addr;
        if (value <= UINT32_MAX) {
            add_item(out, number + i, value, bound_of_size(symbol->st_size));
            any = true;
        }
    }
    return any;
}

/* Adds the start of each section with code, without a name: no function goes on from one section to the next. */
static void add_sections(const struct pp_elf_sections *sections, struct pp_elf_index *out)
{
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        uint64_t value = section->sh_addr - out->base;
        if (section->sh_flags & SHF_EXECINSTR && section->sh_size && value <= UINT32_MAX && out->count < MAX_ITEMS)
            add_item(out, out->count++, value, 0);
    }
}

static bool read_index(const struct pp_elf_source *source, const struct pp_elf_sections *sections, uint32_t type,
                       struct pp_elf_index *out)
{
    const Elf64_Shdr *strings, *table = pp_elf_table(sections, type, &strings);
    uint64_t count = table ? table->sh_size / sizeof(Elf64_Sym) : 0;
    struct pp_elf_index index = {.symbol_count = count, .count = count};
    *out = (struct pp_elf_index){0};
    if (!count || !place_buckets(sections, &index))
        return false;
    size_t items = (count + sections->count) * sizeof *index.items;
    index.mapped = items + index.bucket_count * sizeof *index.buckets;
    index.items = pp_map_uncleared(index.mapped);
    if (!index.items)
        return false;
    index.buckets = (uint32_t *)(void *)((char *)index.items + items);
    memset(index.buckets, 0, index.bucket_count * sizeof *index.buckets);
    Elf64_Sym symbols[AT_ONCE];
    bool done = true, any = false;
    for (uint64_t at = 0; done && at < count; at += AT_ONCE) {
        size_t some = count - at < AT_ONCE ? count - at : AT_ONCE;
        done = pp_elf_source_read(source, symbols, some * sizeof *symbols, table->sh_offset + at * sizeof *symbols);
        if (done)
            any |= add_symbols(sections, symbols, some, at, &index);
    }
    if (!done || !any) {
        pp_unmap(index.items, index.mapped);
        return false;
    }
    add_sections(sections, &index);
    index.symbols = table->sh_offset;
    index.strings = strings->sh_offset;
    index.strings_size = strings->sh_size;
    *out = index;
    return true;
}

bool pp_elf_index_read(const struct pp_elf_source *source, struct pp_elf_index *out)
{
    struct pp_elf_sections sections;
    *out = (struct pp_elf_index){0};
    if (!pp_elf_sections_read(source, &sections))
        return false;
    bool done = read_index(source, &sections, SHT_SYMTAB, out) || read_index(source, &sections, SHT_DYNSYM, out);
    pp_elf_plt_bounds(&sections, &out->stubs_start, &out->stubs_end);
    pp_elf_sections_free(&sections);
    return done;
}

void pp_elf_index_free(struct pp_elf_index *index)
{
    struct pp_elf_index was = *index;
    *(struct pp_elf_index volatile *)index = (struct pp_elf_index){0}; /* first: see pp_vector_free */
    pp_unmap(was.items, was.mapped);
}

struct candidate {
    Elf64_Sym symbol;
    char name[PP_ELF_NAME_MAX + 1];
};

/* Reads a name, cut to PP_ELF_NAME_MAX bytes; false if it is empty or not there. */
static bool read_name(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t at, char *name)
{
    size_t length = 0;
    while (length < PP_ELF_NAME_MAX && at < index->strings_size) {
        size_t size = index->strings_size - at < PIECE ? index->strings_size - at : PIECE;
        if (!pp_elf_source_read(source, name + length, size, index->strings + at))
            return false;
        const char *end = memchr(name + length, 0, size);
        if (end)
            return end > name;
        length += size;
        at += size;
    }
    name[length] = 0;
    return length > 0;
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
static bool is_better(const struct candidate *a, const struct candidate *b)
{
    bool label_a = ELF64_ST_TYPE(a->symbol.st_info) == STT_NOTYPE;
    bool label_b = ELF64_ST_TYPE(b->symbol.st_info) == STT_NOTYPE;
    if (label_a != label_b)
        return label_b;
    bool local_a = ELF64_ST_BIND(a->symbol.st_info) == STB_LOCAL;
    bool local_b = ELF64_ST_BIND(b->symbol.st_info) == STB_LOCAL;
    if (local_a != local_b)
        return local_b;
    if ((a->symbol.st_size == 0) != (b->symbol.st_size == 0))
        return b->symbol.st_size == 0;
    if (underscores(a->name) != underscores(b->name))
        return underscores(a->name) < underscores(b->name);
    return strcmp(a->name, b->name) < 0;
}

/* Returns the highest value below the limit, NO_VALUE if there is none; of functions with a size alone if that is
 * wanted. *bound: none of its functions is larger; 0: none has a size. */
static uint64_t value_below(const struct pp_elf_index *index, uint64_t limit, bool with_size, uint64_t *bound)
{
    uint64_t best = NO_VALUE, best_bound = 0;
    for (uint32_t bucket = bucket_of(index, limit) + 1; best == NO_VALUE && bucket-- > 0;) {
        for (uint64_t item, next = index->buckets[bucket]; next; next = item & NEXT_MASK) {
            item = index->items[next - 1];
            uint64_t value = value_of(item), of = item >> BOUND_SHIFT & BOUND_MASK;
            if (value >= limit || (with_size && !of) || (best != NO_VALUE && value < best))
                continue;
            best_bound = value == best && best_bound > of ? best_bound : of;
            best = value;
        }
    }
    *bound = size_of_bound(best_bound);
    return best;
}

/* Returns the lowest value from `from` on, NO_VALUE if there is none. */
static uint64_t value_from(const struct pp_elf_index *index, uint64_t from)
{
    uint64_t best = NO_VALUE;
    for (uint32_t bucket = bucket_of(index, from); best == NO_VALUE && bucket < index->bucket_count; bucket++) {
        for (uint64_t item, next = index->buckets[bucket]; next; next = item & NEXT_MASK) {
            item = index->items[next - 1];
            if (value_of(item) >= from && value_of(item) < best)
                best = value_of(item);
        }
    }
    return best;
}

/* Reads the function at this value, by the best of its names; not from and to. Where `within` is at or beyond its end,
 * only its size is read. */
static void read_function(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t value,
                          uint64_t within, struct pp_elf_symbol *found)
{
    Elf64_Sym symbols[MAX_ALIASES];
    struct candidate some[2], *best = NULL, *next = some;
    size_t count = 0;
    found->value = index->base + value;
    found->size = 0;
    found->name[0] = 0;
    for (uint64_t item, number = index->buckets[bucket_of(index, value)]; number; number = item & NEXT_MASK) {
        Elf64_Sym *symbol = &symbols[count];
        item = index->items[number - 1];
        if (value_of(item) != value || number > index->symbol_count || count == MAX_ALIASES ||
            !pp_elf_source_read(source, symbol, sizeof *symbol, index->symbols + (number - 1) * sizeof *symbol))
            continue;
        found->size = symbol->st_size > found->size ? symbol->st_size : found->size;
        count++;
    }
    for (size_t i = 0; i < count && (within < found->size || !within); i++) {
        next->symbol = symbols[i];
        if (!read_name(index, source, next->symbol.st_name, next->name) || (best && !is_better(next, best)))
            continue;
        best = next;
        next = best == some ? some + 1 : some;
    }
    if (best) {
        found->size = best->symbol.st_size;
        memcpy(found->name, best->name, strlen(best->name) + 1);
    }
}

bool pp_elf_index_next(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t from,
                       struct pp_elf_symbol *found)
{
    uint64_t value = value_from(index, from > index->base ? from - index->base : 0);
    if (value == NO_VALUE)
        return false;
    read_function(index, source, value, 0, found);
    return true;
}

void pp_elf_index_find(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t address,
                       struct pp_elf_symbol *found)
{
    uint64_t at = address - index->base, bound, nearest_bound = 0, nearest = NO_VALUE, next = 0;
    found->name[0] = 0;
    found->from = 0;
    found->to = UINT64_MAX;
    if (!index->items)
        return;
    if (address >= index->base) {
        nearest = value_below(index, at + 1, false, &nearest_bound);
        next = at + 1;
    }
    uint64_t from = nearest == NO_VALUE ? 0 : index->base + nearest, above = value_from(index, next);
    uint64_t to = above == NO_VALUE ? UINT64_MAX : index->base + above, place = at + 1;
    for (unsigned functions = 0; nearest != NO_VALUE && functions < MAX_STEPS_BACK; functions++) {
        place = value_below(index, place, true, &bound);
        if (place == NO_VALUE)
            break;
        if (index->base + place + bound <= from)
            continue;
        read_function(index, source, place, at - place, found);
        uint64_t end = found->value + found->size;
        if (address - found->value < found->size && found->name[0]) {
            found->from = from;
            found->to = end < to ? end : to;
            return;
        }
        from = end > from && end <= address ? end : from;
    }
    /* a label, or a function without a size, goes up to the next symbol, unless it is inside a function */
    found->size = 0;
    if (nearest != NO_VALUE && !nearest_bound) /* not what has a size, which is passed */
        read_function(index, source, nearest, 0, found);
    if (nearest == NO_VALUE || nearest_bound || from > found->value)
        found->name[0] = 0;
    found->from = from;
    found->to = to;
}

/* What was found for the addresses in [from, to). */
struct known {
    uint64_t from, to, value;
    uint64_t name; /* offset in names */
};

/* Returns the place of the first entry that begins after the address. */
static size_t known_after(const struct pp_elf_symbols *symbols, uint64_t address)
{
    const struct known *known = symbols->known.items;
    size_t low = 0, high = symbols->known.used / sizeof *known;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (known[middle].from <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool pp_elf_symbols_know(const struct pp_elf_symbols *symbols, uint64_t address, uint64_t *value, const char **name)
{
    size_t after = known_after(symbols, address);
    const struct known *known = symbols->known.items;
    if (!after || address >= known[after - 1].to)
        return false;
    known += after - 1;
    *value = known->value;
    *name = (const char *)symbols->names.items + known->name;
    if (!**name)
        *name = NULL;
    return true;
}

void pp_elf_symbols_remember(struct pp_elf_symbols *symbols, const struct pp_elf_symbol *found)
{
    size_t length = strlen(found->name) + 1, name = symbols->names.used, after = known_after(symbols, found->from);
    atomic_store(&symbols->changing, true);
    char *to = pp_vector_add(&symbols->names, length);
    struct known *last = to ? pp_vector_add(&symbols->known, sizeof *last) : NULL;
    if (last) {
        struct known *known = (struct known *)symbols->known.items + after;
        memcpy(to, found->name, length);
        memmove(known + 1, known, (size_t)(last - known) * sizeof *known);
        *known = (struct known){found->from, found->to, found->value, name};
    } else {
        symbols->names.used = name;
    }
    atomic_store(&symbols->changing, false);
}

void pp_elf_symbols_after_fork(struct pp_elf_symbols *symbols)
{
    if (!atomic_load(&symbols->changing))
        return;
    symbols->known = symbols->names = (struct pp_vector){0};
    atomic_store(&symbols->changing, false);
}

void pp_elf_symbols_free(struct pp_elf_symbols *symbols)
{
    pp_elf_index_free(&symbols->index);
    pp_vector_free(&symbols->known);
    pp_vector_free(&symbols->names);
}
