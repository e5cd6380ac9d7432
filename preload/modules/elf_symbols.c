/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_symbols.h"
#include "../base/sort.h"
#include "../base/syscalls.h"
#include <stdatomic.h>
#include <string.h>

#define AT_ONCE 680u /* symbols read: 16 KB */
/* Nested symbols that end before an address may hide the enclosing one. */
#define MAX_STEPS_BACK  16
#define MAX_LABELS_BACK 4096
#define MAX_ALIASES     16
#define PIECE           256 /* of a name */

/* An item of the index: {value - base, bound of the size, number of the symbol}. */
#define VALUE_SHIFT 32
#define BOUND_SHIFT 22
#define BOUND_BITS  5 /* of each of its two parts */
#define NUMBER_MASK (((uint64_t)1 << BOUND_SHIFT) - 1)
_Static_assert(PP_ELF_TABLE_MAX / sizeof(Elf64_Sym) <= NUMBER_MASK, "numbers of symbols fit");
#define CODE_TYPES        (1u << STT_FUNC | 1u << STT_GNU_IFUNC | 1u << STT_NOTYPE)
#define DIGITS            2048u /* of the sort's first step */
#define SMALL_BUCKET      32
#define WORTH_GIVING_BACK ((size_t)256 << 10)

static bool is_lower(const void *first, const void *second, const void *unused)
{
    (void)unused;
    return *(const uint64_t *)first < *(const uint64_t *)second;
}

static void sort_bucket(uint64_t *items, size_t count)
{
    if (count > SMALL_BUCKET) {
        pp_sort(items, count, sizeof *items, is_lower, NULL);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t item = items[i];
        size_t at = i;
        for (; at && items[at - 1] > item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* The order of an index. */
struct pp_elf_order {
    _Atomic bool changing;        /* the bucket that is being sorted: a fork leaves the child with half of it */
    unsigned shift;               /* of an item to its highest digit, the number of its bucket */
    uint64_t sorted[DIGITS / 64]; /* a bit for each bucket */
};

/* Puts the items into buckets by the highest digit, in place: pages for a copy would take longer. To sort all of the
 * buckets would take longer than all else, and the functions that a program runs are in a few. */
static void put_into_buckets(struct pp_elf_order *order, uint64_t *items, size_t count)
{
    uint32_t ends[DIGITS + 1] = {0}, next[DIGITS]; /* of buckets */
    unsigned shift = VALUE_SHIFT;
    uint64_t highest = 0;
    for (size_t i = 0; i < count; i++)
        highest |= items[i];
    while (highest >> shift >= DIGITS)
        shift++;
    for (size_t i = 0; i < count; i++)
        ends[(items[i] >> shift) + 1]++;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        next[digit] = ends[digit];
        ends[digit + 1] += ends[digit];
    }
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        while (next[digit] < ends[digit + 1]) {
            uint64_t item = items[next[digit]], other;
            for (uint64_t to; (to = item >> shift) != digit; item = other) {
                other = items[next[to]];
                items[next[to]++] = item;
            }
            items[next[digit]++] = item;
        }
    }
    *order = (struct pp_elf_order){.shift = shift};
}

/* Returns the place of the first item that is not in a bucket below this one. */
static size_t bucket_start(const struct pp_elf_index *index, uint64_t digit)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (index->items[middle] >> index->order->shift < digit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sorts the bucket if it is not sorted yet. Its items keep their places as a whole. */
static void settle(const struct pp_elf_index *index, uint64_t digit)
{
    uint64_t *word = &index->order->sorted[digit / 64], bit = (uint64_t)1 << digit % 64;
    if (*word & bit)
        return;
    size_t start = bucket_start(index, digit);
    atomic_store(&index->order->changing, true);
    sort_bucket(index->items + start, bucket_start(index, digit + 1) - start);
    *word |= bit;
    atomic_store(&index->order->changing, false);
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
    bound--;
    return ((bound & ((1u << BOUND_BITS) - 1)) + 1) << (bound >> BOUND_BITS);
}

/* Functions, and labels without a type in executable sections. */
static bool is_code(const struct pp_elf_sections *sections, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (!(1u << type & CODE_TYPES) || symbol->st_shndx == SHN_UNDEF || !symbol->st_name)
        return false;
    return type != STT_NOTYPE ||
           (symbol->st_shndx < sections->count && sections->headers[symbol->st_shndx].sh_flags & SHF_EXECINSTR);
}

/* JITs leave sections that are empty at address 0. */
static uint64_t lowest_code(const struct pp_elf_sections *sections)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        if (section->sh_flags & SHF_EXECINSTR && section->sh_size && section->sh_addr < lowest)
            lowest = section->sh_addr;
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

/* Adds these symbols of the table, of which the first has this number. In an object that was not linked, as JITs
 * register them, values are relative to the section. */
static void add_items(const struct pp_elf_sections *sections, const Elf64_Sym *symbols, size_t count, uint64_t number,
                      struct pp_elf_index *out)
{
    uint64_t *item = out->items + out->count;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (!is_code(sections, symbol))
            continue;
        uint64_t value = symbol->st_value - out->base;
        if (sections->relocatable && symbol->st_shndx < sections->count)
            value += sections->headers[symbol->st_shndx].sh_addr;
        if (value <= UINT32_MAX)
            *item++ = value << VALUE_SHIFT | bound_of_size(symbol->st_size) << BOUND_SHIFT | (number + i);
    }
    out->count = (size_t)(item - out->items);
}

/* Adds the start of each section with code, by the symbol without a name: none goes on from one section to the next. */
static void add_sections(const struct pp_elf_sections *sections, struct pp_elf_index *out)
{
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *section = &sections->headers[i];
        uint64_t value = section->sh_addr - out->base;
        if (section->sh_flags & SHF_EXECINSTR && section->sh_size && value <= UINT32_MAX)
            out->items[out->count++] = value << VALUE_SHIFT | STN_UNDEF;
    }
}

