#include "unwind_rows.h"
#include "../base/arena.h"
#include "../base/sort.h"
#include "cfi.h"
#include "row_builder.h"

#define CIE_CACHE_SIZE 16
#define ROWS_PER_BLOCK 16
#define MAX_ROWS       (UINT32_C(1) << 28)
/* Bytes that may be interpreted per byte of .eh_frame. Valid input needs one, and a little for the CIEs; overlapping
 * entries, which only damage makes, would cost the square of the size. */
#define WORK_PER_BYTE 4
#define WORK_EXTRA    65536
#define ASK_EVERY     256 /* functions: some 0.1 ms */

struct function {
    uint32_t start, fde; /* offset in the text, offset in .eh_frame */
};

struct cached_cie {
    bool known, usable;
    struct pp_cie cie;
    struct pp_cfi_state initial;
};

struct compilation {
    const struct pp_section_copy *eh_frame;
    uintptr_t text_start, text_end;
    struct pp_vector functions; /* struct function */
    struct pp_row_builder builder;
    struct cached_cie *cies;
    size_t work_left;
    bool (*give_up)(void);
    /* of the function being compiled */
    bool signal_frame;
    uint32_t start_flag;
    uint32_t limit; /* where the next function starts */
    uint32_t compiled, damaged;
};

static const struct cached_cie *cie_at(struct compilation *c, size_t offset)
{
    struct cached_cie *cached = &c->cies[(offset / 8) % CIE_CACHE_SIZE];
    if (cached->known && cached->cie.offset == offset)
        return cached;
    cached->known = true;
    cached->usable = pp_eh_frame_cie(c->eh_frame, offset, &cached->cie);
    if (cached->usable) {
        size_t work = pp_bytes_left(&cached->cie.instructions);
        cached->usable = work <= c->work_left && pp_cfi_initial(c->eh_frame, &cached->cie, &cached->initial);
        c->work_left -= work < c->work_left ? work : c->work_left;
    }
    cached->cie.offset = offset;
    return cached;
}

static const struct cached_cie *read_fde(struct compilation *c, size_t offset, struct pp_fde *fde)
{
    size_t cie_offset;
    if (!pp_eh_frame_cie_of(c->eh_frame, offset, &cie_offset))
        return NULL;
    const struct cached_cie *cie = cie_at(c, cie_offset);
    return cie->usable && pp_eh_frame_fde(c->eh_frame, offset, &cie->cie, fde) ? cie : NULL;
}

static void emit(void *arg, uintptr_t from, uintptr_t to, const struct pp_cfi_state *state)
{
    struct compilation *c = arg;
    (void)to;
    uint32_t offset = (uint32_t)(from - c->text_start);
    if (offset >= c->limit)
        return;
    uint32_t rule = pp_row_builder_rule(&c->builder, state, c->signal_frame);
    pp_row_builder_add(&c->builder, offset, rule | c->start_flag);
    c->start_flag = 0;
}

static void compile_function(struct compilation *c, const struct function *f, uint32_t limit)
{
    struct pp_fde fde;
    const struct cached_cie *cie = read_fde(c, f->fde, &fde);
    size_t work = cie ? pp_bytes_left(&fde.instructions) + 1 : 0;
    if (!cie || fde.start - c->text_start != f->start || work > c->work_left) {
        c->damaged++;
        return;
    }
    c->work_left -= work;
    if (fde.end > c->text_end)
        fde.end = c->text_end;
    c->signal_frame = cie->cie.signal_frame;
    c->start_flag = PP_ROW_FUNCTION_START;
    c->limit = limit;
    pp_cfi_run(c->eh_frame, &cie->cie, &fde, &cie->initial, emit, c);
    uint32_t end = (uint32_t)(fde.end - c->text_start);
    pp_row_builder_add(&c->builder, end < limit ? end : limit, PP_RULE_GAP);
    c->compiled++;
}

static bool note_function(struct compilation *c, uintptr_t start, size_t fde)
{
    if (start < c->text_start || start >= c->text_end || fde >= c->eh_frame->size || fde > UINT32_MAX)
        return true;
    struct function *f = pp_vector_add(&c->functions, sizeof *f);
    if (f)
        *f = (struct function){(uint32_t)(start - c->text_start), (uint32_t)fde};
    return f != NULL;
}

/* Lists all entries in order, without a search table. */
static bool scan_functions(struct compilation *c)
{
    size_t offset = 0, next;
    for (; pp_eh_frame_next(c->eh_frame, offset, &next); offset = next) {
        struct pp_fde fde;
        if (read_fde(c, offset, &fde) && !note_function(c, fde.start, offset))
            return false;
    }
    return true;
}

static bool list_functions(struct compilation *c, const struct pp_section_copy *hdr)
{
    struct pp_eh_frame_hdr parsed;
    if (!hdr || !pp_eh_frame_hdr_parse(hdr, &parsed) || !parsed.table)
        return scan_functions(c);
    for (size_t i = 0; i < parsed.count; i++) {
        uintptr_t start, fde;
        pp_eh_frame_hdr_entry(hdr, &parsed, i, &start, &fde);
        if (!note_function(c, start, fde - c->eh_frame->address))
            return false;
    }
    return true;
}

