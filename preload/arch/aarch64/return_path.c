/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions up to a return. On every way from an instruction to a return the stack pointer moves by the same
 * distance, or the function could not return. A call changes x30, so a way past a call that does not return hardly ever
 * comes to a return that it takes for one: the code there belongs to another frame, or finds no x30. A way ends without
 * an answer at jumps to what is in a register, at a write to the stack pointer other than by numbers and from the frame
 * pointer, at what is no instruction of before Armv8.5, at a system call that ends the thread, and at a call of what
 * pushes or pops for its caller. Assembly restores registers by the frame pointer, too: until the way changes that, it
 * points to where it is restored from, as the ABI has it.
 */
#include "../return_path.h"
#include "way.h"
#include <sys/syscall.h>

#define STEPS_MAX       2048 /* instructions, on all ways that are tried */
#define STEPS_OF_CALLEE 256
#define WAYS_MAX        16

struct search {
    struct pp_code *code;
    struct way ways[WAYS_MAX]; /* to be followed */
    unsigned count;
    bool of_callee;                  /* for keeps_stack */
    uint8_t been[STEPS_MAX * 4 / 8]; /* places where ways have been, a bit each, which some share */
};

/* Takes a load or store of one or two registers, `size` bytes each, at `offset` from register `n`. index: whether that
 * register moves by `offset`: 0: no, 1: afterwards, 3: before. */
static bool take_access(struct way *way, uint32_t i, const unsigned registers[2], bool loads, unsigned size,
                        int64_t offset, unsigned index)
{
    unsigned n = i >> 5 & 31;
    bool vectors = i >> 26 & 1, on_stack = n == PP_REG_SP, done = true;
    bool on_frame = n == PP_REG_FP && way->fp && loads && !index;
    int32_t at = (on_frame ? way->fp : way->sp) + (index == 1 ? 0 : (int32_t)offset);
    if (index && !on_stack)
        change(way, n);
    for (unsigned k = 0; k < 2 && !vectors; k++) {
        bool whole = (on_stack || on_frame) && size == WORD;
        int32_t place = at + (int32_t)(k * size);
        if (loads && whole)
            load(way, registers[k], place);
        else if (loads)
            change(way, registers[k]);
        else if (whole)
            done &= store(way, registers[k], place);
        else if (registers[k] == PP_REG_RA)
            way->elsewhere = true;
    }
    return done && (!index || !on_stack || move_stack(way, n, offset));
}

static bool take_memory(struct way *way, uint32_t i)
{
    unsigned size = i >> 30, registers[2] = {i & 31, PP_REG_SP}, vectors = i >> 26 & 1, index = i >> 10 & 3;
    bool on_stack = (i >> 5 & 31) == PP_REG_SP;
    if ((i & 0xfc400000u) == 0x68000000u) /* stgp, of Armv8.5 */
        return false;
    if ((i & 0x3a000000u) == 0x28000000u) { /* pairs */
        unsigned bytes = vectors ? 4u << size : size == 2 ? 8 : 4;
        registers[1] = i >> 10 & 31;
        return take_access(way, i, registers, i >> 22 & 1, bytes, pp_signed_field(i, 15, 7) * bytes,
                           i >> 23 & 1 ? i >> 23 & 3 : 0);
    }
    bool loads = i >> 22 & 3;
    if ((i & 0xffc00000u) == 0xf9800000u) /* prefetch */
        return true;
    if ((i & 0x3b000000u) == 0x39000000u) /* at a distance that is no negative number */
        return take_access(way, i, registers, loads, 1u << size, (int64_t)(i >> 10 & 0xfff) << size, 0);
    if ((i & 0x3b200000u) == 0x38000000u) /* at any distance */
        return take_access(way, i, registers, loads, 1u << size, pp_signed_field(i, 12, 9), index == 2 ? 0 : index);
    /* near the code; at a register's distance */
    if ((i & 0x3b000000u) == 0x18000000u || (i & 0x3b200c00u) == 0x38200800u) {
        if (!vectors)
            change(way, i & 31);
        return true;
    }
    if ((i & 0x3e000000u) == 0x0c000000u) { /* vectors */
        if (i >> 23 & 1)
            change(way, i >> 5 & 31);
        return !(on_stack && i >> 23 & 1);
    }
    /* exclusive, atomic: all three registers may change */
    for (unsigned at = 0; at <= 16; at += at ? 6 : 10)
        change(way, i >> at & 31);
    return !on_stack;
}

/* Takes what computes with numbers in the instruction. */
static bool take_immediate(struct way *way, uint32_t i)
{
    unsigned to = i & 31, from = i >> 5 & 31, group = i >> 23 & 7;
    if (group == 2 && !(i >> 29 & 1)) { /* add, sub */
        int64_t number = (int64_t)(i >> 10 & 0xfff) << (i >> 22 & 1) * 12, distance = i >> 30 & 1 ? -number : number;
        if (to == PP_REG_SP)
            return i >> 31 && move_stack(way, from, distance);
        if (to == PP_REG_FP && from == PP_REG_SP && i >> 31) {
            point_to_frame(way, distance);
            return true;
        }
    }
    if ((group == 3 || (group == 4 && (i >> 29 & 3) != 3)) && to == PP_REG_SP)
        return false;
    change(way, to);
    if ((i & 0x7fe00000u) == 0x52800000u && to < FIRST) /* mov to, #number */
        way->numbers[to] = 1 + (int32_t)(i >> 5 & 0xffff);
    return true;
}

