/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the few instructions that are needed: jumps, calls, and those of a function's epilogue. */
#ifndef PP_ARCH_X86_64_OPCODES_H
#define PP_ARCH_X86_64_OPCODES_H

#include "../types.h"
#include "registers.h"
#include <stdbool.h>
#include <string.h>

#define PP_JUMP_SIZE 6 /* 0f 8x rel32; e9 rel32 is one less */

/* Returns the first of these bytes that may begin a jump, `end` if there is none. Two searches for one byte each are
 * ten times faster than a loop. */
static inline const uint8_t *pp_jump_next(const uint8_t *at, const uint8_t *end)
{
    static const uint8_t first_bytes[] = {0x0F, 0xE9};
    const uint8_t *found = end;
    for (unsigned i = 0; i < sizeof first_bytes; i++) {
        const uint8_t *byte = memchr(at, first_bytes[i], (size_t)(found - at));
        found = byte ? byte : found;
    }
    return found;
}

/* Returns the target of the jump at `at` with these PP_JUMP_SIZE bytes; 0 if they are no jump with a 32-bit distance.
 */
static inline uintptr_t pp_jump_target(const uint8_t *code, uintptr_t at)
{
    unsigned opcode = code[0] == 0xE9 ? 1 : code[0] == 0x0F && (code[1] & 0xF0) == 0x80 ? 2 : 0;
    int32_t distance;
    if (!opcode)
        return 0;
    memcpy(&distance, code + opcode, sizeof distance);
    return at + opcode + sizeof distance + (uintptr_t)(intptr_t)distance;
}

#define PP_CALL_SIZE 5

/* Whether these PP_CALL_SIZE bytes at `at` call the function. */
static inline bool pp_calls(const uint8_t *code, uintptr_t at, uintptr_t function)
{
    int32_t distance;
    if (code[0] != 0xE8)
        return false;
    memcpy(&distance, code + 1, sizeof distance);
    return at + PP_CALL_SIZE + (uintptr_t)(intptr_t)distance == function;
}

#define PP_LOAD_SIZE 7

/* Whether these PP_LOAD_SIZE bytes at `at` load rax from a variable of their object, mov disp32(%rip),%rax; from
 * which. */
static inline bool pp_load_of_variable(const uint8_t *code, uintptr_t at, uintptr_t *variable)
{
    static const uint8_t load[] = {0x48, 0x8B, 0x05};
    int32_t distance;
    memcpy(&distance, code + sizeof load, sizeof distance);
    *variable = at + PP_LOAD_SIZE + (uintptr_t)(intptr_t)distance;
    return memcmp(code, load, sizeof load) == 0;
}

#define PP_MOVE_STACK_SIZE 6

/* Whether the bytes move stack and frame by one distance: addq %reg, %rsp; addq %reg, %rbp. Greenlet's switch does. */
static inline bool pp_moves_stack(const uint8_t *code)
{
    return (code[0] == 0x48 || code[0] == 0x4C) && code[1] == 0x01 && (code[2] & 0xC7) == 0xC4 && code[3] == code[0] &&
           code[4] == 0x01 && code[5] == code[2] + 1;
}

#define PP_EPILOGUE_STEP_MAX 4 /* bytes */

/* Decodes the instruction at the start of these bytes. async-signal-safe. */
static inline struct pp_epilogue_step pp_epilogue_step(const uint8_t *code)
{
    if (code[0] == 0xC3)
        return (struct pp_epilogue_step){PP_EPILOGUE_RETURN, 0, 1};
    if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xC4 && code[3] < 0x80)
        return (struct pp_epilogue_step){PP_EPILOGUE_ADD, code[3], 4};
    if (code[0] == 0x5D || code[0] == 0x5B)
        return (struct pp_epilogue_step){PP_EPILOGUE_POP, code[0] == 0x5D ? PP_REG_FP : PP_REG_RBX, 1};
    return (struct pp_epilogue_step){PP_EPILOGUE_NONE, 0, 0};
}

#define PP_STUB_SIZE  16 /* at most, of a procedure linkage table */
#define PP_STUB_ALIGN 16

/* Returns the address of the pointer by which a stub at this address jumps: jmp *disp32(%rip), after endbr64 and bnd
 * where it has these. 0: it is no such stub. *size: the stub's. */
static inline uint64_t pp_stub_slot(const uint8_t code[PP_STUB_SIZE], uint64_t address, uint8_t *size)
{
    static const uint8_t endbr64[] = {0xF3, 0x0F, 0x1E, 0xFA}, jump[] = {0xFF, 0x25};
    int32_t displacement;
    size_t at = memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    at += code[at] == 0xF2; /* bnd */
    if (memcmp(code + at, jump, sizeof jump) != 0)
        return 0;
    memcpy(&displacement, code + at + sizeof jump, sizeof displacement);
    *size = PP_STUB_SIZE;
    return address + at + sizeof jump + sizeof displacement + (uint64_t)(int64_t)displacement;
}

#endif
