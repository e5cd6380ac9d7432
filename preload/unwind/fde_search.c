/* SPDX-License-Identifier: Apache-2.0 */
#include "fde_search.h"
#include "../base/safe_copy.h"
#include "../base/sort.h"
#include "../base/syscalls.h"

#define WINDOW          ((uintptr_t)PP_ENTRY_WINDOW)
#define MAX_ENTRY       ((uint64_t)1 << 20) /* bytes of an entry of .eh_frame; 6,780 have been seen */
#define HDR_TABLE_ENTRY 8
#define INTERPOLATIONS  8 /* then it bisects: functions of one module may have very different sizes */
#define PIECE_SIZE      4096u
#define PIECES          32 /* libpython's table has 12, those of most modules one or two */
#define READERS         16 /* modules that are known at once */
#define CIES            4  /* of each; a module has a few */

/* A function in the index of a module without a search table. */
struct function {
    uint32_t start, fde; /* offsets in the text and in .eh_frame */
};

uint32_t pp_unwind_offset(const struct pp_unwind_source *source, uintptr_t address)
{
    if (address < source->text_start)
        return 0;
    return (uint32_t)((address < source->text_end ? address : source->text_end) - source->text_start);
}

static bool copy_bytes(const struct pp_unwind_source *source, void *to, uintptr_t from, size_t size)
{
    const struct pp_unwind_file *file = &source->file;
    if (from >= file->start && from < file->end && size <= file->end - from &&
        pp_sys_pread(file->fd, to, size, file->offset + (from - file->start)) == (long)size)
        return true;
    return pp_safe_copy(to, from, size);
}

struct pp_unwind_source pp_unwind_in_memory(const struct pp_unwind_source *source)
{
    struct pp_unwind_source memory = *source;
    memory.file = (struct pp_unwind_file){0};
    return memory;
}

void pp_entry_window_open(struct pp_entry_window *window, const struct pp_unwind_source *source)
{
    window->source = source;
    window->start = window->size = 0; /* and its bytes are not worth zeroing */
}

/* Returns a copy of at least size bytes, valid until the next call; NULL: they cannot be read. size is at most
 * WINDOW. */
static const uint8_t *view(struct pp_entry_window *window, uintptr_t address, size_t size)
{
    uintptr_t limit = window->source->segment_end;
    if (size > limit || address > limit - size)
        return NULL;
    if (address >= window->start && address - window->start + size <= window->size)
        return window->bytes + (address - window->start);
    uintptr_t piece = address & ~(WINDOW - 1);
    window->start = address + size > piece + WINDOW ? address : piece;
    window->size = limit - window->start < WINDOW ? limit - window->start : WINDOW;
    if (!copy_bytes(window->source, window->bytes, window->start, window->size)) {
        /* the next page may be missing */
        window->start = address;
        window->size = size;
        if (!copy_bytes(window->source, window->bytes, address, size)) {
            window->size = 0;
            return NULL;
        }
    }
    return window->bytes + (address - window->start);
}

bool pp_entry_copy(struct pp_entry_window *window, uintptr_t address, struct pp_memory_copy *copy, void **mapped)
{
    *mapped = NULL;
    uintptr_t limit = window->source->segment_end;
    size_t length = limit - address < PP_EH_FRAME_LENGTH_MAX ? 4 : PP_EH_FRAME_LENGTH_MAX;
    *copy = (struct pp_memory_copy){view(window, address, length), length, address};
    if (!copy->bytes)
        return false;
    uint64_t size = pp_eh_frame_entry_size(copy);
    if (!size || size > MAX_ENTRY || size > limit - address)
        return false;
    copy->size = (size_t)size;
    if (size <= WINDOW) {
        copy->bytes = view(window, address, copy->size);
        return copy->bytes != NULL;
    }
    void *bytes = pp_map(size);
    if (bytes && !copy_bytes(window->source, bytes, address, copy->size)) {
        pp_unmap(bytes, size);
        bytes = NULL;
    }
    copy->bytes = *mapped = bytes;
    return bytes != NULL;
}

/* What is known of the modules that were asked for last: the next functions that are met are mostly theirs. */
struct reader {
    uint64_t module; /* 0: none */
    bool has_hdr;    /* it has been read */
    struct pp_eh_frame_hdr hdr;
    struct pp_cie_state cies[CIES];
};
static struct reader readers[READERS];

