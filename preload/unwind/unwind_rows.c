#include "unwind_rows.h"
#include "../base/arena.h"
#include "../base/safe_copy.h"
#include "cfi.h"

#define ROWS_PER_BLOCK  16
#define WINDOW          ((uintptr_t)1024)
#define MAX_ENTRY       ((uint64_t)1 << 20) /* bytes of an entry of .eh_frame; 6,780 have been seen */
#define HDR_TABLE_ENTRY 8
#define INTERPOLATIONS  8 /* then it bisects: functions of one module may have very different sizes */

/* A function, or code that no function holds, as offsets in the text. */
struct found {
    uint32_t start, end;
    uintptr_t fde; /* 0: no function */
};

/* Copies the program's memory in pieces: the last steps of a search stay within one. */
struct window {
    uintptr_t limit; /* what lies beyond is not read */
    uintptr_t start;
    size_t size;
    uint8_t bytes[WINDOW];
};

static void open_window(struct window *window, uintptr_t limit)
{
    window->limit = limit;
    window->start = window->size = 0; /* and its bytes are not worth zeroing */
}

/* Returns a copy of at least size bytes, valid until the next call; NULL: they cannot be read. size is at most
 * WINDOW. */
static const uint8_t *view(struct window *window, uintptr_t address, size_t size)
{
    if (size > window->limit || address > window->limit - size)
        return NULL;
    if (address >= window->start && address - window->start + size <= window->size)
        return window->bytes + (address - window->start);
    uintptr_t piece = address & ~(WINDOW - 1);
    window->start = address + size > piece + WINDOW ? address : piece;
    window->size = window->limit - window->start < WINDOW ? window->limit - window->start : WINDOW;
    if (!pp_safe_copy(window->bytes, window->start, window->size)) {
        /* the next page may be missing */
        window->start = address;
        window->size = size;
        if (!pp_safe_copy(window->bytes, address, size)) {
            window->size = 0;
            return NULL;
        }
    }
    return window->bytes + (address - window->start);
}

/* Copies an entry of .eh_frame. *mapped: what to unmap after its use. False: it cannot be read, or the section ends. */
static bool copy_entry(struct window *window, uintptr_t address, struct pp_memory_copy *copy, void **mapped)
{
    *mapped = NULL;
    size_t length = window->limit - address < PP_EH_FRAME_LENGTH_MAX ? 4 : PP_EH_FRAME_LENGTH_MAX;
    *copy = (struct pp_memory_copy){view(window, address, length), length, address};
    if (!copy->bytes)
        return false;
    uint64_t size = pp_eh_frame_entry_size(copy);
    if (!size || size > MAX_ENTRY || size > window->limit - address)
        return false;
    copy->size = (size_t)size;
    if (size <= WINDOW)
        copy->bytes = view(window, address, copy->size);
    else
        copy->bytes = *mapped = pp_safe_copy_mapped(address, copy->size);
    return copy->bytes != NULL;
}

static bool read_hdr(struct pp_unwind_draft *draft, const struct pp_unwind_source *source)
{
    if (!draft->hdr_read) {
        uint8_t bytes[PP_EH_FRAME_HDR_MAX];
        size_t size = source->hdr_end - source->hdr_start;
        struct pp_memory_copy hdr = {bytes, size < sizeof bytes ? size : sizeof bytes, source->hdr_start};
        if (!pp_safe_copy(bytes, hdr.address, hdr.size) || !pp_eh_frame_hdr_parse(&hdr, &draft->hdr))
            return false;
        size_t room = source->hdr_end - draft->hdr.table;
        if (draft->hdr.count > room / HDR_TABLE_ENTRY)
            draft->hdr.count = (uint32_t)(room / HDR_TABLE_ENTRY);
        draft->hdr_read = true;
    }
    return true;
}

static bool table_entry(struct window *window, const struct pp_unwind_source *source, const struct pp_eh_frame_hdr *hdr,
                        uint32_t i, uintptr_t *function, uintptr_t *fde)
{
    int32_t entry[2];
    const uint8_t *bytes = view(window, hdr->table + (uintptr_t)i * HDR_TABLE_ENTRY, sizeof entry);
    if (!bytes)
        return false;
    memcpy(entry, bytes, sizeof entry);
    *function = source->hdr_start + (uintptr_t)(intptr_t)entry[0];
    *fde = source->hdr_start + (uintptr_t)(intptr_t)entry[1];
    return true;
}

