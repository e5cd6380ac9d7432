/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions up to a return. On every way from an instruction to a return the stack pointer moves by the same
 * distance, or the function could not return. A call changes x30, so a way past a call that does not return hardly ever
 * comes to a return that it takes for one: the code there belongs to another frame, or finds no x30. A way ends without
 * an answer at jumps to what is in a register, at a write to the stack pointer other than by numbers and from the frame
 * pointer, and at what is no instruction of before Armv8.5.
 */
#include "../return_path.h"

#define STEPS_MAX 1024 /* instructions, on all ways that are tried */
#define WAYS_MAX  16
#define FIRST     PP_REG_X19
#define COUNT     (PP_REG_RA - FIRST + 1)
#define WORD      8

/* Where a register's value is from: a word of the stack, by its place, or one of these. */
enum {
    UNCHANGED,
    LOST,
    FIRST_SP = 0x10000, /* the stack pointer's place at first: no place is near 0 */
};

struct way {
    uintptr_t at;
    uintptr_t linear; /* where it first left the order of the code, or changed what is tracked; 0: not yet */
    unsigned base;    /* places are from what this register, the stack or the frame pointer, first was */
    bool placed;      /* any place is in use */
    int32_t sp;
    struct {
        int32_t from;
        int32_t stored_at, stored_from; /* a place that has this value; 0: none */
    } registers[COUNT];
    unsigned number_in; /* this register has the number, unless 0 */
    int32_t number;
};

struct search {
    struct pp_code *code;
    struct way ways[WAYS_MAX]; /* to be followed */
    unsigned count;
    uint8_t been[STEPS_MAX * 4 / 8]; /* places where ways have been, a bit each, which some share */
};

static bool is_tracked(unsigned number)
{
    return number >= FIRST && number <= PP_REG_RA;
}

static void note_linear(struct way *way)
{
    if (!way->linear)
        way->linear = way->at;
}

/* Puts something else into a register. */
static void change(struct way *way, unsigned number)
{
    if (number == way->number_in)
        way->number_in = 0;
    if (!is_tracked(number))
        return;
    way->registers[number - FIRST].from = LOST;
    note_linear(way);
}

/* Loads a word of the stack into a register. */
static void load(struct way *way, unsigned number, int32_t place)
{
    change(way, number);
    if (!is_tracked(number))
        return;
    if (way->registers[number - FIRST].stored_at == place)
        way->registers[number - FIRST].from = way->registers[number - FIRST].stored_from;
    else if (place >= FIRST_SP)
        way->registers[number - FIRST].from = place;
    way->placed = true;
}

/* Stores a register in a word of the stack. False: no function stores an x30 that is not what it was called with. */
static bool store(struct way *way, unsigned number, int32_t place)
{
    if (!is_tracked(number))
        return true;
    int32_t from = way->registers[number - FIRST].from, *stored_at = &way->registers[number - FIRST].stored_at;
    if (from != LOST && !*stored_at) {
        *stored_at = place;
        way->registers[number - FIRST].stored_from = from;
    } else if (from == LOST && *stored_at == place) {
        *stored_at = 0;
    }
    way->placed = true;
    return from != LOST || number != PP_REG_RA;
}

/* Moves the stack pointer to a distance from itself or from the frame pointer. */
static bool move_stack(struct way *way, unsigned from, int64_t distance)
{
    note_linear(way);
    if (from == PP_REG_FP && way->registers[PP_REG_FP - FIRST].from == UNCHANGED && !way->placed) {
        way->base = PP_REG_FP;
        way->sp = FIRST_SP;
    } else if (from != PP_REG_SP) {
        return false;
    }
    if (distance > INT16_MAX || distance < -INT16_MAX)
        return false;
    way->sp += (int32_t)distance;
    for (unsigned i = 0; i < COUNT; i++)
        if (way->registers[i].stored_at < way->sp) /* taken from the stack */
            way->registers[i].stored_at = 0;
    return way->sp <= FIRST_SP + INT16_MAX && way->sp >= FIRST_SP - INT16_MAX;
}

/* Takes a load or store of one or two registers, `size` bytes each, at `offset` from register `n`. index: whether that
 * register moves by `offset`: 0: no, 1: afterwards, 3: before. */
static bool take_access(struct way *way, uint32_t i, const unsigned registers[2], bool loads, unsigned size,
                        int64_t offset, unsigned index)
{
    unsigned n = i >> 5 & 31;
    bool vectors = i >> 26 & 1, on_stack = n == PP_REG_SP, done = true;
    int32_t at = way->sp + (index == 1 ? 0 : (int32_t)offset);
    if (index && !on_stack)
        change(way, n);
    for (unsigned k = 0; k < 2 && !vectors; k++) {
        bool whole = on_stack && size == WORD;
        int32_t place = at + (int32_t)(k * size);
        if (loads && whole)
            load(way, registers[k], place);
        else if (loads)
            change(way, registers[k]);
        else if (whole)
            done &= store(way, registers[k], place);
    }
    return done && (!index || !on_stack || move_stack(way, n, offset));
}

