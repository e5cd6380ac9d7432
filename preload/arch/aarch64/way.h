/* SPDX-License-Identifier: Apache-2.0 */
/* Notes what instructions do with the stack pointer and the registers that a function gives back as they were, on a way
 * that return_path.c follows. */
#ifndef PP_ARCH_AARCH64_WAY_H
#define PP_ARCH_AARCH64_WAY_H

#include "../return_path.h"

#define FIRST PP_REG_X19
#define COUNT (PP_REG_RA - FIRST + 1)
#define WORD  8

/* Where a register's value is from: a word of the stack, by its place, or one of these. */
enum {
    UNCHANGED,
    LOST,
    FIRST_SP = 0x10000, /* the stack pointer's place at first: no place is near 0 */
    FIRST_FP = 0x40000, /* what the frame pointer first pointed to, up to the end, which tells where that is … */
    FROM_FP = 0x30000,  /* … all from here on are places from there */
};

/* What has become of a register. */
struct kept {
    int32_t from;
    int32_t stored_at, stored_from; /* a place that has this value; 0: none */
};

struct way {
    uintptr_t at;
    uintptr_t linear; /* where it first left the order of the code, or changed what is tracked; 0: not yet */
    unsigned base;    /* places are from what this register, the stack or the frame pointer, first was */
    int32_t sp, fp;   /* what they point to; fp 0: not known */
    struct kept registers[COUNT];
    bool elsewhere;         /* x30 was stored by another register than sp, so a load may be of that */
    int32_t numbers[FIRST]; /* one more than what is in x0 and so on; 0: not known */
};

static inline struct way first_way(uintptr_t at)
{
    return (struct way){.at = at, .base = PP_REG_SP, .sp = FIRST_SP, .fp = FIRST_FP};
}

/* Returns NULL for a register that a function may leave changed. */
static inline struct kept *kept_of(struct way *way, unsigned number)
{
    return number >= FIRST && number <= PP_REG_RA ? &way->registers[number - FIRST] : NULL;
}

static inline void note_linear(struct way *way)
{
    if (!way->linear)
        way->linear = way->at;
}

/* Puts something else into a register. */
static inline void change(struct way *way, unsigned number)
{
    struct kept *kept = kept_of(way, number);
    if (number < FIRST)
        way->numbers[number] = 0;
    if (number == PP_REG_FP)
        way->fp = 0;
    if (!kept)
        return;
    kept->from = LOST;
    note_linear(way);
}

/* Loads a word of the stack into a register. */
static inline void load(struct way *way, unsigned number, int32_t place)
{
    struct kept *kept = kept_of(way, number);
    change(way, number);
    if (!kept)
        return;
    if (kept->stored_at == place)
        kept->from = kept->stored_from;
    else if (place >= FIRST_SP && !(number == PP_REG_RA && way->elsewhere))
        kept->from = place;
}

/* Stores a register in a word of the stack. False: no function stores an x30 that is not what it was called with. */
static inline bool store(struct way *way, unsigned number, int32_t place)
{
    struct kept *kept = kept_of(way, number);
    if (!kept)
        return true;
    if (kept->from == LOST)
        kept->stored_at = kept->stored_at == place ? 0 : kept->stored_at;
    else if (!kept->stored_at)
        *kept = (struct kept){kept->from, place, kept->from};
    return kept->from != LOST || number != PP_REG_RA;
}

/* Has places be from what the frame pointer points to: how far from others that is cannot be told. */
static inline void base_on_frame(struct way *way)
{
    way->base = PP_REG_FP;
    way->sp = way->fp = FIRST_SP;
    for (unsigned i = 0; i < COUNT; i++) {
        struct kept *kept = &way->registers[i];
        if (kept->from >= FIRST_SP && kept->from < FROM_FP)
            kept->from = LOST;
        kept->stored_at = 0;
    }
}

/* Moves the stack pointer to a distance from itself or from the frame pointer. */
static inline bool move_stack(struct way *way, unsigned from, int64_t distance)
{
    note_linear(way);
    if (from == PP_REG_FP && way->fp == FIRST_FP)
        base_on_frame(way);
    else if (from == PP_REG_FP && way->fp)
        way->sp = way->fp;
    else if (from != PP_REG_SP)
        return false;
    if (distance > INT16_MAX || distance < -INT16_MAX)
        return false;
    way->sp += (int32_t)distance;
    for (unsigned i = 0; i < COUNT; i++)
        if (way->registers[i].stored_at < way->sp) /* taken from the stack */
            way->registers[i].stored_at = 0;
    return way->sp <= FIRST_SP + INT16_MAX && way->sp >= FIRST_SP - INT16_MAX;
}

/* Takes the frame pointer to point to a place of the stack. */
static inline void point_to_frame(struct way *way, int64_t distance)
{
    change(way, PP_REG_FP);
    if (distance >= -INT16_MAX && distance <= INT16_MAX)
        way->fp = way->sp + (int32_t)distance;
}

/* Returns the place that a register was restored from, by what the ABI says of a frame pointer: its function restores
 * it from where it points to. LOST: that is not known. */
static inline int32_t restored_from(const struct way *way, int32_t from)
{
    int32_t frame = way->base == PP_REG_FP ? FIRST_SP : way->registers[PP_REG_FP - FIRST].from;
    if (from < FROM_FP)
        return from;
    from += frame - FIRST_FP;
    return frame >= FIRST_SP && frame < FROM_FP && from >= FIRST_SP ? from : LOST;
}

/* Describes where all is that the way has restored; false if that is not a frame. */
static inline bool describe(struct pp_return_path *path, const struct way *way, uintptr_t at)
{
    *path = (struct pp_return_path){
        .size = (uint32_t)(way->linear + 1 - at), .cfa_register = (uint8_t)way->base, .cfa_offset = way->sp - FIRST_SP};
    for (unsigned i = 0; i < COUNT; i++) {
        int32_t from = restored_from(way, way->registers[i].from);
        if (from == LOST || from > way->sp - WORD)
            return false;
        if (from != UNCHANGED) {
            path->saved |= 1u << (FIRST + i);
            path->at[FIRST + i] = (int16_t)(from - way->sp);
        }
    }
    return way->sp >= FIRST_SP;
}

/* Whether the ends of two ways tell of one frame. */
static inline bool agree(const struct pp_return_path *a, const struct pp_return_path *b)
{
    bool same = a->cfa_register == b->cfa_register && a->cfa_offset == b->cfa_offset;
    for (uint64_t left = a->saved & b->saved; left; left &= left - 1)
        same &= a->at[__builtin_ctzll(left)] == b->at[__builtin_ctzll(left)];
    return same;
}

#endif