static uint32_t clip(const struct pp_unwind_source *source, uintptr_t address)
{
    if (address < source->text_start)
        return 0;
    return (uint32_t)((address < source->text_end ? address : source->text_end) - source->text_start);
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
static bool search_table(const struct pp_unwind_source *source, const struct pp_eh_frame_hdr *hdr, uintptr_t address,
                         struct found *found)
{
    struct window window;
    open_window(&window, source->hdr_end);
    struct part part = {0, hdr->count, source->text_start, source->text_end};
    *found = (struct found){0, clip(source, part.to), 0};
    for (unsigned step = 0; part.low < part.high; step++) {
        uint32_t i = next_entry(&part, address, step);
        uintptr_t function, fde;
        if (!table_entry(&window, source, hdr, i, &function, &fde))
            return false;
        if (function > address) {
            part.high = i;
            part.to = function < part.to ? function : part.to;
            found->end = clip(source, function);
        } else {
            part.low = i + 1;
            part.from = function > part.from ? function : part.from;
            found->start = clip(source, function);
            found->fde = fde;
        }
    }
    return true;
}

/* Reads an FDE and its CIE, which stays in the draft. */
static bool read_fde(struct pp_unwind_draft *draft, struct window *window, const struct pp_memory_copy *copy,
                     struct pp_fde *fde)
{
    uintptr_t address;
    if (!pp_eh_frame_cie_of(copy, &address))
        return false;
    if (draft->cie.address != address) {
        struct pp_memory_copy cie;
        struct window other;
        open_window(&other, window->limit);
        void *mapped;
        draft->cie.address = 0;
        struct pp_cie parsed;
        bool usable = copy_entry(&other, address, &cie, &mapped) && pp_eh_frame_cie(&cie, &parsed) &&
                      pp_cfi_initial(&cie, &parsed, &draft->initial);
        if (mapped)
            pp_unmap(mapped, cie.size);
        if (!usable)
            return false;
        draft->cie = parsed;
    }
    return pp_eh_frame_fde(copy, &draft->cie, fde);
}

/* Reads all entries in order, where there is no search table. */
static bool scan_entries(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, uintptr_t address,
                         struct found *found)
{
    struct window window;
    open_window(&window, source->segment_end);
    struct pp_memory_copy copy;
    void *mapped;
    *found = (struct found){clip(source, address), clip(source, address + 1), 0};
    for (uintptr_t at = draft->hdr.eh_frame; at < window.limit && copy_entry(&window, at, &copy, &mapped);
         at += copy.size) {
        struct pp_fde fde;
        bool holds = read_fde(draft, &window, &copy, &fde) && address >= fde.start && address < fde.end;
        if (mapped)
            pp_unmap(mapped, copy.size);
        if (holds) {
            *found = (struct found){clip(source, fde.start), clip(source, fde.end), at};
            break;
        }
    }
    return true;
}

struct compilation {
    struct pp_row_builder *builder;
    uintptr_t text_start;
    uint32_t end;
    bool signal_frame;
};

static void emit(void *arg, uintptr_t from, uintptr_t to, const struct pp_cfi_state *state)
{
    struct compilation *c = arg;
    (void)to;
    if (from - c->text_start < c->end)
        pp_row_builder_add(c->builder, (uint32_t)(from - c->text_start),
                           pp_row_builder_rule(c->builder, state, c->signal_frame));
}

/* Adds the function's rows, and the gap between it and the next function. A function that cannot be read has no
 * rule. */
static bool compile(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, const struct found *found)
{
    struct pp_row_builder *builder = &draft->builder;
    struct window window;
    open_window(&window, source->segment_end);
    struct pp_memory_copy copy;
    struct pp_fde fde;
    void *mapped;
    pp_row_builder_add(builder, found->start, PP_RULE_INVALID | PP_ROW_FUNCTION_START);
    if (copy_entry(&window, found->fde, &copy, &mapped) && read_fde(draft, &window, &copy, &fde) &&
        fde.start == source->text_start + found->start) {
        uint32_t end = clip(source, fde.end);
        struct compilation c = {builder, source->text_start, end < found->end ? end : found->end,
                                draft->cie.signal_frame};
        pp_cfi_run(&copy, &draft->cie, &fde, &draft->initial, emit, &c);
        pp_row_builder_add(builder, c.end, PP_RULE_GAP);
    }
    if (mapped)
        pp_unmap(mapped, copy.size);
    return pp_row_builder_insert(builder, found->start, found->end);
}

static bool is_known(const struct pp_unwind_draft *draft, uint32_t offset)
{
    const struct pp_unwind_row *rows = draft->builder.rows.items;
    return PP_ROW_RULE(rows[pp_row_builder_find(&draft->builder, offset)].rule) != PP_RULE_UNKNOWN;
}

/* Sets one rule for some code. */
static bool add_range(struct pp_row_builder *builder, uint32_t start, uint32_t end, uint32_t rule)
{
    pp_row_builder_add(builder, start, rule);
    return pp_row_builder_insert(builder, start, end);
}

bool pp_unwind_draft_start(struct pp_unwind_draft *draft, const struct pp_module_range *module)
{
    *draft = (struct pp_unwind_draft){.hdr_read = false};
    return pp_row_builder_start(&draft->builder, module);
}

bool pp_unwind_draft_add(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, uintptr_t address)
{
    uint32_t offset = (uint32_t)(address - source->text_start);
    struct found found;
    if (is_known(draft, offset))
        return true;
    bool done = true;
    if (read_hdr(draft, source) && (draft->hdr.table ? search_table(source, &draft->hdr, address, &found)
                                                     : scan_entries(draft, source, address, &found)))
        done = found.fde ? compile(draft, source, &found)
                         : add_range(&draft->builder, found.start, found.end, PP_RULE_GAP);
    /* a table that cannot be read, or is not sorted, or functions that overlap */
    if (done && !is_known(draft, offset))
        done = add_range(&draft->builder, offset, offset + 1, PP_RULE_INVALID);
    return done;
}

void pp_unwind_draft_show(struct pp_unwind_draft *draft, struct pp_module_range *range)
{
    const struct pp_row_builder *builder = &draft->builder;
    uint32_t count = (uint32_t)(builder->rows.used / sizeof *range->rows);
    draft->blocks[1] = draft->blocks[2] = count - 1;
    range->rows = builder->rows.items;
    range->rules = builder->rules.items;
    range->row_count = count;
    range->rule_count = (uint32_t)(builder->rules.used / sizeof *range->rules);
    range->blocks = draft->blocks;
    range->block_shift = 31;
}

static void fill_blocks(uint32_t *blocks, size_t count, unsigned shift, const struct pp_unwind_row *rows,
                        uint32_t row_count)
{
    uint32_t row = 0;
    for (size_t i = 0; i < count; i++) {
        while (row + 1 < row_count && rows[row + 1].pc <= (uint64_t)i << shift)
            row++;
        blocks[i] = row;
    }
}

static size_t align16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

struct pp_unwind_rows *pp_unwind_draft_pack(const struct pp_unwind_draft *draft, const struct pp_unwind_source *source)
{
    const struct pp_vector *rows = &draft->builder.rows, *rules = &draft->builder.rules;
    size_t text = source->text_end - source->text_start;
    uint32_t row_count = (uint32_t)(rows->used / sizeof(struct pp_unwind_row));
    unsigned shift = 4;
    while (shift < 31 && (text >> shift) > row_count / ROWS_PER_BLOCK)
        shift++;
    size_t block_count = (text >> shift) + 2;
    size_t rules_at = align16(sizeof(struct pp_unwind_rows)), rows_at = rules_at + rules->used;
    size_t blocks_at = rows_at + rows->used, size = blocks_at + block_count * sizeof(uint32_t);
    char *mapping = pp_map(size);
    if (!mapping)
        return NULL;
    memcpy(mapping + rules_at, rules->items, rules->used);
    memcpy(mapping + rows_at, rows->items, rows->used);
    uint32_t *blocks = (uint32_t *)(void *)(mapping + blocks_at);
    fill_blocks(blocks, block_count, shift, rows->items, row_count);
    struct pp_unwind_rows *packed = (struct pp_unwind_rows *)(void *)mapping;
    *packed = (struct pp_unwind_rows){
        .mapped = size,
        .rows = (const struct pp_unwind_row *)(const void *)(mapping + rows_at),
        .rules = (const struct pp_unwind_rule *)(const void *)(mapping + rules_at),
        .blocks = blocks,
        .row_count = row_count,
        .rule_count = (uint32_t)(rules->used / sizeof(struct pp_unwind_rule)),
        .block_shift = shift,
    };
    return packed;
}

void pp_unwind_draft_free(struct pp_unwind_draft *draft)
{
    pp_row_builder_free(&draft->builder);
    *draft = (struct pp_unwind_draft){.hdr_read = false};
}

bool pp_unwind_rows_function(const struct pp_module_range *range, uint32_t offset, uint32_t *start, uint32_t *end)
{
    if (!range->row_count || offset >= range->end - range->start)
        return false;
    uint32_t row = pp_unwind_find_row(range, offset);
    if (PP_ROW_RULE(range->rows[row].rule) <= PP_RULE_GAP)
        return false;
    uint32_t next = row + 1;
    while (row > 0 && !(range->rows[row].rule & PP_ROW_FUNCTION_START))
        row--;
    while (next < range->row_count && !(range->rows[next].rule & PP_ROW_FUNCTION_START) &&
           PP_ROW_RULE(range->rows[next].rule) > PP_RULE_GAP)
        next++;
    *start = range->rows[row].pc;
    *end = next < range->row_count ? range->rows[next].pc : (uint32_t)(range->end - range->start);
    return true;
}
