/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_ARCH_AARCH64_OPCODES_H
#define PP_ARCH_AARCH64_OPCODES_H

#include "../types.h"

#define PP_JUMP_SIZE         4
#define PP_CALL_SIZE         4
#define PP_LOAD_SIZE         8 /* adrp, ldr */
#define PP_MOVE_STACK_SIZE   12
#define PP_EPILOGUE_STEP_MAX 4
#define PP_STUB_SIZE         16

const uint8_t *pp_jump_next(const uint8_t *at, const uint8_t *end);
uintptr_t pp_jump_target(const uint8_t *code, uintptr_t at);
bool pp_calls(const uint8_t *code, uintptr_t at, uintptr_t function);
bool pp_load_of_variable(const uint8_t *code, uintptr_t at, uintptr_t *variable);
bool pp_moves_stack(const uint8_t *code);

struct pp_epilogue_step pp_epilogue_step(const uint8_t *code);
uint64_t pp_stub_slot(const uint8_t code[PP_STUB_SIZE], uint64_t address);

#endif