/* Takes what computes with registers. */
static bool take_computation(struct way *way, uint32_t i)
{
    unsigned to = i & 31, m = i >> 16 & 31;
    if ((i & 0x1fe00000u) == 0x0b200000u && to == PP_REG_SP && !(i >> 29 & 1)) /* add, sub with sp */
        return (i & 0xbfe0fc00u) == 0x8b206000u && m < FIRST && way->numbers[m] &&
               move_stack(way, i >> 5 & 31, i >> 30 & 1 ? 1 - way->numbers[m] : way->numbers[m] - 1);
    change(way, to);
    return true;
}

/* Takes what computes with vectors: conversions and moves of an element may change a general register. */
static bool take_vector(struct way *way, uint32_t i)
{
    if (((i & 0x5f000000u) == 0x1e000000u && !(i >> 21 & 1 && i >> 10 & 63)) || (i & 0xbfe0ec00u) == 0x0e002c00u)
        change(way, i & 31);
    return true;
}

enum outcome { GOES_ON, ENDS, RETURNS };

static bool keeps_stack(const struct search *caller, uintptr_t function);

/* Takes branches, and what the system does. */
static enum outcome take_branch(struct search *search, struct way *way, uint32_t i, const uint8_t *code)
{
    uintptr_t target = pp_jump_target(code, way->at), called = pp_call_target(code, way->at);
    if ((i & 0xffc00000u) == 0xd5000000u) {
        if (i >> 21 & 1)
            change(way, i & 31);
        return GOES_ON;
    }
    if (i == PP_CODE_SVC_0)
        return way->numbers[8] == 1 + SYS_exit || way->numbers[8] == 1 + SYS_exit_group ? ENDS : GOES_ON;
    note_linear(way);
    if (i == PP_CODE_RET || (i & 0xfffffbffu) == PP_CODE_RETAA ||
        (search->of_callee && (i & ~0x3e0u) == PP_CODE_RET_BY))
        return RETURNS;
    if (target && (i & 0xfc000000u) == 0x14000000u) {
        way->at = target - sizeof i;
    } else if (target) {
        if (search->count < WAYS_MAX) {
            search->ways[search->count] = *way;
            search->ways[search->count++].at = target;
        }
    } else if (called || (i & 0xfffffc1fu) == 0xd63f0000u) {
        change(way, PP_REG_RA);
        if (called && !search->of_callee && !keeps_stack(search, called))
            return ENDS;
    } else {
        return ENDS;
    }
    return GOES_ON;
}

/* Takes the way past the instruction that it is at. */
static enum outcome take(struct search *search, struct way *way, const uint8_t *code)
{
    uint32_t i = pp_instruction(code);
    unsigned group = i >> 25 & 15;
    if (group >> 1 == 5)
        return take_branch(search, way, i, code);
    bool passes = group >> 1 == 4    ? take_immediate(way, i)
                  : (group & 5) == 4 ? take_memory(way, i)
                  : (group & 7) == 5 ? take_computation(way, i)
                                     : (group & 7) == 7 && take_vector(way, i);
    return passes ? GOES_ON : ENDS;
}

/* Whether a way comes to a place for the first time. On others to it the stack pointer has moved by as much. */
static bool is_first(struct search *search, uintptr_t at)
{
    uint8_t *byte = &search->been[at / 32 % sizeof search->been], bit = (uint8_t)(1u << at / 4 % 8);
    bool first = !(*byte & bit);
    *byte |= bit;
    return first;
}

/* Follows a way to its return. */
static bool follow(struct search *search, struct way *way, unsigned *steps)
{
    for (; *steps < STEPS_MAX && is_first(search, way->at); ++*steps, way->at += 4) {
        const uint8_t *code = pp_code_at(search->code, way->at, 4);
        enum outcome outcome = code ? take(search, way, code) : ENDS;
        if (outcome != GOES_ON)
            return outcome == RETURNS;
    }
    return false;
}

/* Whether a function that is called returns with the stack pointer that it began with. True also if that cannot be
 * told, and of what it calls itself, so that this ends. */
static bool keeps_stack(const struct search *caller, uintptr_t function)
{
    struct pp_code code = {.start = caller->code->start, .end = caller->code->end, .read = caller->code->read};
    struct search search = {.code = &code, .ways = {first_way(function)}, .count = 1, .of_callee = true};
    for (unsigned steps = STEPS_MAX - STEPS_OF_CALLEE; search.count;) {
        struct way way = search.ways[--search.count];
        if (follow(&search, &way, &steps) && way.registers[PP_REG_RA - FIRST].from != LOST)
            return way.base == PP_REG_SP && way.sp == FIRST_SP;
    }
    return true;
}

bool pp_return_path(struct pp_code *code, uintptr_t at, struct pp_return_path *path)
{
    struct search search = {.code = code, .ways = {first_way(at)}, .count = 1};
    bool found = false;
    if (at % sizeof(uint32_t))
        return false;
    for (unsigned steps = 0; search.count;) {
        struct way way = search.ways[--search.count];
        struct pp_return_path other;
        if (!follow(&search, &way, &steps) || !describe(&other, &way, at))
            continue;
        if (found && !agree(&other, path))
            return false;
        *path = other;
        found = true;
    }
    return found;
}

bool pp_is_restorer(const uint8_t code[PP_RESTORER_SIZE])
{
    (void)code; /* pp_undescribed knows it */
    return false;
}
