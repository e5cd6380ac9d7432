/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the few instructions that are needed: jumps, calls, those of a function's epilogue, and what is written the
 * same everywhere. Instructions are words at addresses that are multiples of 4; data is not decoded as such only by
 * chance, as on any processor. */
#ifndef PP_ARCH_AARCH64_OPCODES_H
#define PP_ARCH_AARCH64_OPCODES_H

#include "../types.h"
#include "registers.h"
#include <string.h>

enum {
    PP_CODE_NOP = 0xd503201fu,
    PP_CODE_BTI_C = 0xd503245fu,
    PP_CODE_AUTIASP = 0xd50323bfu,   /* takes the signature from x30 */
    PP_CODE_AUTIA1716 = 0xd503219fu, /* from x17 */
    PP_CODE_RET = 0xd65f03c0u,
    PP_CODE_RET_BY = 0xd65f0000u, /* any register */
    PP_CODE_RETAA = 0xd65f0bffu,  /* takes the signature, and returns */
    PP_CODE_BR_X17 = 0xd61f0220u,
    PP_CODE_SVC_0 = 0xd4000001u,
    PP_CODE_MOV_X8_SIGRETURN = 0xd2801168u,
    PP_CODE_PUSH_X16_X30 = 0xa9bf7bf0u,
};

static inline uint32_t pp_instruction(const uint8_t *code)
{
    uint32_t instruction;
    memcpy(&instruction, code, sizeof instruction);
    return instruction;
}

/* Returns the number in the `bits` bits from bit `from` on, with its sign. */
static inline int64_t pp_signed_field(uint32_t instruction, unsigned from, unsigned bits)
{
    return (int32_t)(instruction << (32 - from - bits)) >> (32 - bits);
}

static inline bool pp_is_adrp(uint32_t instruction)
{
    return (instruction & 0x9f000000u) == 0x90000000u;
}

/* Returns the address of the page that adrp at this address yields. */
static inline uint64_t pp_adrp_page(uint32_t instruction, uint64_t at)
{
    int64_t pages = pp_signed_field(instruction, 5, 19) * 4 + (instruction >> 29 & 3);
    return (at & ~(uint64_t)0xfff) + (uint64_t)pages * 0x1000;
}

/* ldr Xt, [Xn, #offset] */
static inline bool pp_is_load(uint32_t instruction)
{
    return (instruction & 0xffc00000u) == 0xf9400000u;
}

static inline uint64_t pp_load_offset(uint32_t instruction)
{
    return (uint64_t)(instruction >> 10 & 0xfff) * 8;
}

#define PP_JUMP_SIZE 4

/* Returns the first of these bytes that may begin a jump, `end` if there is none. */
static inline const uint8_t *pp_jump_next(const uint8_t *at, const uint8_t *end)
{
    (void)end;
    return at;
}

/* Returns the target of the jump at `at` with these PP_JUMP_SIZE bytes; 0 if they are none: b, b.cond, cbz, cbnz, tbz,
 * tbnz. */
static inline uintptr_t pp_jump_target(const uint8_t *code, uintptr_t at)
{
    uint32_t instruction = pp_instruction(code);
    unsigned from = 5, bits;
    if (at % sizeof instruction != 0)
        return 0;
    if ((instruction & 0xfc000000u) == 0x14000000u)
        from = 0, bits = 26;
    else if ((instruction & 0xff000010u) == 0x54000000u || (instruction & 0x7e000000u) == 0x34000000u)
        bits = 19;
    else if ((instruction & 0x7e000000u) == 0x36000000u)
        bits = 14;
    else
        return 0;
    return at + (uintptr_t)(pp_signed_field(instruction, from, bits) * 4);
}

#define PP_CALL_SIZE 4

/* Returns the function that these PP_CALL_SIZE bytes at `at` call, 0 if they are no bl. */
static inline uintptr_t pp_call_target(const uint8_t *code, uintptr_t at)
{
    uint32_t instruction = pp_instruction(code);
    bool calls = at % sizeof instruction == 0 && (instruction & 0xfc000000u) == 0x94000000u;
    return calls ? at + (uintptr_t)(pp_signed_field(instruction, 0, 26) * 4) : 0;
}

