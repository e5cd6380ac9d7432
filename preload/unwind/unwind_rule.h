/* The rule by which the walk steps from a frame to its caller, made of a CFI state. */
#ifndef PP_UNWIND_UNWIND_RULE_H
#define PP_UNWIND_UNWIND_RULE_H

#include "cfi.h"

enum pp_cfa_kind {
    PP_CFA_INVALID,  /* the walk ends here */
    PP_CFA_REGISTER, /* reg + offset */
    PP_CFA_DEREF,    /* *(reg + offset + (index << shift)) + addend */
    PP_CFA_PLT,      /* reg + offset, 8 more from byte `addend` of a 16-byte PLT entry on */
    PP_CFA_SIGNAL,   /* the kernel's signal frame: all registers come from its ucontext */
};

#define PP_NO_REGISTER 0xff

/* How to recover the caller's registers. A tracked register that is in no mask is unchanged. */
struct pp_unwind_rule {
    int32_t cfa_offset;
    int16_t cfa_addend;
    uint8_t cfa_kind; /* enum pp_cfa_kind */
    uint8_t cfa_register;
    uint8_t cfa_index; /* PP_NO_REGISTER: none */
    uint8_t cfa_shift;
    uint8_t base;        /* register for from_base */
    uint8_t saved;       /* tracked slots saved at CFA + where[slot] … */
    uint8_t from_base;   /* … of which these at base + where[slot] */
    uint8_t in_register; /* tracked slots whose value is in register where[slot] */
    uint8_t lost;        /* tracked slots that are lost; the return address: this is the outermost frame */
    int16_t where[PP_TRACKED_COUNT];
};

/* Makes the rule; false if the state cannot be followed to the caller. async-signal-safe. */
bool pp_unwind_rule_of(const struct pp_cfi_state *state, bool signal_frame, struct pp_unwind_rule *rule);

#endif