static bool starts_before(const void *first, const void *second, const void *unused)
{
    (void)unused;
    return ((const struct function *)first)->start < ((const struct function *)second)->start;
}

/* Linkers sort the table; damage makes tables that are not sorted. */
static void sort_functions(struct function *f, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (f[i].start < f[i - 1].start) {
            pp_sort(f, count, sizeof *f, starts_before, NULL);
            return;
        }
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

/* Makes one mapping of the final size: {left to the caller, rules, rows, blocks}. */
static bool pack(struct compilation *c, size_t leading, struct pp_unwind_rows *out)
{
    const struct pp_vector *rows = &c->builder.rows, *rules = &c->builder.rules;
    size_t text = c->text_end - c->text_start;
    uint32_t row_count = (uint32_t)(rows->used / sizeof(struct pp_unwind_row));
    unsigned shift = 4;
    while (shift < 31 && (text >> shift) > row_count / ROWS_PER_BLOCK)
        shift++;
    size_t block_count = (text >> shift) + 2;
    leading = align16(leading);
    size_t rows_at = leading + align16(rules->used), blocks_at = rows_at + align16(rows->used);
    size_t size = blocks_at + block_count * sizeof(uint32_t);
    char *mapping = pp_map(size);
    if (!mapping)
        return false;
    memcpy(mapping + leading, rules->items, rules->used);
    memcpy(mapping + rows_at, rows->items, rows->used);
    uint32_t *blocks = (uint32_t *)(void *)(mapping + blocks_at);
    fill_blocks(blocks, block_count, shift, rows->items, row_count);
    *out = (struct pp_unwind_rows){
        .mapping = mapping,
        .mapped = size,
        .rows = (const struct pp_unwind_row *)(const void *)(mapping + rows_at),
        .rules = (const struct pp_unwind_rule *)(const void *)(mapping + leading),
        .blocks = blocks,
        .row_count = row_count,
        .rule_count = (uint32_t)(rules->used / sizeof(struct pp_unwind_rule)),
        .block_shift = shift,
        .functions = c->compiled,
        .damaged_functions = c->damaged,
    };
    return true;
}

static bool compile_all(struct compilation *c)
{
    struct function *f = c->functions.items;
    size_t count = c->functions.used / sizeof *f;
    uint32_t text = (uint32_t)(c->text_end - c->text_start);
    sort_functions(f, count);
    pp_row_builder_add(&c->builder, 0, PP_RULE_GAP);
    for (size_t i = 0; i < count; i++) {
        if (i % ASK_EVERY == 0 && c->give_up && c->give_up())
            return false;
        if (i + 1 < count && f[i + 1].start == f[i].start)
            continue; /* several for one address: the last is taken */
        compile_function(c, &f[i], i + 1 < count ? f[i + 1].start : text);
        if (c->builder.out_of_memory || c->builder.rows.used / sizeof(struct pp_unwind_row) > MAX_ROWS)
            return false;
    }
    return c->compiled > 0;
}

bool pp_unwind_rows_compile(const struct pp_section_copy *hdr, const struct pp_section_copy *eh_frame,
                            uintptr_t text_start, uintptr_t text_end, size_t leading, bool (*give_up)(void),
                            struct pp_unwind_rows *out)
{
    *out = (struct pp_unwind_rows){0};
    if (text_end <= text_start || text_end - text_start >= UINT32_MAX)
        return false;
    struct compilation c = {.eh_frame = eh_frame, .text_start = text_start, .text_end = text_end, .give_up = give_up};
    c.work_left = eh_frame->size * WORK_PER_BYTE + WORK_EXTRA;
    c.cies = pp_map(CIE_CACHE_SIZE * sizeof *c.cies);
    pp_row_builder_start(&c.builder);
    bool done =
        c.cies && !c.builder.out_of_memory && list_functions(&c, hdr) && compile_all(&c) && pack(&c, leading, out);
    pp_unmap(c.cies, CIE_CACHE_SIZE * sizeof *c.cies);
    pp_vector_free(&c.functions);
    pp_row_builder_free(&c.builder);
    return done;
}

bool pp_unwind_rows_function(const struct pp_module_range *range, uint32_t offset, uint32_t *start, uint32_t *end)
{
    if (!range->row_count || offset >= range->end - range->start)
        return false;
    uint32_t row = pp_unwind_find_row(range, offset);
    if (PP_ROW_RULE(range->rows[row].rule) == PP_RULE_GAP)
        return false;
    uint32_t next = row + 1;
    while (row > 0 && !(range->rows[row].rule & PP_ROW_FUNCTION_START))
        row--;
    while (next < range->row_count && !(range->rows[next].rule & PP_ROW_FUNCTION_START) &&
           PP_ROW_RULE(range->rows[next].rule) != PP_RULE_GAP)
        next++;
    *start = range->rows[row].pc;
    *end = next < range->row_count ? range->rows[next].pc : (uint32_t)(range->end - range->start);
    return true;
}