static bool take_memory(struct way *way, uint32_t i)
{
    unsigned size = i >> 30, registers[2] = {i & 31, PP_REG_SP}, vectors = i >> 26 & 1, index = i >> 10 & 3;
    bool on_stack = (i >> 5 & 31) == PP_REG_SP;
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
    if ((i & 0x3b000000u) == 0x18000000u ||
        (i & 0x3b200c00u) == 0x38200800u) { /* near the code; at a register's distance */
        if (!vectors)
            change(way, i & 31);
        return true;
    }
    if ((i & 0x3e000000u) == 0x0c000000u) /* vectors */
        return !(on_stack && i >> 23 & 1);
    /* exclusive, atomic: all three registers may change */
    for (unsigned at = 0; at <= 16; at += at ? 6 : 10)
        change(way, i >> at & 31);
    return !on_stack;
}

/* Takes what computes with numbers in the instruction. */
static bool take_immediate(struct way *way, uint32_t i)
{
    unsigned to = i & 31, from = i >> 5 & 31, group = i >> 23 & 7;
    if (group == 2 && to == PP_REG_SP && !(i >> 29 & 1)) { /* add, sub */
        int64_t distance = (int64_t)(i >> 10 & 0xfff) << (i >> 22 & 1) * 12;
        return i >> 31 && move_stack(way, from, i >> 30 & 1 ? -distance : distance);
    }
    if ((group == 3 || (group == 4 && (i >> 29 & 3) != 3)) && to == PP_REG_SP)
        return false;
    change(way, to);
    if ((i & 0xffe00000u) == 0xd2800000u) { /* movz Xd, #number */
        way->number_in = to;
        way->number = (int32_t)(i >> 5 & 0xffff);
    }
    return true;
}

/* Takes what computes with registers. */
static bool take_computation(struct way *way, uint32_t i)
{
    unsigned to = i & 31, m = i >> 16 & 31;
    if ((i & 0x1fe00000u) == 0x0b200000u && to == PP_REG_SP && !(i >> 29 & 1)) /* add, sub with sp */
        return (i & 0xbfe0fc00u) == 0x8b206000u && m && m == way->number_in &&
               move_stack(way, i >> 5 & 31, i >> 30 & 1 ? -way->number : way->number);
    change(way, to);
    return true;
}

/* Whether a vector instruction may change a general register: conversions, moves of an element. */
static bool from_vector(uint32_t i)
{
    return ((i & 0x5f000000u) == 0x1e000000u && !(i >> 21 & 1 && i >> 10 & 63)) || (i & 0xbfe0ec00u) == 0x0e002c00u;
}

enum outcome { GOES_ON, ENDS, RETURNS };

/* Takes branches, and what the system does. */
static enum outcome take_branch(struct search *search, struct way *way, uint32_t i, const uint8_t *code)
{
    uintptr_t target = pp_jump_target(code, way->at);
    if ((i & 0xffc00000u) == 0xd5000000u) {
        if (i >> 21 & 1)
            change(way, i & 31);
        return GOES_ON;
    }
    if (i == PP_CODE_SVC_0)
        return GOES_ON;
    note_linear(way);
    if (i == PP_CODE_RET || (i & 0xfffffbffu) == PP_CODE_RETAA)
        return RETURNS;
    if (target && (i & 0xfc000000u) == 0x14000000u) {
        way->at = target - sizeof i;
    } else if (target) {
        if (search->count < WAYS_MAX) {
            search->ways[search->count] = *way;
            search->ways[search->count++].at = target;
        }
    } else if ((i & 0xfc000000u) == 0x94000000u || (i & 0xfffffc1fu) == 0xd63f0000u) {
        change(way, PP_REG_RA);
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
    bool passes = false;
    if (group >> 1 == 5)
        return take_branch(search, way, i, code);
    if (group >> 1 == 4)
        passes = take_immediate(way, i);
    else if ((group & 5) == 4)
        passes = take_memory(way, i);
    else if ((group & 7) == 5)
        passes = take_computation(way, i);
    else if ((group & 7) == 7) {
        if (from_vector(i))
            change(way, i & 31);
        passes = true;
    }
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

/* Describes where all is that the way has restored; false if that is not a frame. */
static bool describe(struct pp_return_path *path, const struct way *way, uintptr_t at)
{
    *path = (struct pp_return_path){
        .size = (uint32_t)(way->linear + 1 - at), .cfa_register = (uint8_t)way->base, .cfa_offset = way->sp - FIRST_SP};
    for (unsigned i = 0; i < COUNT; i++) {
        int32_t from = way->registers[i].from;
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
static bool agree(const struct pp_return_path *a, const struct pp_return_path *b)
{
    bool same = a->cfa_register == b->cfa_register && a->cfa_offset == b->cfa_offset;
    for (uint64_t left = a->saved & b->saved; left; left &= left - 1)
        same &= a->at[__builtin_ctzll(left)] == b->at[__builtin_ctzll(left)];
    return same;
}

bool pp_return_path(struct pp_code *code, uintptr_t at, struct pp_return_path *path)
{
    struct search search = {.code = code, .ways = {{.at = at, .base = PP_REG_SP, .sp = FIRST_SP}}, .count = 1};
    bool found = false;
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
