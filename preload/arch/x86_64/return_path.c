/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions up to a return. On every way from an instruction to a return the stack pointer moves by the same
 * distance, or the function could not return: one way that is decoded whole tells where the return address is. What is
 * called is decoded up to its return, too, as a function that does not return says nothing of its caller. A way ends
 * without an answer at calls of what is not known here, at a write to the stack pointer other than by pop and add (in
 * what is called also push and sub), and at instructions that are not in the tables.
 */
#include "../return_path.h"
#include <string.h>

#define STEPS_MAX       1024 /* instructions, on all ways that are tried */
#define STEPS_OF_WAY    128  /* loops do not end */
#define WAYS_MAX        8
#define CALLS_MAX       3  /* within each other */
#define INSTRUCTION_MAX 15 /* bytes */
/* Registers as instructions number them; DWARF's numbers differ for the first eight. */
#define SP           4
#define FP           5
#define WORD         8
#define CALLEE_SAVED (1u << 3 | 1u << FP | 0xf000u)

/*
 * What follows an opcode, 16 opcodes a line. m: a ModRM byte; b: 1 byte; z: 4 bytes, or 2 after the prefix 66; B and Z:
 * a ModRM byte, then these; p: nothing; '.': the way ends here.
 */
static const char one_byte[] = "mmmmbz..mmmmbz.."   /* 00: add, or */
                               "mmmmbz..mmmmbz.."   /* 10 */
                               "mmmmbz..mmmmbz.."   /* 20 */
                               "mmmmbz..mmmmbz.."   /* 30 */
                               "................"   /* 40 */
                               "pppppppppppppppp"   /* 50: push, pop */
                               "...m.....Z.B...."   /* 60: movslq, imul */
                               "bbbbbbbbbbbbbbbb"   /* 70: jcc */
                               "BZ.Bmmmmmmmm.m.."   /* 80: mov, lea */
                               "p.......pp......"   /* 90 */
                               "....ppppbzpppppp"   /* a0: movs, stos */
                               "bbbbbbbbzzzzzzzz"   /* b0: mov */
                               "BB.p..BZ........"   /* c0: ret */
                               "mmmm....mmmmmmmm"   /* d0: shifts, x87 */
                               "........zz.b...."   /* e0: call, jmp */
                               ".....pmmpp..ppmm";  /* f0 */
static const char two_bytes[] = ".....p.......m.."  /* 0f 00: syscall, prefetch */
                                "mmmmmmmmmmmmmmmm"  /* 0f 10 */
                                "........mmmmmmmm"  /* 0f 20 */
                                ".p.............."  /* 0f 30: rdtsc */
                                "mmmmmmmmmmmmmmmm"  /* 0f 40: cmov */
                                "mmmmmmmmmmmmmmmm"  /* 0f 50 */
                                "mmmmmmmmmmmmmmmm"  /* 0f 60 */
                                "BBBBmmmp....mmmm"  /* 0f 70 */
                                "zzzzzzzzzzzzzzzz"  /* 0f 80: jcc */
                                "mmmmmmmmmmmmmmmm"  /* 0f 90: setcc */
                                "...mBm.....mBmmm"  /* 0f a0 */
                                "mm.m..mmm.Bmmmmm"  /* 0f b0: cmpxchg, movz, bsf */
                                "mmBmBBBmpppppppp"  /* 0f c0: xadd, bswap */
                                "mmmmmmmmmmmmmmmm"  /* 0f d0 */
                                "mmmmmmmmmmmmmmmm"  /* 0f e0 */
                                "mmmmmmmmmmmmmmm."; /* 0f f0 */

struct instruction {
    enum kind { UNKNOWN, OTHER, JUMP, BRANCH, CALL, RETURN, POP, ADD, PUSH } kind;
    unsigned size;
    int32_t value;    /* jump, call: distance; pop: register; add, push: what the stack pointer moves by */
    uint32_t touched; /* registers that it may change, and some that it reads */
};

struct way {
    uintptr_t at;
    uintptr_t linear; /* where it first left the order of the code, or moved the stack pointer; 0: not yet */
    int32_t depth;    /* what it has taken from the stack */
    uint32_t touched, popped;
    int32_t popped_at[16];
    unsigned calls; /* it is within so many calls */
    struct call {
        uintptr_t returns_to;
        int32_t depth;
        uint32_t touched; /* before it: what is called restores the registers that it uses */
    } called[CALLS_MAX];
};

/* Returns the size of a ModRM byte with what belongs to it. */
static unsigned modrm_size(const uint8_t *modrm)
{
    unsigned mode = modrm[0] >> 6, rm = modrm[0] & 7;
    if (mode == 3)
        return 1;
    unsigned size = rm == SP ? 2 : 1;
    if (mode == 1)
        return size + 1;
    return mode == 2 || (rm == SP ? modrm[1] & 7 : rm) == FP ? size + 4 : size;
}

