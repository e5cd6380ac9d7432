/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_rows.h"
#include "../arch/return_path.h"
#include "../base/arena.h"
#include "../base/safe_copy.h"

#define ROWS_PER_BLOCK 16

struct compilation {
    struct pp_row_builder *builder;
    uintptr_t text_start;
    uint32_t end;
    bool signal_frame;
    bool memory_for_frame; /* the function takes memory for a frame: no CFA in a register holds */
};

/* Whether the CFA is in a register, and the return address above it: there is what the function restores, a jmp_buf or
 * a context, and no frame of its own. */
static bool takes_memory_for_frame(const struct pp_cfi_state *state)
{
    const struct pp_cfi_register *ra = &state->registers[PP_REG_RA];
    return state->cfa.valid && state->cfa.base != PP_REG_SP && ra->kind == PP_CFI_AT_CFA && ra->offset >= 0;
}

static void emit(void *arg, uintptr_t from, uintptr_t to, const struct pp_cfi_state *state)
{
    struct compilation *c = arg;
    (void)to;
    c->memory_for_frame |= takes_memory_for_frame(state);
    bool wrong = c->memory_for_frame && state->cfa.valid && state->cfa.base != PP_REG_SP;
    if (from - c->text_start < c->end)
        pp_row_builder_add(c->builder, (uint32_t)(from - c->text_start),
                           wrong ? PP_RULE_INVALID : pp_row_builder_rule(c->builder, state, c->signal_frame));
}

/* Adds the function's rows, and the gap between it and the next function; where code in gaps is read, the first byte of
 * that, which ends the function. False: its FDE cannot be read, or is of another function. */
static bool add_function(struct pp_row_builder *builder, const struct pp_unwind_source *source,
                         struct pp_found_fde *found)
{
    struct pp_entry_window window;
    pp_entry_window_open(&window, source);
    struct pp_memory_copy copy;
    struct pp_fde fde;
    const struct pp_cie_state *cie;
    void *mapped;
    bool usable = pp_entry_copy(&window, found->fde, &copy, &mapped) && pp_fde_read(source, &copy, &fde, &cie) &&
                  fde.start == source->text_start + found->start;
    if (usable) {
        struct compilation c = {builder, source->text_start, pp_unwind_offset(source, fde.end), cie->cie.signal_frame,
                                false};
        pp_cfi_run(&copy, &cie->cie, &fde, &cie->initial, emit, &c);
        pp_row_builder_add(builder, c.end, PP_RULE_GAP);
        if (source->least_gap && found->end >= c.end + source->least_gap)
            found->end = c.end + 1;
    }
    if (mapped)
        pp_unmap(mapped, copy.size);
    return usable;
}