/* False without a mapping. */
static bool set_mapping(struct pp_elf_index *index, void *mapping)
{
    index->order = mapping;
    index->items = mapping ? (uint64_t *)(void *)(index->order + 1) : NULL;
    return mapping != NULL;
}

static bool read_index(const struct pp_elf_source *source, const struct pp_elf_sections *sections, uint32_t type,
                       struct pp_elf_index *out)
{
    const Elf64_Shdr *strings, *table = pp_elf_table(sections, type, &strings);
    uint64_t count = table ? table->sh_size / sizeof(Elf64_Sym) : 0;
    *out = (struct pp_elf_index){.base = lowest_code(sections)};
    if (!count)
        return false;
    out->mapped = sizeof *out->order + (count + sections->count) * sizeof *out->items;
    bool done = set_mapping(out, pp_map_uncleared(out->mapped));
    Elf64_Sym symbols[AT_ONCE];
    for (uint64_t at = 0; done && at < count; at += AT_ONCE) {
        size_t some = count - at < AT_ONCE ? count - at : AT_ONCE;
        done = pp_elf_source_read(source, symbols, some * sizeof *symbols, table->sh_offset + at * sizeof *symbols);
        if (done)
            add_items(sections, symbols, some, at, out);
    }
    if (done && out->count)
        add_sections(sections, out);
    out->symbols = table->sh_offset;
    out->strings = strings->sh_offset;
    out->strings_size = strings->sh_size;
    if (done && out->count) {
        put_into_buckets(out->order, out->items, out->count);
        /* the rest was not touched: it only counts as mapped, and a change of a mapping interrupts every CPU */
        size_t used = sizeof *out->order + out->count * sizeof *out->items;
        void *shrunk = out->mapped - used >= WORTH_GIVING_BACK ? pp_remap(out->order, out->mapped, used) : NULL;
        if (shrunk && set_mapping(out, shrunk))
            out->mapped = used;
        return true;
    }
    pp_elf_index_free(out);
    return false;
}