static struct reader *reader_of(const struct pp_unwind_source *source)
{
    static uint64_t modules;
    if (!source->index->module)
        source->index->module = ++modules;
    struct reader *reader = &readers[source->index->module % READERS];
    if (reader->module != source->index->module) {
        memset(reader, 0, sizeof *reader);
        reader->module = source->index->module;
    }
    return reader;
}

static bool read_hdr(struct reader *reader, const struct pp_unwind_source *source)
{
    if (!reader->has_hdr) {
        uint8_t bytes[PP_EH_FRAME_HDR_MAX];
        size_t size = source->hdr_end - source->hdr_start;
        struct pp_memory_copy hdr = {bytes, size < sizeof bytes ? size : sizeof bytes, source->hdr_start};
        if (!copy_bytes(source, bytes, hdr.address, hdr.size) || !pp_eh_frame_hdr_parse(&hdr, &reader->hdr))
            return false;
        size_t room = source->hdr_end - reader->hdr.table;
        if (reader->hdr.count > room / HDR_TABLE_ENTRY)
            reader->hdr.count = (uint32_t)(room / HDR_TABLE_ENTRY);
        reader->has_hdr = true;
    }
    return true;
}

/* Pieces of tables that were read: what would be a system call for each step of a search is a dozen for all functions
 * of a program's first samples. */
static struct {
    uint64_t module; /* 0: none */
    uintptr_t start;
} pieces[PIECES];

/* What is above, and the tables' pieces, are being changed. */
static _Atomic bool reading;

void pp_fde_after_fork(void)
{
    if (!atomic_load(&reading))
        return;
    memset(pieces, 0, sizeof pieces);
    memset(readers, 0, sizeof readers);
    atomic_store(&reading, false);
}

/* Returns a piece of a table; valid until the next call. NULL: it cannot be read. */
static const uint8_t *table_piece(const struct pp_unwind_source *source, uintptr_t start, size_t size)
{
    static uint8_t bytes[PIECES][PIECE_SIZE];
    size_t slot =
        (start / PIECE_SIZE) % PIECES; /* by address: the first pieces of two modules are seldom in one place */
    if (pieces[slot].module != source->index->module || pieces[slot].start != start) {
        pieces[slot].module = 0;
        if (!copy_bytes(source, bytes[slot], start, size))
            return NULL;
        pieces[slot].module = source->index->module;
        pieces[slot].start = start;
    }
    return bytes[slot];
}

static bool table_entry(const struct reader *reader, const struct pp_unwind_source *source, uint32_t i,
                        uintptr_t *function, uintptr_t *fde)
{
    int32_t entry[2];
    size_t offset = (size_t)i * HDR_TABLE_ENTRY, inside = offset % PIECE_SIZE;
    uintptr_t start = reader->hdr.table + (offset - inside);
    size_t left = source->hdr_end - start;
    const uint8_t *piece = table_piece(source, start, left < PIECE_SIZE ? left : PIECE_SIZE);
    if (piece)
        memcpy(entry, piece + inside, sizeof entry);
    else if (!pp_safe_copy(entry, start + inside, sizeof entry)) /* only a page of the piece may be missing */
        return false;
    *function = source->hdr_start + (uintptr_t)(intptr_t)entry[0];
    *fde = source->hdr_start + (uintptr_t)(intptr_t)entry[1];
    return true;
}

/* Entries [low, high) of a search table are of functions in the code [from, to). */
struct part {
    uint32_t low, high;
    uintptr_t from, to;
};

/* Returns the entry to compare next: where it would be if all functions had one size, at first, as most reads are then
 * of one piece of the table; later the middle. */
static uint32_t next_entry(const struct part *part, uintptr_t address, unsigned step)
{
    uint32_t count = part->high - part->low;
    uint64_t code = part->to - part->from, at = address - part->from; /* below 2^31: the product fits */
    if (step >= INTERPOLATIONS || count <= 2 || !code)
        return part->low + count / 2;
    return part->low + (uint32_t)(at * (count - 1) / code);
}

/* Finds the last function of the search table that does not start after the address: from its start to the next
 * function's all is known then. */
static bool search_table(const struct reader *reader, const struct pp_unwind_source *source, uintptr_t address,
                         struct pp_found_fde *found)
{
    struct part part = {0, reader->hdr.count, source->text_start, source->text_end};
    *found = (struct pp_found_fde){0, pp_unwind_offset(source, part.to), 0};
    for (unsigned step = 0; part.low < part.high; step++) {
        uint32_t i = next_entry(&part, address, step);
        uintptr_t function, fde;
        if (!table_entry(reader, source, i, &function, &fde))
            return false;
        if (function > address) {
            part.high = i;
            part.to = function < part.to ? function : part.to;
            found->end = pp_unwind_offset(source, function);
        } else {
            part.low = i + 1;
            part.from = function > part.from ? function : part.from;
            found->start = pp_unwind_offset(source, function);
            found->fde = fde;
        }
    }
    return true;
}

