/* SPDX-License-Identifier: Apache-2.0 */
#include "row_builder.h"
#include "../base/arena.h"
#include "../base/hash.h"
#include <string.h>

#define FIRST_HASH_SIZE 256u

static const uint8_t tracked_register[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;

_Static_assert(sizeof(struct pp_unwind_row) == 8, "rows are meant to be small");
_Static_assert(sizeof(struct pp_unwind_rule) == offsetof(struct pp_unwind_rule, lowest) + sizeof(int16_t) &&
                   offsetof(struct pp_unwind_rule, saved) % sizeof(pp_tracked) == 0,
               "rules are compared as bytes: no padding");
_Static_assert(sizeof(struct pp_unwind_rule) <= 48, "a rule and its address are meant to share a cache line");

static size_t rule_count(const struct pp_row_builder *builder)
{
    return builder->rules.used / sizeof(struct pp_unwind_rule);
}

/* Finds the slot of an equal rule, or the free slot for it. */
static uint32_t *find_slot(const struct pp_row_builder *builder, uint32_t *hash, uint32_t size,
                           const struct pp_unwind_rule *rule)
{
    const struct pp_unwind_rule *rules = builder->rules.items;
    uint32_t i = (uint32_t)pp_hash(rule, sizeof *rule) & (size - 1);
    while (hash[i] && memcmp(&rules[hash[i] - 1], rule, sizeof *rule) != 0)
        i = (i + 1) & (size - 1);
    return &hash[i];
}

static bool grow_hash(struct pp_row_builder *builder)
{
    uint32_t size = builder->hash_size ? builder->hash_size * 2 : FIRST_HASH_SIZE;
    uint32_t *hash = pp_map_uncleared(size * sizeof *hash);
    if (!hash)
        return false;
    /* a page that is read first is mapped twice: zeros, then memory of its own, which interrupts every CPU */
    memset(hash, 0, size * sizeof *hash);
    const struct pp_unwind_rule *rules = builder->rules.items;
    for (uint32_t i = 0; i < rule_count(builder); i++)
        *find_slot(builder, hash, size, &rules[i]) = i + 1;
    pp_unmap(builder->hash, builder->hash_size * sizeof *hash);
    builder->hash = hash;
    builder->hash_size = size;
    return true;
}

static uint32_t intern(struct pp_row_builder *builder, const struct pp_unwind_rule *rule)
{
    if (rule_count(builder) >= builder->hash_size / 2 && !grow_hash(builder)) {
        builder->out_of_memory = true;
        return PP_RULE_INVALID;
    }
    uint32_t *slot = find_slot(builder, builder->hash, builder->hash_size, rule);
    if (*slot)
        return *slot - 1;
    struct pp_unwind_rule *fresh = pp_vector_add(&builder->rules, sizeof *fresh);
    if (!fresh) {
        builder->out_of_memory = true;
        return PP_RULE_INVALID;
    }
    *fresh = *rule;
    *slot = (uint32_t)rule_count(builder);
    return *slot - 1;
}

static size_t row_count(const struct pp_vector *rows)
{
    return rows->used / sizeof(struct pp_unwind_row);
}

/* A module's rows end with a row that closes its last function, so they have no end of their own. */
static bool load(struct pp_row_builder *builder, const struct pp_module_range *module)
{
    size_t rows = module->row_count * sizeof *module->rows;
    struct pp_unwind_row *to = pp_vector_add(&builder->rows, rows);
    if (to)
        memcpy(to, module->rows, rows);
    for (uint32_t i = PP_RULE_FIRST; i < module->rule_count; i++)
        intern(builder, &module->rules[i]);
    return to && !builder->out_of_memory;
}

bool pp_row_builder_start(struct pp_row_builder *builder, const struct pp_module_range *module)
{
    *builder = (struct pp_row_builder){0};
    for (uint8_t i = 0; i < PP_RULE_FIRST; i++) {
        struct pp_unwind_rule none = {.cfa_kind = PP_CFA_INVALID, .unused = {i}}; /* else they would be equal */
        intern(builder, &none);
    }
    if (module->row_count)
        return load(builder, module);
    struct pp_unwind_row *first = pp_vector_add(&builder->rows, sizeof *first);
    if (first)
        *first = (struct pp_unwind_row){0, PP_RULE_UNKNOWN};
    return first && !builder->out_of_memory;
}

void pp_row_builder_free(struct pp_row_builder *builder)
{
    pp_vector_free(&builder->rows);
    pp_vector_free(&builder->fresh);
    pp_vector_free(&builder->rules);
    pp_unmap(builder->hash, builder->hash_size * sizeof *builder->hash);
    *builder = (struct pp_row_builder){0};
}

void pp_row_builder_add(struct pp_row_builder *builder, uint32_t pc, uint32_t rule)
{
    struct pp_unwind_row *last = builder->fresh.items;
    size_t count = row_count(&builder->fresh);
    if (count) {
        last += count - 1;
        if (last->pc == pc) {
            last->rule = rule | (last->rule & PP_ROW_FUNCTION_START);
            return;
        }
        if (PP_ROW_RULE(last->rule) == rule)
            return;
    }
    struct pp_unwind_row *row = pp_vector_add(&builder->fresh, sizeof *row);
    if (row)
        *row = (struct pp_unwind_row){pc, rule};
    else
        builder->out_of_memory = true;
}

size_t pp_row_builder_find(const struct pp_row_builder *builder, uint32_t offset)
{
    const struct pp_unwind_row *rows = builder->rows.items;
    size_t low = 0, high = row_count(&builder->rows);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (rows[middle].pc <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool pp_row_builder_insert(struct pp_row_builder *builder, uint32_t start, uint32_t end)
{
    size_t at = pp_row_builder_find(builder, start), count = row_count(&builder->rows),
           fresh = row_count(&builder->fresh);
    struct pp_unwind_row *rows = builder->rows.items;
    const struct pp_unwind_row *from = builder->fresh.items;
    builder->fresh.used = 0;
    if (builder->out_of_memory)
        return false;
    if (PP_ROW_RULE(rows[at].rule) != PP_RULE_UNKNOWN)
        return true;
    bool closes = at + 1 == count || end < rows[at + 1].pc; /* beyond the end all is unknown again */
    uint32_t limit = closes ? end : rows[at + 1].pc;
    while (fresh && from[fresh - 1].pc >= limit)
        fresh--;
    size_t keeps = rows[at].pc < start, added = keeps + fresh + closes;
    if (!pp_vector_add(&builder->rows, (added - 1) * sizeof *rows))
        return false;
    rows = builder->rows.items;
    memmove(rows + at + added, rows + at + 1, (count - at - 1) * sizeof *rows);
    memcpy(rows + at + keeps, from, fresh * sizeof *rows);
    if (closes)
        rows[at + added - 1] = (struct pp_unwind_row){end, PP_RULE_UNKNOWN};
    return true;
}

/* Whether the state is that of a signal restorer: CFA and registers are loaded from the ucontext that the kernel
 * pushed. */
static bool is_kernel_signal_frame(const struct pp_cfi_state *state, int32_t *saved)
{
    const struct pp_cfi_address *cfa = &state->cfa;
    const struct pp_cfi_register *ra = &state->registers[PP_REG_RA];
    if (!cfa->deref || cfa->base != PP_REG_SP || cfa->index != PP_CFI_NO_INDEX || cfa->addend != 0)
        return false;
    *saved = cfa->offset - 8 * PP_SAVED_WORD_SP;
    if (ra->kind != PP_CFI_AT_ADDRESS || ra->base != PP_REG_SP || ra->offset != *saved + 8 * PP_SAVED_WORD_PC)
        return false;
    for (unsigned i = 0; i < PP_REG_COUNT; i++) {
        const struct pp_cfi_register *reg = &state->registers[i];
        if (i != PP_REG_SP &&
            (reg->kind != PP_CFI_AT_ADDRESS || reg->base != PP_REG_SP || reg->offset != *saved + 8 * pp_saved_word[i]))
            return false;
    }
    return true;
}

/* False when the value cannot be found. */
static bool follow_register(struct pp_unwind_rule *rule, unsigned slot, const struct pp_cfi_register *reg)
{
    unsigned bit = 1u << slot;
    if (reg->offset != (int16_t)reg->offset)
        return false;
    rule->where[slot] = (int16_t)reg->offset;
    switch (reg->kind) {
    case PP_CFI_AT_CFA:
        rule->saved |= bit;
        return true;
    case PP_CFI_AT_ADDRESS:
        if (rule->from_base && rule->base != reg->base)
            return false;
        rule->base = reg->base;
        rule->saved |= bit;
        rule->from_base |= bit;
        return true;
    case PP_CFI_REGISTER:
        rule->where[slot] = reg->base;
        rule->in_register |= bit;
        return true;
    case PP_CFI_SAME: /* the return address, of a leaf */
        if (!PP_RA_IN_REGISTER)
            return false;
        rule->where[slot] = PP_REG_RA;
        rule->in_register |= bit;
        return true;
    default:
        return false;
    }
}

/* Finds rule->lowest. */
static int16_t lowest_word(const struct pp_unwind_rule *rule)
{
    int16_t lowest = 0;
    if (rule->from_base || rule->in_register || !(rule->saved >> PP_TRACKED_RA & 1))
        return 0;
    for (unsigned left = rule->saved; left; left &= left - 1) {
        int16_t where = rule->where[__builtin_ctz(left)];
        if (where >= 0 || where % 8)
            return 0;
        lowest = where < lowest ? where : lowest;
    }
    return lowest;
}

/* Adds the caller's registers; false when its return address cannot be found. */
static bool follow_registers(struct pp_unwind_rule *rule, const struct pp_cfi_state *state)
{
    for (unsigned slot = 0; slot < PP_TRACKED_COUNT; slot++) {
        const struct pp_cfi_register *reg = &state->registers[tracked_register[slot]];
        if (reg->kind == PP_CFI_SAME && slot != PP_TRACKED_RA)
            continue;
        if (follow_register(rule, slot, reg))
            continue;
        rule->where[slot] = 0;
        rule->lost |= 1u << slot;
        if (slot == PP_TRACKED_RA && reg->kind != PP_CFI_UNDEFINED)
            return false;
    }
    rule->lowest = lowest_word(rule);
    /* The caller's stack pointer is the CFA, except in code like longjmp. */
    return state->registers[PP_REG_SP].kind == PP_CFI_SAME;
}

/* Recognizes longjmp's last instructions, described as a frame whose caller is setjmp's: its stack pointer is in a
 * register, and the CFA is the jmp_buf. That may be anywhere, so registers that only it holds are lost. */
static bool is_jump(const struct pp_cfi_state *state)
{
    return state->registers[PP_REG_SP].kind == PP_CFI_REGISTER && state->registers[PP_REG_RA].kind == PP_CFI_REGISTER;
}

static struct pp_cfi_state jump_as_frame(const struct pp_cfi_state *state)
{
    struct pp_cfi_state frame = *state;
    frame.cfa =
        (struct pp_cfi_address){.valid = true, .base = state->registers[PP_REG_SP].base, .index = PP_CFI_NO_INDEX};
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        if (i != PP_REG_RA && frame.registers[i].kind == PP_CFI_AT_CFA)
            frame.registers[i].kind = PP_CFI_UNDEFINED;
    frame.registers[PP_REG_SP].kind = PP_CFI_SAME;
    return frame;
}

/* Recognizes libc's resolver of lazy calls by the return address, which a PLT has pushed, where its description has the
 * caller's frame. */
static bool is_resolver(const struct pp_cfi_state *state)
{
    const struct pp_cfi_register *ra = &state->registers[PP_REG_RA];
    return PP_PLT_UNDESCRIBED_PUSH && !state->cfa.deref && state->cfa.base == PP_REG_SP && ra->kind == PP_CFI_AT_CFA &&
           ra->offset == PP_PLT_UNDESCRIBED_PUSH - (int)sizeof(uintptr_t);
}

static struct pp_cfi_state resolver_as_frame(const struct pp_cfi_state *state)
{
    struct pp_cfi_state frame = *state;
    frame.cfa.offset += PP_PLT_UNDESCRIBED_PUSH;
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        if (frame.registers[i].kind == PP_CFI_AT_CFA)
            frame.registers[i].offset -= PP_PLT_UNDESCRIBED_PUSH;
    return frame;
}

uint32_t pp_row_builder_rule(struct pp_row_builder *builder, const struct pp_cfi_state *state, bool signal_frame)
{
    const struct pp_cfi_address *cfa = &state->cfa;
    struct pp_unwind_rule rule = {.cfa_register = PP_NO_REGISTER, .cfa_index = PP_NO_REGISTER};
    bool outermost = state->registers[PP_REG_RA].kind == PP_CFI_UNDEFINED;
    if (outermost)
        rule.lost = 1u << PP_TRACKED_RA;
    if (!cfa->valid || cfa->addend != (int16_t)cfa->addend)
        return outermost ? intern(builder, &rule) : PP_RULE_INVALID;

    rule.cfa_register = cfa->base;
    rule.cfa_offset = cfa->offset;
    if (signal_frame) {
        rule.cfa_kind = PP_CFA_SIGNAL;
        return is_kernel_signal_frame(state, &rule.cfa_offset) ? intern(builder, &rule) : PP_RULE_INVALID;
    }
    if (is_jump(state) || is_resolver(state)) {
        struct pp_cfi_state frame = is_jump(state) ? jump_as_frame(state) : resolver_as_frame(state);
        return pp_row_builder_rule(builder, &frame, false);
    }
    if (cfa->plt) {
        rule.cfa_kind = PP_CFA_PLT;
        rule.cfa_addend = cfa->plt;
    } else if (cfa->deref) {
        rule.cfa_kind = PP_CFA_DEREF;
        rule.cfa_index = cfa->index;
        rule.cfa_shift = cfa->shift;
        rule.cfa_addend = (int16_t)cfa->addend;
    } else if (cfa->index == PP_CFI_NO_INDEX) {
        rule.cfa_kind = PP_CFA_REGISTER;
    } else {
        return PP_RULE_INVALID;
    }
    return follow_registers(&rule, state) ? intern(builder, &rule) : PP_RULE_INVALID;
}

uint32_t pp_row_builder_undescribed(struct pp_row_builder *builder, enum pp_undescribed_kind kind)
{
    struct pp_cfi_state state = {.cfa = {.valid = true, .base = PP_REG_SP, .index = PP_CFI_NO_INDEX}};
    if (kind == PP_CODE_FIRST_STUB)
        state.cfa.offset = PP_PLT_UNDESCRIBED_PUSH;
    if (kind == PP_CODE_STUB || kind == PP_CODE_FIRST_STUB)
        return pp_row_builder_rule(builder, &state, false);
    struct pp_unwind_rule rule = {
        .cfa_kind = PP_CFA_SIGNAL, .cfa_register = PP_REG_SP, .cfa_index = PP_NO_REGISTER, .cfa_offset = PP_SAVED_AT};
    return intern(builder, &rule);
}