/* Whether ModRM's fields are general registers: in the second map most are not. */
static bool has_general_reg(unsigned opcode)
{
    return opcode < 0x100
               ? opcode < 0xd8
               : (opcode & 0xf0) == 0x40 || (opcode >= 0x190 && opcode < 0x1c2) || opcode == 0x12c || opcode == 0x12d ||
                     opcode == 0x150 || opcode == 0x1c5 || opcode == 0x1d7 || opcode == 0x1c7;
}

static bool has_general_rm(unsigned opcode)
{
    return opcode < 0x100 ? opcode < 0xd8 || opcode >= 0xe0
                          : (opcode & 0xf0) == 0x40 || (opcode >= 0x190 && opcode < 0x1c2) || opcode == 0x12a ||
                                opcode == 0x16e || opcode == 0x17e || opcode == 0x1c4 || opcode == 0x1c7;
}

/* Of a register, in a mask. */
static uint32_t bit_of(unsigned number)
{
    return 1u << number;
}

/* Whether ModRM's middle field is an opcode. */
static bool is_group(unsigned opcode)
{
    return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
           (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

/* Decodes what ModRM says. *form: that of the opcode, changed to what follows ModRM. */
static void decode_modrm(struct instruction *i, const uint8_t *modrm, unsigned opcode, unsigned rex, char *form)
{
    unsigned middle = modrm[0] >> 3 & 7, reg = middle | (rex & 4) << 1, rm = (modrm[0] & 7) | (rex & 1) << 3;
    bool direct = modrm[0] >> 6 == 3, group = is_group(opcode);
    if ((opcode == 0xf6 || opcode == 0xf7) && middle < 2)
        *form = opcode == 0xf6 ? 'B' : 'Z';
    if ((opcode >= 0xfe && opcode <= 0xff && middle > 1) || ((opcode == 0xc6 || opcode == 0xc7) && middle))
        i->kind = UNKNOWN; /* calls, jumps to what is read, pushes, transactions */
    if (!group && has_general_reg(opcode))
        i->touched |= bit_of(reg);
    if (direct && has_general_rm(opcode))
        i->touched |= bit_of(rm);
    if ((opcode == 0x81 || opcode == 0x83) && direct && rm == SP && (middle == 0 || middle == 5) && rex & 8)
        i->kind = middle ? PUSH : ADD;
}

/* Decodes an opcode without ModRM. */
static void decode_plain(struct instruction *i, unsigned opcode, unsigned rex)
{
    unsigned low = (opcode & 7) | (rex & 1) << 3;
    if (opcode == 0xc3)
        i->kind = RETURN;
    else if (opcode == 0xe8)
        i->kind = CALL;
    else if (opcode == 0xeb || opcode == 0xe9)
        i->kind = JUMP;
    else if ((opcode & 0x1f0) == 0x70 || (opcode & 0x1f0) == 0x180)
        i->kind = BRANCH;
    else if ((opcode & 0x1f8) == 0x50)
        *i = (struct instruction){.kind = PUSH, .value = WORD};
    else if ((opcode & 0x1f8) == 0x58)
        *i = (struct instruction){POP, 0, (int32_t)low, bit_of(low)};
    else if ((opcode & 0x1f0) == 0xb0 || (opcode & 0x1f8) == 0x1c8)
        i->touched = bit_of(low);
}

static int32_t immediate(const uint8_t *at, unsigned size)
{
    int32_t value = 0;
    memcpy(&value, at, size == sizeof value ? size : 0);
    return size == 1 ? (int8_t)at[0] : value;
}

/* Decodes an instruction of at most INSTRUCTION_MAX bytes. */
static struct instruction decode(const uint8_t *code)
{
    struct instruction i = {.kind = OTHER};
    unsigned at = 0, rex = 0;
    bool narrow = false;
    for (; at < 4 && memchr("\x66\x2e\x3e\x64\xf0\xf2\xf3", code[at], 7); at++)
        narrow |= code[at] == 0x66;
    if ((code[at] & 0xf0) == 0x40)
        rex = code[at++];
    unsigned opcode = code[at++];
    if (opcode == 0x0f)
        opcode = 0x100 | code[at++];
    char form = opcode < 0x100 ? one_byte[opcode] : two_bytes[opcode & 0xff];
    if (strchr("mBZ", form)) {
        unsigned modrm = at;
        at += modrm_size(code + at);
        decode_modrm(&i, code + modrm, opcode, rex, &form);
    } else {
        decode_plain(&i, opcode, rex);
    }
    unsigned size = form == 'b' || form == 'B' ? 1 : form == 'z' || form == 'Z' ? narrow ? 2 : 4 : 0;
    if ((opcode & 0x1f8) == 0xb8 && rex & 8)
        size = 8;
    if (size && i.kind != OTHER)
        i.value = immediate(code + at, size);
    i.size = at + size;
    bool sums = size && (i.kind == ADD || i.kind == PUSH);
    if (form == '.' || (i.touched & bit_of(SP) && !sums) || (narrow && i.kind != OTHER) || (sums && i.value < 0))
        i.kind = UNKNOWN;
    return i;
}

static void note_linear(struct way *way, uintptr_t at)
{
    if (!way->linear)
        way->linear = at;
}

static bool take_call(struct way *way, uintptr_t target)
{
    if (way->calls == CALLS_MAX)
        return false;
    way->called[way->calls++] = (struct call){way->at, way->depth, way->touched};
    way->depth -= WORD;
    way->at = target;
    return true;
}

static bool take_return(struct way *way)
{
    if (!way->calls)
        return true;
    const struct call *call = &way->called[--way->calls];
    way->depth += WORD;
    way->at = call->returns_to;
    way->touched = call->touched;
    return way->depth == call->depth;
}

/* Moves the stack pointer as the instruction does. */
static bool take_stack(struct way *way, const struct instruction *i)
{
    if (i->kind == PUSH) {
        way->depth -= i->value;
        return way->calls && way->depth >= -INT16_MAX;
    }
    if (i->kind == POP && !way->calls) {
        way->touched &= ~i->touched;
        way->popped |= i->touched;
        way->popped_at[i->value] = way->depth;
    }
    way->depth += i->kind == POP ? WORD : i->value;
    return way->depth <= INT16_MAX;
}

/* Takes the way, which is at this instruction, to the next one. *other: the way that a branch may take, too. False: it
 * ends. */
static bool take(struct way *way, const struct instruction *i, struct way *other)
{
    uintptr_t start = way->at, target = start + i->size + (uintptr_t)(intptr_t)i->value;
    way->at += i->size;
    way->touched |= i->touched;
    switch (i->kind) {
    case UNKNOWN:
        return false;
    case OTHER:
        return true;
    case BRANCH:
        *other = *way;
        other->at = target;
        note_linear(other, start);
        return true;
    case JUMP:
        way->at = target;
        note_linear(way, start);
        return true;
    case CALL:
        note_linear(way, start);
        return take_call(way, target);
    case RETURN:
        note_linear(way, start);
        return take_return(way);
    default:
        note_linear(way, start);
        return take_stack(way, i);
    }
}

/* Follows a way to its return. Those that branch off are added to the others. */
static bool follow(struct pp_code *code, struct way *way, struct way *others, unsigned *count, unsigned *steps)
{
    for (unsigned last = *steps + STEPS_OF_WAY; *steps < STEPS_MAX && *steps < last; ++*steps) {
        const uint8_t *bytes = pp_code_at(code, way->at, INSTRUCTION_MAX);
        if (!bytes)
            return false;
        struct instruction i = decode(bytes);
        bool returns = i.kind == RETURN && !way->calls;
        if (!take(way, &i, &others[*count]))
            return false;
        if (returns)
            return !(way->touched & CALLEE_SAVED);
        *count += i.kind == BRANCH && *count < WAYS_MAX;
    }
    return false;
}

static void describe(struct pp_return_path *path, const struct way *way, uintptr_t at)
{
    *path = (struct pp_return_path){
        .size = (uint32_t)(way->linear + 1 - at), .cfa_register = PP_REG_SP, .cfa_offset = way->depth + WORD};
    for (unsigned left = way->popped & CALLEE_SAVED; left; left &= left - 1) {
        unsigned number = (unsigned)__builtin_ctz(left), column = number == FP ? PP_REG_FP : number;
        path->saved |= bit_of(column);
        path->at[column] = (int16_t)(way->popped_at[number] - path->cfa_offset);
    }
    path->saved |= bit_of(PP_REG_RA);
    path->at[PP_REG_RA] = -WORD;
}

bool pp_return_path(struct pp_code *code, uintptr_t at, struct pp_return_path *path)
{
    struct way ways[WAYS_MAX + 1] = {{.at = at}};
    unsigned count = 1, steps = 0;
    while (count) {
        struct way way = ways[--count];
        if (follow(code, &way, ways, &count, &steps)) {
            describe(path, &way, at);
            return true;
        }
    }
    return false;
}

bool pp_is_restorer(const uint8_t code[PP_RESTORER_SIZE])
{
    static const uint8_t restorer[PP_RESTORER_SIZE] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    return memcmp(code, restorer, sizeof restorer) == 0;
}
