#include "unwind_rule.h"

static const uint8_t tracked_register[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;
static const uint8_t greg_of_dwarf[PP_REG_COUNT] = PP_GREG_OF_DWARF;

/* Whether the state is that of a signal restorer: CFA and registers are loaded from the ucontext that the kernel
 * pushed. async-signal-safe. */
static bool is_kernel_signal_frame(const struct pp_cfi_state *state, int32_t *gregs)
{
    const struct pp_cfi_address *cfa = &state->cfa;
    const struct pp_cfi_register *ra = &state->registers[PP_REG_RA];
    if (!cfa->deref || cfa->base != PP_REG_SP || cfa->index != PP_CFI_NO_INDEX || cfa->addend != 0)
        return false;
    *gregs = cfa->offset - 8 * PP_GREG_SP;
    if (ra->kind != PP_CFI_AT_ADDRESS || ra->base != PP_REG_SP || ra->offset != *gregs + 8 * PP_GREG_PC)
        return false;
    for (unsigned i = 0; i < PP_REG_COUNT; i++) {
        const struct pp_cfi_register *reg = &state->registers[i];
        if (i != PP_REG_SP &&
            (reg->kind != PP_CFI_AT_ADDRESS || reg->base != PP_REG_SP || reg->offset != *gregs + 8 * greg_of_dwarf[i]))
            return false;
    }
    return true;
}

/* Returns false when the value cannot be found. async-signal-safe. */
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
    default:
        return false;
    }
}

/* Adds the caller's registers; false when its return address cannot be found. async-signal-safe. */
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
    /* The caller's stack pointer is the CFA, except in code like longjmp. */
    return state->registers[PP_REG_SP].kind == PP_CFI_SAME;
}

/* Recognizes longjmp's last instructions, described as a frame whose caller is setjmp's: its stack pointer is in a
 * register, and the CFA is the jmp_buf. That may be anywhere, so registers that only it holds are lost.
 * async-signal-safe. */
static bool is_jump(const struct pp_cfi_state *state)
{
    return state->registers[PP_REG_SP].kind == PP_CFI_REGISTER && state->registers[PP_REG_RA].kind == PP_CFI_REGISTER;
}

/* Makes the rule of longjmp's last instructions, as if for an empty frame below setjmp's. async-signal-safe. */
static bool follow_jump(struct pp_unwind_rule *rule, const struct pp_cfi_state *state)
{
    rule->cfa_kind = PP_CFA_REGISTER;
    rule->cfa_register = state->registers[PP_REG_SP].base;
    rule->cfa_offset = 0;
    for (unsigned slot = 0; slot < PP_TRACKED_COUNT; slot++) {
        const struct pp_cfi_register *reg = &state->registers[tracked_register[slot]];
        bool lost = reg->kind == PP_CFI_AT_CFA || (reg->kind != PP_CFI_SAME && !follow_register(rule, slot, reg));
        rule->lost |= (uint8_t)(lost << slot);
    }
    return true;
}

bool pp_unwind_rule_of(const struct pp_cfi_state *state, bool signal_frame, struct pp_unwind_rule *rule)
{
    const struct pp_cfi_address *cfa = &state->cfa;
    bool outermost = state->registers[PP_REG_RA].kind == PP_CFI_UNDEFINED;
    *rule = (struct pp_unwind_rule){.cfa_register = PP_NO_REGISTER, .cfa_index = PP_NO_REGISTER};
    if (outermost)
        rule->lost = 1u << PP_TRACKED_RA;
    if (!cfa->valid || cfa->addend != (int16_t)cfa->addend)
        return outermost;

    rule->cfa_register = cfa->base;
    rule->cfa_offset = cfa->offset;
    if (signal_frame) {
        rule->cfa_kind = PP_CFA_SIGNAL;
        return is_kernel_signal_frame(state, &rule->cfa_offset);
    }
    if (is_jump(state))
        return follow_jump(rule, state);
    if (cfa->plt) {
        rule->cfa_kind = PP_CFA_PLT;
        rule->cfa_addend = cfa->plt;
    } else if (cfa->deref) {
        rule->cfa_kind = PP_CFA_DEREF;
        rule->cfa_index = cfa->index;
        rule->cfa_shift = cfa->shift;
        rule->cfa_addend = (int16_t)cfa->addend;
    } else if (cfa->index == PP_CFI_NO_INDEX) {
        rule->cfa_kind = PP_CFA_REGISTER;
    } else {
        return false;
    }
    return follow_registers(rule, state);
}
