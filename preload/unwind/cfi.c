/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi.h"

#define MAX_REMEMBERED 16

enum {
    CFA_ADVANCE_LOC = 0x40, /* these three carry an operand in their low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct run {
    const struct pp_memory_copy *copy;
    const struct pp_cie *cie;
    const struct pp_cfi_state *initial; /* NULL while it is being made */
    struct pp_bytes code;
    uintptr_t at, end;
    struct pp_cfi_state state;
    unsigned remembered;
    struct pp_cfi_state stack[MAX_REMEMBERED];
};

static void set_register(struct run *run, uint64_t reg, uint8_t kind, uint64_t base, int64_t offset)
{
    if (reg >= PP_REG_COLUMNS)
        return; /* vector registers and the like: no frame is found by them */
    if (offset != (int32_t)offset || (kind == PP_CFI_REGISTER && base >= PP_REG_COUNT))
        kind = PP_CFI_UNKNOWN;
    run->state.registers[reg] = (struct pp_cfi_register){kind, (uint8_t)base, (int32_t)offset};
}

static void set_cfa(struct run *run, uint64_t reg, int64_t offset)
{
    run->state.cfa = (struct pp_cfi_address){
        .valid = reg < PP_REG_COUNT && offset == (int32_t)offset,
        .base = (uint8_t)reg,
        .index = PP_CFI_NO_INDEX,
        .offset = (int32_t)offset,
    };
}

/* Whether the CFA is "register + offset": instructions that change one half mean nothing after an expression. */
static bool cfa_is_simple(const struct run *run)
{
    const struct pp_cfi_address *cfa = &run->state.cfa;
    return cfa->valid && !cfa->deref && !cfa->plt && cfa->index == PP_CFI_NO_INDEX;
}

static struct pp_bytes block(struct run *run)
{
    uint64_t size = pp_bytes_uleb(&run->code);
    const uint8_t *start = pp_bytes_advance(&run->code, size);
    struct pp_bytes b = {start, start ? start + size : NULL, false};
    return b;
}

static void define_cfa_by_expression(struct run *run)
{
    struct pp_bytes expression = block(run);
    if (run->code.failed || !pp_cfi_expression(expression, &run->state.cfa))
        run->state.cfa.valid = false;
}

static void define_register_by_expression(struct run *run)
{
    uint64_t reg = pp_bytes_uleb(&run->code);
    struct pp_bytes expression = block(run);
    struct pp_cfi_address a;
    if (!run->code.failed && pp_cfi_expression(expression, &a) && !a.deref && !a.plt && a.index == PP_CFI_NO_INDEX)
        set_register(run, reg, PP_CFI_AT_ADDRESS, a.base, a.offset);
    else
        set_register(run, reg, PP_CFI_UNKNOWN, 0, 0);
}

static void restore_register(struct run *run, uint64_t reg)
{
    if (reg < PP_REG_COLUMNS && run->initial)
        run->state.registers[reg] = run->initial->registers[reg];
}

static void save_at_offset(struct run *run, uint64_t reg, int64_t n, uint8_t kind)
{
    int64_t offset;
    if (__builtin_mul_overflow(n, run->cie->data_align, &offset))
        kind = PP_CFI_UNKNOWN;
    /* The caller's stack pointer is the CFA by default. */
    if (kind == PP_CFI_UNKNOWN && reg == PP_REG_SP && n == 0)
        kind = PP_CFI_SAME;
    set_register(run, reg, kind, 0, kind == PP_CFI_AT_CFA ? offset : 0);
}

static bool define_cfa_factored(struct run *run, uint64_t reg)
{
    int64_t offset;
    if (__builtin_mul_overflow(pp_bytes_sleb(&run->code), run->cie->data_align, &offset))
        return false;
    set_cfa(run, reg, offset);
    return true;
}

