/* SPDX-License-Identifier: Apache-2.0 */
/* CPython 3.12 and later keep the attached thread state in a thread-local variable without an exported symbol, 3.15 the
 * bound one too, but export functions that return them. Their code is a handful of instructions, which this file
 * follows. The forms are those of "ELF for the Arm 64-bit Architecture", chapter "Thread Local Storage": TLS
 * descriptors (what compilers emit for shared objects), initial-exec, local-exec, calls of __tls_get_addr, and what
 * linkers relax each to.
 *
 * A word at a constant distance from the thread pointer exists in every thread, whenever the object was loaded: that
 * code needs static TLS, and the loader refuses an object for which it has no room. Code that calls __tls_get_addr
 * promises nothing of the kind, so its word is found through the DTV, where that function records its blocks. */
#include "opcodes.h"
#include "tls.h"
#include <string.h>

#define REGISTERS 31
#define ZERO      31 /* sp or zero, by the instruction */

/* What a register holds. */
struct value {
    enum holding {
        UNKNOWN,
        NUMBER,         /* number: an address, or a distance from the thread pointer */
        THREAD_ADDRESS, /* thread pointer + number */
        BLOCK_OFFSET,   /* distance from the thread pointer to the object's block, + number */
        BLOCK_ADDRESS,  /* the object's block + number */
        THE_WORD,       /* decoder.found */
    } holding;
    int64_t number;
};

struct decoder {
    const struct pp_tls_object *object;
    uintptr_t at; /* of the instruction */
    struct value registers[REGISTERS];
    struct pp_tls_word found;
};

static bool read_bytes(const struct decoder *decoder, uintptr_t address, void *to, size_t size, bool in_object)
{
    return decoder->object->read(decoder->object->context, address, to, size, in_object);
}

static bool set(struct decoder *decoder, unsigned reg, enum holding holding, int64_t number)
{
    if (reg < REGISTERS)
        decoder->registers[reg] = (struct value){holding, number};
    return reg < REGISTERS;
}

static struct value get(const struct decoder *decoder, unsigned reg)
{
    return reg < REGISTERS ? decoder->registers[reg] : (struct value){UNKNOWN, 0};
}

/* Takes the offset of a tls_index into x0. */
static bool accept_index(struct decoder *decoder, uintptr_t address, bool in_object, enum holding holding)
{
    int64_t offset;
    return pp_tls_index(decoder->object, address, in_object, &offset) && set(decoder, 0, holding, offset);
}

/* What a function may change that is called for a word: of a descriptor's, x0 and x30. */
static void forget(struct decoder *decoder, unsigned from, unsigned to)
{
    for (unsigned i = from; i <= to; i++)
        set(decoder, i, UNKNOWN, 0);
}

/* __tls_get_addr(x0) */
static bool call_get_addr(struct decoder *decoder)
{
    struct value index = get(decoder, 0);
    forget(decoder, 0, 18);
    return index.holding == NUMBER && accept_index(decoder, (uintptr_t)index.number, true, BLOCK_ADDRESS);
}

/* A call through a register, whose argument is the descriptor {function, argument} at x0. Its argument is the distance
 * itself for static TLS, else the address of glibc's struct tlsdesc_dynamic_arg, which begins with a tls_index. */
static bool call_descriptor(struct decoder *decoder)
{
    struct value descriptor = get(decoder, 0);
    int64_t argument;
    if (descriptor.holding != NUMBER ||
        !read_bytes(decoder, (uintptr_t)descriptor.number + 8, &argument, sizeof argument, true))
        return false;
    if (pp_tls_is_static(argument))
        return set(decoder, 0, NUMBER, argument);
    return accept_index(decoder, (uintptr_t)argument, false, BLOCK_OFFSET);
}

/* Returns the sum of two values; UNKNOWN if it means nothing. */
static struct value sum(struct value a, struct value b)
{
    int64_t number = a.number + b.number;
    if (a.holding == NUMBER || (a.holding == BLOCK_OFFSET && b.holding == THREAD_ADDRESS)) {
        struct value swapped = a;
        a = b;
        b = swapped;
    }
    if (b.holding == NUMBER && a.holding >= NUMBER && a.holding <= BLOCK_ADDRESS)
        return (struct value){a.holding, number};
    if (a.holding == THREAD_ADDRESS && b.holding == BLOCK_OFFSET)
        return (struct value){BLOCK_ADDRESS, number};
    return (struct value){UNKNOWN, 0};
}

/* Loads a word: the one that is looked for, or an entry of the global offset table. */
static bool load(struct decoder *decoder, unsigned to, struct value address)
{
    int64_t number;
    if (address.holding == NUMBER)
        return read_bytes(decoder, (uintptr_t)address.number, &number, sizeof number, true) &&
               set(decoder, to, NUMBER, number);
    if (address.holding != THREAD_ADDRESS && address.holding != BLOCK_ADDRESS)
        return false;
    bool fixed = address.holding == THREAD_ADDRESS;
    decoder->found = (struct pp_tls_word){fixed ? PP_TLS_FIXED : PP_TLS_DYNAMIC, fixed ? 0 : decoder->object->module,
                                          address.number};
    return set(decoder, to, THE_WORD, 0);
}