static bool read_fde(const struct pp_unwind_source *source, const struct pp_memory_copy *copy, struct pp_fde *fde,
                     const struct pp_cie_state **cie)
{
    struct reader *reader = reader_of(source);
    uintptr_t address;
    if (!pp_eh_frame_cie_of(copy, &address))
        return false;
    struct pp_cie_state *known = &reader->cies[address / 8 % CIES];
    if (known->cie.address != address) {
        struct pp_memory_copy bytes;
        struct pp_entry_window window;
        struct pp_cie parsed;
        void *mapped;
        pp_entry_window_open(&window, source);
        known->cie.address = 0;
        bool usable = pp_entry_copy(&window, address, &bytes, &mapped) && pp_eh_frame_cie(&bytes, &parsed) &&
                      pp_cfi_initial(&bytes, &parsed, &known->initial);
        if (mapped)
            pp_unmap(mapped, bytes.size);
        if (!usable)
            return false;
        known->cie = parsed;
    }
    *cie = known;
    return pp_eh_frame_fde(copy, &known->cie, fde);
}

bool pp_fde_read(const struct pp_unwind_source *source, const struct pp_memory_copy *copy, struct pp_fde *fde,
                 const struct pp_cie_state **cie)
{
    atomic_store(&reading, true);
    bool done = read_fde(source, copy, fde, cie);
    atomic_store(&reading, false);
    return done;
}

static bool starts_before(const void *first, const void *second, const void *unused)
{
    (void)unused;
    return ((const struct function *)first)->start < ((const struct function *)second)->start;
}

/* Lists the functions of all entries, in order of their addresses. False: no memory. */
static bool build_index(struct reader *reader, const struct pp_unwind_source *source)
{
    struct pp_entry_window window;
    struct pp_memory_copy copy;
    struct pp_vector functions = {0};
    struct pp_unwind_source memory = pp_unwind_in_memory(source);
    void *mapped;
    pp_entry_window_open(&window, &memory);
    for (uintptr_t at = reader->hdr.eh_frame; at < source->segment_end && at - reader->hdr.eh_frame <= UINT32_MAX &&
                                              pp_entry_copy(&window, at, &copy, &mapped);
         at += copy.size) {
        struct pp_fde fde;
        const struct pp_cie_state *cie;
        bool is_here =
            read_fde(&memory, &copy, &fde, &cie) && fde.start >= source->text_start && fde.start < source->text_end;
        if (mapped)
            pp_unmap(mapped, copy.size);
        struct function *function = is_here ? pp_vector_add(&functions, sizeof *function) : NULL;
        if (function)
            *function = (struct function){pp_unwind_offset(source, fde.start), (uint32_t)(at - reader->hdr.eh_frame)};
        else if (is_here) {
            pp_vector_free(&functions);
            return false;
        }
    }
    pp_sort(functions.items, functions.used / sizeof(struct function), sizeof(struct function), starts_before, NULL);
    source->index->functions = functions;
    atomic_store(&source->index->ready, true);
    return true;
}

/* As search_table, where there is none: by an index of all entries. */
static bool search_index(struct reader *reader, const struct pp_unwind_source *source, uintptr_t address,
                         struct pp_found_fde *found)
{
    if (!atomic_load(&source->index->ready) && !build_index(reader, source))
        return false;
    const struct function *functions = source->index->functions.items;
    size_t low = 0, high = source->index->functions.used / sizeof *functions, count = high;
    uint32_t offset = pp_unwind_offset(source, address);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    *found =
        (struct pp_found_fde){0, low < count ? functions[low].start : pp_unwind_offset(source, source->text_end), 0};
    if (low) {
        found->start = functions[low - 1].start;
        found->fde = reader->hdr.eh_frame + functions[low - 1].fde;
    }
    return true;
}

bool pp_fde_search(const struct pp_unwind_source *source, uintptr_t address, struct pp_found_fde *found)
{
    atomic_store(&reading, true);
    struct reader *reader = reader_of(source);
    bool done = read_hdr(reader, source) && (reader->hdr.table ? search_table(reader, source, address, found)
                                                               : search_index(reader, source, address, found));
    atomic_store(&reading, false);
    return done;
}