/* Executes an instruction that does not advance the location. False: unknown or damaged. */
static bool instruction(struct run *run, uint8_t op)
{
    struct pp_bytes *b = &run->code;
    uint64_t reg;
    switch (op) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: /* whether the return address is signed: pp_return_address does not ask */
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        break;
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF: {
        bool is_signed = op == CFA_OFFSET_EXTENDED_SF || op == CFA_VAL_OFFSET_SF;
        reg = pp_bytes_uleb(b);
        uint64_t n = is_signed ? (uint64_t)pp_bytes_sleb(b) : pp_bytes_uleb(b);
        save_at_offset(run, reg, (int64_t)(op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED ? 0 - n : n),
                       op == CFA_VAL_OFFSET || op == CFA_VAL_OFFSET_SF ? PP_CFI_UNKNOWN : PP_CFI_AT_CFA);
        break;
    }
    case CFA_RESTORE_EXTENDED:
        restore_register(run, pp_bytes_uleb(b));
        break;
    case CFA_UNDEFINED:
        set_register(run, pp_bytes_uleb(b), PP_CFI_UNDEFINED, 0, 0);
        break;
    case CFA_SAME_VALUE:
        set_register(run, pp_bytes_uleb(b), PP_CFI_SAME, 0, 0);
        break;
    case CFA_REGISTER:
        reg = pp_bytes_uleb(b);
        set_register(run, reg, PP_CFI_REGISTER, pp_bytes_uleb(b), 0);
        break;
    case CFA_EXPRESSION:
        define_register_by_expression(run);
        break;
    case CFA_VAL_EXPRESSION:
        reg = pp_bytes_uleb(b);
        block(run);
        set_register(run, reg, PP_CFI_UNKNOWN, 0, 0);
        break;
    case CFA_REMEMBER_STATE:
        if (run->remembered == MAX_REMEMBERED)
            return false;
        run->stack[run->remembered++] = run->state;
        break;
    case CFA_RESTORE_STATE:
        if (run->remembered == 0)
            return false;
        run->state = run->stack[--run->remembered];
        break;
    case CFA_DEF_CFA:
        reg = pp_bytes_uleb(b);
        set_cfa(run, reg, (int64_t)pp_bytes_uleb(b));
        break;
    case CFA_DEF_CFA_SF:
        return define_cfa_factored(run, pp_bytes_uleb(b));
    case CFA_DEF_CFA_REGISTER:
        if (!cfa_is_simple(run))
            return false;
        set_cfa(run, pp_bytes_uleb(b), run->state.cfa.offset);
        break;
    case CFA_DEF_CFA_OFFSET:
        if (!cfa_is_simple(run))
            return false;
        set_cfa(run, run->state.cfa.base, (int64_t)pp_bytes_uleb(b));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        return cfa_is_simple(run) && define_cfa_factored(run, run->state.cfa.base);
    case CFA_DEF_CFA_EXPRESSION:
        define_cfa_by_expression(run);
        break;
    case CFA_GNU_ARGS_SIZE:
        pp_bytes_uleb(b);
        break;
    default:
        return false;
    }
    return !b->failed;
}

/* True and the target when the instruction advances the location. */
static bool advances(struct run *run, uint8_t op, uintptr_t *target)
{
    struct pp_bytes *b = &run->code;
    uint64_t delta;
    switch (op) {
    case CFA_SET_LOC:
        *target = pp_eh_frame_pointer(b, run->copy, run->cie->pointer_encoding);
        return true;
    case CFA_ADVANCE_LOC1:
        delta = pp_bytes_unsigned(b, 1);
        break;
    case CFA_ADVANCE_LOC2:
        delta = pp_bytes_unsigned(b, 2);
        break;
    case CFA_ADVANCE_LOC4:
        delta = pp_bytes_unsigned(b, 4);
        break;
    default:
        if ((op & 0xc0) != CFA_ADVANCE_LOC)
            return false;
        delta = op & 0x3f;
    }
    if (__builtin_mul_overflow(delta, run->cie->code_align, &delta) || __builtin_add_overflow(run->at, delta, target))
        b->failed = true;
    return true;
}

/* False when it stopped before the end, at an instruction that we cannot interpret. */
static bool run_all(struct run *run, pp_cfi_emit *emit, void *arg)
{
    while (pp_bytes_left(&run->code)) {
        uint8_t op = (uint8_t)pp_bytes_unsigned(&run->code, 1);
        uintptr_t target;
        if (advances(run, op, &target)) {
            if (run->code.failed || target < run->at || !emit)
                return false;
            if (target >= run->end)
                return true; /* the rest describes no code of this function */
            if (target > run->at)
                emit(arg, run->at, target, &run->state);
            run->at = target;
        } else if ((op & 0xc0) == CFA_OFFSET) {
            save_at_offset(run, op & 0x3f, (int64_t)pp_bytes_uleb(&run->code), PP_CFI_AT_CFA);
        } else if ((op & 0xc0) == CFA_RESTORE) {
            restore_register(run, op & 0x3f);
        } else if (!instruction(run, op)) {
            return false;
        }
        if (run->code.failed)
            return false;
    }
    return true;
}

bool pp_cfi_initial(const struct pp_memory_copy *copy, const struct pp_cie *cie, struct pp_cfi_state *initial)
{
    struct run run = {.copy = copy, .cie = cie, .code = cie->instructions};
    run.state.cfa.index = PP_CFI_NO_INDEX;
    bool complete = run_all(&run, NULL, NULL);
    *initial = run.state;
    return complete;
}

void pp_cfi_run(const struct pp_memory_copy *copy, const struct pp_cie *cie, const struct pp_fde *fde,
                const struct pp_cfi_state *initial, pp_cfi_emit *emit, void *arg)
{
    struct run run;
    run.copy = copy;
    run.cie = cie;
    run.initial = initial;
    run.code = fde->instructions;
    run.at = fde->start;
    run.end = fde->end;
    run.state = *initial;
    run.remembered = 0;
    if (!run_all(&run, emit, arg))
        run.state.cfa.valid = false;
    if (run.at < run.end)
        emit(arg, run.at, run.end, &run.state);
}