/* Whether the instruction is a part of a frame's making or removal: nop, bti, pac*, aut*; mov x29, sp; stp and ldp of
 * any registers, str and ldr of one, at sp. Loads forget what the registers held. */
static bool is_of_frame(struct decoder *decoder, uint32_t i)
{
    unsigned first = i & 31, second = i >> 10 & 31;
    if ((i & 0xfffff01fu) == 0xd503201fu || i == 0x910003fdu)
        return true;
    if ((i >> 5 & 31) != ZERO)
        return false;
    if ((i & 0xfe400000u) == 0xa8000000u || (i & 0xffe00000u) == 0xf8000000u || (i & 0xffc00000u) == 0xf9000000u)
        return true;
    if ((i & 0xfe400000u) == 0xa8400000u)
        return set(decoder, first, UNKNOWN, 0) && set(decoder, second, UNKNOWN, 0);
    return ((i & 0xffe00000u) == 0xf8400000u || pp_is_load(i)) && set(decoder, first, UNKNOWN, 0);
}

/* Follows one instruction; false if it does not belong in a getter. */
static bool step(struct decoder *decoder, uint32_t i)
{
    unsigned to = i & 31, n = i >> 5 & 31, m = i >> 16 & 31;
    if (is_of_frame(decoder, i))
        return true;
    if (pp_is_adrp(i))
        return set(decoder, to, NUMBER, (int64_t)pp_adrp_page(i, decoder->at));
    if ((i & 0x9f000000u) == 0x10000000u) /* adr */
        return set(decoder, to, NUMBER, (int64_t)decoder->at + pp_signed_field(i, 5, 19) * 4 + (int64_t)(i >> 29 & 3));
    if ((i & 0xffffffe0u) == 0xd53bd040u) /* mrs Xt, tpidr_el0 */
        return set(decoder, to, THREAD_ADDRESS, 0);
    if ((i & 0xff800000u) == 0x91000000u) { /* add Xd, Xn, #n{, lsl #12} */
        struct value value =
            sum(get(decoder, n), (struct value){NUMBER, (int64_t)(i >> 10 & 0xfff) << (i >> 22 & 1) * 12});
        return set(decoder, to, value.holding, value.number);
    }
    if ((i & 0xffe0fc00u) == 0x8b000000u) { /* add Xd, Xn, Xm */
        struct value value = sum(get(decoder, n), get(decoder, m));
        return set(decoder, to, value.holding, value.number);
    }
    if ((i & 0xffe0ffe0u) == 0xaa0003e0u) { /* mov Xd, Xm */
        struct value value = get(decoder, m);
        return set(decoder, to, value.holding, value.number);
    }
    if ((i & 0xff800000u) == 0xd2800000u) /* movz Xd, #n, lsl #s */
        return set(decoder, to, NUMBER, (int64_t)((uint64_t)(i >> 5 & 0xffff) << (i >> 21 & 3) * 16));
    if ((i & 0xff800000u) == 0xf2800000u) { /* movk */
        unsigned shift = (i >> 21 & 3) * 16;
        uint64_t kept = (uint64_t)get(decoder, to).number & ~((uint64_t)0xffff << shift);
        return get(decoder, to).holding == NUMBER &&
               set(decoder, to, NUMBER, (int64_t)(kept | (uint64_t)(i >> 5 & 0xffff) << shift));
    }
    if (pp_is_load(i))
        return load(decoder, to, sum(get(decoder, n), (struct value){NUMBER, (int64_t)pp_load_offset(i)}));
    if ((i & 0xffe0fc00u) == 0xf8606800u) /* ldr Xt, [Xn, Xm] */
        return load(decoder, to, sum(get(decoder, n), get(decoder, m)));
    if ((i & 0xfffffc1fu) == 0xd63f0000u) /* blr */
        return call_descriptor(decoder);
    return (i & 0xfc000000u) == 0x94000000u && call_get_addr(decoder); /* bl */
}

struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size)
{
    struct decoder decoder = {.object = object, .at = code};
    if (code % sizeof(uint32_t) != 0)
        return (struct pp_tls_word){0};
    for (; decoder.at + sizeof(uint32_t) <= code + size; decoder.at += sizeof(uint32_t)) {
        uint32_t instruction = pp_instruction((const uint8_t *)decoder.at);
        if (instruction == PP_CODE_RET || instruction == PP_CODE_RETAA)
            return get(&decoder, 0).holding == THE_WORD ? decoder.found : (struct pp_tls_word){0};
        if (!step(&decoder, instruction))
            break;
    }
    return (struct pp_tls_word){0};
}