/* A function that cannot be read has no rule. False: no memory. */
static bool compile(struct pp_row_builder *builder, const struct pp_unwind_source *source, struct pp_found_fde *found)
{
    pp_row_builder_add(builder, found->start, PP_RULE_INVALID | PP_ROW_FUNCTION_START);
    if (!add_function(builder, source, found)) {
        struct pp_unwind_source memory = pp_unwind_in_memory(source);
        add_function(builder, &memory, found);
    }
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

/* Adds the rule of code that is known by its instructions, if this is such code: linkers and kernels give some no
 * description, or a wrong one. False: no memory. */
static bool add_undescribed(struct pp_row_builder *builder, const struct pp_unwind_source *source, const uint8_t *code,
                            uintptr_t address)
{
    struct pp_undescribed found = pp_undescribed(code, address);
    if (found.kind == PP_CODE_OTHER || found.start < source->text_start || found.end > source->text_end)
        return true;
    return add_range(builder, (uint32_t)(found.start - source->text_start), (uint32_t)(found.end - source->text_start),
                     pp_row_builder_undescribed(builder, found.kind));
}

/* Returns the rule that the instructions at an address tell, PP_RULE_UNKNOWN if they tell none. *size: of the code for
 * which it holds. */
static uint32_t rule_by_code(struct pp_row_builder *builder, struct pp_code *code, uintptr_t at, uint32_t *size)
{
    uint8_t begin[PP_RESTORER_SIZE];
    struct pp_return_path path;
    if (code->read(begin, at, sizeof begin) && pp_is_restorer(begin)) {
        *size = sizeof begin;
        return pp_row_builder_undescribed(builder, PP_CODE_RESTORER);
    }
    if (!pp_return_path(code, at, &path))
        return PP_RULE_UNKNOWN;
    struct pp_cfi_state state = {
        .cfa = {.valid = true, .base = path.cfa_register, .index = PP_CFI_NO_INDEX, .offset = path.cfa_offset}};
    for (uint64_t left = path.saved; left; left &= left - 1) {
        unsigned number = (unsigned)__builtin_ctzll(left);
        state.registers[number] = (struct pp_cfi_register){.kind = PP_CFI_AT_CFA, .offset = path.at[number]};
    }
    *size = path.size;
    return pp_row_builder_rule(builder, &state, false);
}

/* Adds all code of a module that its instructions tell. False: no memory. */
static bool add_all_by_code(struct pp_unwind_draft *draft, const struct pp_unwind_source *source)
{
    struct pp_code code = {.start = source->text_start, .end = source->text_end, .read = pp_safe_copy};
    uint32_t end = (uint32_t)(source->text_end - source->text_start), size;
    bool done = true;
    for (uint32_t at = 0; at < end && done; at += (size + 3) & ~(uint32_t)3) {
        size = 1;
        uint32_t rule = PP_RULE_UNKNOWN;
        if (!is_known(draft, at))
            rule = rule_by_code(&draft->builder, &code, source->text_start + at, &size);
        if (rule != PP_RULE_UNKNOWN)
            done = add_range(&draft->builder, at, at + size, rule);
    }
    return done;
}

/* Adds all such code of a small module, when the first of its functions is met: in the vDSO the gap after that function
 * may hold some. Of others, what is at the address. */
static bool add_undescribed_at(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, uintptr_t address)
{
    uint8_t piece[PP_UNDESCRIBED_BYTES + 1];
    size_t size = source->text_end - source->text_start;
    uintptr_t from = (address & ~(uintptr_t)3) - PP_UNDESCRIBED_BEFORE;
    bool first = draft->builder.rows.used == sizeof(struct pp_unwind_row), done = true;
    if (!PP_UNDESCRIBED_BYTES)
        return true;
    if (!first || size > PP_SMALL_TEXT)
        return !pp_safe_copy(piece, from, PP_UNDESCRIBED_BYTES) ||
               add_undescribed(&draft->builder, source, piece, from);
    const uint8_t *code = pp_safe_copy_mapped(source->text_start, size);
    for (size_t at = 0; code && done && at + PP_UNDESCRIBED_BYTES <= size; at += 4)
        done = add_undescribed(&draft->builder, source, code + at, source->text_start + at);
    if (code && done && source->hdr_start == source->hdr_end)
        done = add_all_by_code(draft, source);
    pp_unmap((void *)(uintptr_t)code, code ? size : 0);
    return done;
}

/* Adds a rule for code without a description from its instructions, if they tell: libc's own, where that has none, and
 * assembly. A caller's frame is asked for by the last byte of its call; the code that a handler returns to, by the byte
 * before it. end: where the next function begins, whose rows are its own. False: no memory. */
static bool add_by_code(struct pp_row_builder *builder, const struct pp_unwind_source *source, uintptr_t address,
                        uint32_t end)
{
    bool call = source->place == PP_PLACE_UNKNOWN ? PP_AT_CALL(address) : source->place == PP_PLACE_CALL;
    struct pp_code code = {.start = source->text_start, .end = source->text_end, .read = pp_safe_copy};
    uint32_t offset = (uint32_t)(address - source->text_start), size;
    uint32_t rule = rule_by_code(builder, &code, call ? address + 1 : address, &size);
    size = rule == PP_RULE_UNKNOWN || call ? 1 : size < end - offset ? size : end - offset;
    return rule == PP_RULE_UNKNOWN || add_range(builder, offset, offset + size, rule);
}

bool pp_unwind_draft_start(struct pp_unwind_draft *draft, const struct pp_module_range *module)
{
    *draft = (struct pp_unwind_draft){.blocks = {0}};
    return pp_row_builder_start(&draft->builder, module);
}

bool pp_unwind_draft_add(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, uintptr_t address)
{
    uint32_t offset = (uint32_t)(address - source->text_start);
    uint32_t end = UINT32_MAX;
    struct pp_found_fde found;
    if (is_known(draft, offset))
        return true;
    draft->changed = true;
    bool done = add_undescribed_at(draft, source, address);
    if (done && !is_known(draft, offset) && pp_fde_search(source, address, &found)) {
        end = found.end;
        if (!found.fde)
            done = source->least_gap || add_range(&draft->builder, found.start, found.end, PP_RULE_GAP);
        else if (!is_known(draft, found.start)) /* else the address is in the gap after it */
            done = compile(&draft->builder, source, &found);
    }
    if (done && source->least_gap && !is_known(draft, offset)) {
        if (source->place == PP_PLACE_UNKNOWN && !PP_READS_GAPS)
            return true;
        done = add_by_code(&draft->builder, source, address, end);
    }
    /* what cannot be read, a table that is not sorted, functions that overlap */
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

struct pp_unwind_rows *pp_unwind_draft_pack(struct pp_unwind_draft *draft, const struct pp_unwind_source *source)
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
    char *mapping = pp_map_uncleared(size);
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
    draft->changed = false;
    return packed;
}

void pp_unwind_draft_free(struct pp_unwind_draft *draft)
{
    pp_row_builder_free(&draft->builder);
    *draft = (struct pp_unwind_draft){.blocks = {0}};
}

bool pp_unwind_rows_function(const struct pp_module_range *range, uint32_t offset, uint32_t *start, uint32_t *end)
{
    if (!range->row_count || offset >= range->end - range->start)
        return false;
    uint32_t row = pp_unwind_find_row(range, offset);
    if (PP_ROW_RULE(range->rows[row].rule) <= PP_RULE_GAP)
        return false;
    uint32_t next = row + 1;
    for (; !(range->rows[row].rule & PP_ROW_FUNCTION_START); row--)
        if (!row || PP_ROW_RULE(range->rows[row].rule) <= PP_RULE_GAP)
            return false; /* code in a gap, known by its instructions */
    while (next < range->row_count && !(range->rows[next].rule & PP_ROW_FUNCTION_START) &&
           PP_ROW_RULE(range->rows[next].rule) > PP_RULE_GAP)
        next++;
    *start = range->rows[row].pc;
    *end = next < range->row_count ? range->rows[next].pc : (uint32_t)(range->end - range->start);
    return true;
}
