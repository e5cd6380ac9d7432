/* SPDX-License-Identifier: Apache-2.0 */
/* Runs call frame instructions (DWARF 4, 6.4.2): turns the bytes of a CIE and an FDE into one state per code range. */
#ifndef PP_UNWIND_CFI_H
#define PP_UNWIND_CFI_H

#include "../arch/arch.h"
#include "eh_frame.h"

enum pp_cfi_rule_kind {
    PP_CFI_SAME,       /* unchanged; also callee-saved registers without a rule */
    PP_CFI_UNDEFINED,  /* not recoverable */
    PP_CFI_AT_CFA,     /* in memory at CFA + offset */
    PP_CFI_AT_ADDRESS, /* in memory at base + offset */
    PP_CFI_REGISTER,   /* in register base */
    PP_CFI_UNKNOWN,    /* an expression that we cannot evaluate */
};

struct pp_cfi_register {
    uint8_t kind; /* enum pp_cfi_rule_kind */
    uint8_t base;
    int32_t offset;
};

/* An address *(base + offset + (index << shift)) + addend, or that sum without the dereference. */
struct pp_cfi_address {
    bool valid;
    bool deref;
    uint8_t base;
    uint8_t index; /* PP_CFI_NO_INDEX: none */
    uint8_t shift;
    uint8_t plt; /* not 0: a procedure linkage table, in which pp_plt_pushed says what is added */
    int32_t offset, addend;
};
#define PP_CFI_NO_INDEX 0xff

struct pp_cfi_state {
    struct pp_cfi_address cfa;
    struct pp_cfi_register registers[PP_REG_COLUMNS];
};

/* Called for each range, in ascending order and never empty. */
typedef void pp_cfi_emit(void *arg, uintptr_t from, uintptr_t to, const struct pp_cfi_state *state);

/* Computes the state at the start of every function of a CIE; false when its instructions are damaged. */
bool pp_cfi_initial(const struct pp_memory_copy *copy, const struct pp_cie *cie, struct pp_cfi_state *initial);

/* Runs an FDE. After an instruction that we cannot interpret, ranges have an invalid CFA. */
void pp_cfi_run(const struct pp_memory_copy *copy, const struct pp_cie *cie, const struct pp_fde *fde,
                const struct pp_cfi_state *initial, pp_cfi_emit *emit, void *arg);

/* Evaluates a DWARF expression to an address of the form above; false when it has another form. */
bool pp_cfi_expression(struct pp_bytes expression, struct pp_cfi_address *out);

#endif