/* Whether they call this one. */
static inline bool pp_calls(const uint8_t *code, uintptr_t at, uintptr_t function)
{
    return function && pp_call_target(code, at) == function;
}

#define PP_LOAD_SIZE 8

/* Whether these PP_LOAD_SIZE bytes at `at` load a variable of their object, adrp and ldr; which. */
static inline bool pp_load_of_variable(const uint8_t *code, uintptr_t at, uintptr_t *variable)
{
    uint32_t page = pp_instruction(code), load = pp_instruction(code + sizeof page);
    *variable = pp_adrp_page(page, at) + pp_load_offset(load);
    return at % sizeof page == 0 && pp_is_adrp(page) && pp_is_load(load) && (page & 31) == (load >> 5 & 31);
}

#define PP_MOVE_STACK_SIZE 8

/* Whether the bytes move stack and frame by one distance: add sp, sp, Xm; add x29, x29, Xm. Greenlet's switch does. */
static inline bool pp_moves_stack(const uint8_t *code)
{
    uint32_t first = pp_instruction(code), second = pp_instruction(code + sizeof first), m = 31u << 16;
    return (first & ~m) == 0x8b2063ffu && (second & ~m) == 0x8b0003bdu && (first & m) == (second & m);
}

#define PP_EPILOGUE_STEP_MAX 4 /* bytes */

/* Decodes the instruction at the start of these bytes: ret; add sp, sp, #n; ldp x29, x30, [sp], #n. async-signal-safe.
 */
static inline struct pp_epilogue_step pp_epilogue_step(const uint8_t *code)
{
    uint32_t instruction = pp_instruction(code);
    if (instruction == PP_CODE_RET || instruction == PP_CODE_RETAA)
        return (struct pp_epilogue_step){PP_EPILOGUE_RETURN, 0, 4};
    if (instruction == PP_CODE_AUTIASP)
        return (struct pp_epilogue_step){PP_EPILOGUE_ADD, 0, 4};
    if ((instruction & 0xfffc03ffu) == 0x910003ffu)
        return (struct pp_epilogue_step){PP_EPILOGUE_ADD, (uint8_t)(instruction >> 10), 4};
    if ((instruction & 0xfff07fffu) == 0xa8c07bfdu) /* by up to 15 pairs of words */
        return (struct pp_epilogue_step){PP_EPILOGUE_POP_FRAME, (uint8_t)((instruction >> 15 & 0x1f) * 8), 4};
    return (struct pp_epilogue_step){PP_EPILOGUE_NONE, 0, 0};
}

#define PP_STUB_SIZE  24 /* at most, of a procedure linkage table */
#define PP_STUB_ALIGN 4

/* Returns the address of the pointer by which a stub at this address jumps, 0 if it is no such stub; *size: the stub's.
 * adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; br x17, with bti c before, and autia1716, if the
 * linker was told to. */
static inline uint64_t pp_stub_slot(const uint8_t code[PP_STUB_SIZE], uint64_t address, uint8_t *size)
{
    unsigned at = pp_instruction(code) == PP_CODE_BTI_C ? 4 : 0;
    uint32_t page = pp_instruction(code + at), load = pp_instruction(code + at + 4),
             add = pp_instruction(code + at + 8);
    if (!pp_is_adrp(page) || (page & 31) != 16 || (load & 0xffc003ffu) != 0xf9400211u ||
        (add & 0xffc003ffu) != 0x91000210u)
        return 0;
    unsigned end = at + 12 + (pp_instruction(code + at + 12) == PP_CODE_AUTIA1716 ? 4 : 0);
    if (pp_instruction(code + end) != PP_CODE_BR_X17)
        return 0;
    *size = (uint8_t)(end + 4);
    return pp_adrp_page(page, address + at) + pp_load_offset(load);
}

#endif
