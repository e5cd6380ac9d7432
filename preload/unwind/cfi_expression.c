/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates DWARF expressions in CFI symbolically: those that compilers and hand-written assembly use for stack
 * addresses have one base register, at most one scaled index, and at most one dereference. */
#include "cfi.h"

#define STACK_DEPTH 8
#define MAX_SHIFT   6

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
};

#define NONE 0xff

/* *(base + index << shift + offset) + addend; without base and index, the constant `addend`. */
struct value {
    uint8_t base, index, shift;
    bool deref;
    int64_t offset, addend;
};

static bool is_constant(const struct value *v)
{
    return v->base == NONE && v->index == NONE && !v->deref;
}

static bool is_scaled(const struct value *v)
{
    return v->base == NONE && v->index != NONE && !v->deref;
}

/* Constants stay far from overflow: no stack offset comes near. */
static bool is_sane(int64_t n)
{
    return n > -(INT64_C(1) << 40) && n < INT64_C(1) << 40;
}

static bool add(struct value *a, const struct value *b)
{
    if (is_constant(a)) {
        struct value t = *a;
        *a = *b;
        a->addend += t.addend;
    } else if (is_constant(b)) {
        a->addend += b->addend;
    } else if (!a->deref && !b->deref && a->base != NONE && a->index == NONE) {
        /* base + scaled, or base + base: the second operand becomes the index */
        if (is_scaled(b)) {
            a->index = b->index;
            a->shift = b->shift;
        } else if (b->index == NONE) {
            a->index = b->base;
            a->shift = 0;
        } else {
            return false;
        }
        a->addend += b->addend;
    } else {
        return false;
    }
    return is_sane(a->addend);
}

static bool shift_left(struct value *a, int64_t by)
{
    if (by < 0 || by > MAX_SHIFT || a->deref)
        return false;
    if (is_constant(a)) {
        a->addend = (int64_t)((uint64_t)a->addend << by);
        return is_sane(a->addend);
    }
    if (a->index != NONE || a->addend != 0)
        return false;
    a->index = a->base;
    a->base = NONE;
    a->shift = (uint8_t)by;
    return true;
}

static bool multiply(struct value *a, int64_t by)
{
    if (by <= 0 || by & (by - 1))
        return false;
    return shift_left(a, __builtin_ctzll((uint64_t)by));
}

static bool binary(uint8_t op, struct value *a, const struct value *b)
{
    switch (op) {
    case OP_PLUS:
        return add(a, b);
    case OP_MINUS:
        a->addend -= b->addend;
        return is_constant(b) && is_sane(a->addend);
    case OP_MUL:
        return is_constant(b) && multiply(a, b->addend);
    case OP_SHL:
        return is_constant(b) && shift_left(a, b->addend);
    default:
        return false;
    }
}

static bool push(struct pp_bytes *b, uint8_t op, struct value *v)
{
    *v = (struct value){.base = NONE, .index = NONE};
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        v->addend = op - OP_LIT0;
    } else if (op >= OP_BREG0 && op <= OP_BREG31) {
        v->base = op - OP_BREG0;
        v->addend = pp_bytes_sleb(b);
    } else if (op == OP_BREGX) {
        uint64_t reg = pp_bytes_uleb(b);
        v->base = reg < PP_REG_COUNT ? (uint8_t)reg : NONE;
        v->addend = pp_bytes_sleb(b);
        if (v->base == NONE)
            return false;
    } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
        unsigned size = 1u << ((op - OP_CONST1U) / 2);
        v->addend = (op - OP_CONST1U) % 2 ? pp_bytes_signed(b, size) : (int64_t)pp_bytes_unsigned(b, size);
    } else if (op == OP_CONSTU) {
        v->addend = (int64_t)pp_bytes_uleb(b);
    } else if (op == OP_CONSTS) {
        v->addend = pp_bytes_sleb(b);
    } else {
        return false;
    }
    return !b->failed && is_sane(v->addend);
}

static bool evaluate(struct pp_bytes b, struct value *result)
{
    struct value stack[STACK_DEPTH];
    unsigned depth = 0;
    while (pp_bytes_left(&b)) {
        uint8_t op = (uint8_t)pp_bytes_unsigned(&b, 1);
        struct value *top = depth ? &stack[depth - 1] : NULL;
        if (op == OP_DEREF) {
            if (!top || top->deref)
                return false;
            top->deref = true;
            top->offset = top->addend;
            top->addend = 0;
        } else if (op == OP_PLUS_UCONST) {
            uint64_t n = pp_bytes_uleb(&b);
            if (!top || !is_sane((int64_t)n))
                return false;
            top->addend += (int64_t)n;
            if (!is_sane(top->addend))
                return false;
        } else if (op == OP_PLUS || op == OP_MINUS || op == OP_MUL || op == OP_SHL) {
            if (depth < 2 || !binary(op, &stack[depth - 2], top))
                return false;
            depth--;
        } else {
            if (depth == STACK_DEPTH || !push(&b, op, &stack[depth]))
                return false;
            depth++;
        }
    }
    if (b.failed || depth != 1)
        return false;
    *result = stack[0];
    return true;
}

bool pp_cfi_expression(struct pp_bytes expression, struct pp_cfi_address *out)
{
    uint8_t plt = pp_plt_expression(expression.at, pp_bytes_left(&expression));
    if (plt) {
        *out = (struct pp_cfi_address){
            .valid = true, .base = PP_REG_SP, .index = PP_CFI_NO_INDEX, .offset = PP_PLT_CFA_OFFSET, .plt = plt};
        return true;
    }
    struct value v;
    if (!evaluate(expression, &v) || v.base == NONE || v.base >= PP_REG_COUNT)
        return false;
    if (v.index != NONE && v.index >= PP_REG_COUNT)
        return false;
    if (!v.deref) {
        v.offset = v.addend;
        v.addend = 0;
    }
    if (v.offset != (int32_t)v.offset || v.addend != (int32_t)v.addend)
        return false;
    *out = (struct pp_cfi_address){
        .valid = true,
        .deref = v.deref,
        .base = v.base,
        .index = v.index,
        .shift = v.shift,
        .offset = (int32_t)v.offset,
        .addend = (int32_t)v.addend,
    };
    return true;
}