bool pp_elf_index_read(const struct pp_elf_source *source, struct pp_elf_index *out)
{
    struct pp_elf_sections sections;
    *out = (struct pp_elf_index){0};
    if (!pp_elf_sections_read(source, &sections))
        return false;
    bool done = read_index(source, &sections, SHT_SYMTAB, out) || read_index(source, &sections, SHT_DYNSYM, out);
    pp_elf_sections_free(&sections);
    return done;
}

void pp_elf_index_free(struct pp_elf_index *index)
{
    struct pp_elf_index was = *index;
    *(struct pp_elf_index volatile *)index = (struct pp_elf_index){0}; /* first: see pp_vector_free */
    pp_unmap(was.order, was.mapped);
}

bool pp_elf_index_after_fork(struct pp_elf_index *index)
{
    bool changing = index->order && atomic_load(&index->order->changing);
    if (changing)
        *index = (struct pp_elf_index){0};
    return changing;
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

/* Returns the value of the item that is in this place when its bucket is sorted, which it is then. */
static uint64_t value_of(const struct pp_elf_index *index, size_t i)
{
    settle(index, index->items[i] >> index->order->shift);
    return index->base + (index->items[i] >> VALUE_SHIFT);
}

size_t pp_elf_index_at(const struct pp_elf_index *index, const struct pp_elf_source *source, size_t first,
                       uint64_t within, struct pp_elf_symbol *found)
{
    Elf64_Sym symbols[MAX_ALIASES];
    struct candidate some[2], *best = NULL, *next = some;
    size_t end = first, count = 0;
    found->value = value_of(index, first);
    found->size = 0;
    found->name[0] = 0;
    for (; end < index->count && value_of(index, end) == value_of(index, first); end++) {
        Elf64_Sym *symbol = &symbols[count];
        uint64_t number = index->items[end] & NUMBER_MASK;
        if (end - first >= MAX_ALIASES ||
            !pp_elf_source_read(source, symbol, sizeof *symbol, index->symbols + number * sizeof *symbol))
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
    return end;
}

/* Returns how many values are not above the address. */
static size_t count_up_to(const struct pp_elf_index *index, uint64_t address)
{
    if (address < index->base || !index->count)
        return 0;
    uint64_t value = address - index->base, digit = value >> (index->order->shift - VALUE_SHIFT);
    if (digit >= DIGITS)
        return index->count;
    size_t low = bucket_start(index, digit), high = bucket_start(index, digit + 1);
    settle(index, digit);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (index->items[middle] >> VALUE_SHIFT <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first index of the value before `end`. *bound: none of its functions is larger; 0: none has a size. */
static size_t run_before(const struct pp_elf_index *index, size_t end, uint64_t *bound)
{
    size_t first = end;
    uint64_t value = value_of(index, end - 1);
    *bound = 0;
    do {
        uint64_t of = index->items[--first] >> BOUND_SHIFT & ((1u << 2 * BOUND_BITS) - 1);
        if (of && size_of_bound(of) > *bound)
            *bound = size_of_bound(of);
    } while (first && value_of(index, first - 1) == value);
    return first;
}

void pp_elf_index_find(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t address,
                       struct pp_elf_symbol *found)
{
    size_t after = count_up_to(index, address), nearest = after, place = after;
    uint64_t from = 0, to = after < index->count ? value_of(index, after) : UINT64_MAX;
    for (unsigned functions = 0, labels = 0; place && functions < MAX_STEPS_BACK && labels < MAX_LABELS_BACK;) {
        uint64_t bound;
        place = run_before(index, place, &bound);
        if (nearest == after) {
            nearest = place;
            from = value_of(index, place);
        }
        functions += bound != 0;
        labels += !bound;
        if (value_of(index, place) + bound <= from)
            continue;
        pp_elf_index_at(index, source, place, address - value_of(index, place), found);
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
    if (nearest < after)
        pp_elf_index_at(index, source, nearest, 0, found);
    if (nearest == after || found->size || from > found->value)
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
