/*
 * What flush/ publishes for the handler: every module's code range and its unwind rows, sorted by address.
 *
 * Protocol. flush/ builds a whole new pp_module_table, then stores one pointer (release). A handler loads the pointer
 * once (acquire) and uses that table to its end. A table and the rows that only it refers to are given back when every
 * thread's slot has been seen outside the handler after the new pointer was stored (pp_modules_reclaim).
 * Tables and rows are never written after they were published.
 *
 * A row says which rule holds from its pc up to the next row's. Modules have far fewer different rules than rows (some
 * hundreds), so a row is 8 bytes and the rules that matter stay in the cache.
 */
#ifndef PP_CAPTURE_UNWIND_TABLE_H
#define PP_CAPTURE_UNWIND_TABLE_H

#include "../arch/arch.h"
#include <stdint.h>

struct pp_unwind_row {
    uint32_t pc;   /* offset from the module's `start`; rows[0].pc is 0 */
    uint32_t rule; /* index into the module's rules, and PP_ROW_FUNCTION_START */
};

#define PP_ROW_FUNCTION_START 0x80000000u /* a function (FDE) begins here */
#define PP_ROW_RULE(rule)     ((rule) & ~PP_ROW_FUNCTION_START)

/* Rules that every module has. */
enum {
    PP_RULE_GAP,     /* no FDE covers this */
    PP_RULE_INVALID, /* an FDE that says what we cannot follow */
    PP_RULE_FIRST,   /* the others */
};

enum pp_cfa_kind {
    PP_CFA_INVALID,  /* the walk ends here */
    PP_CFA_REGISTER, /* reg + offset */
    PP_CFA_DEREF,    /* *(reg + offset + (index << shift)) + addend */
    PP_CFA_PLT,      /* reg + offset, 8 more from byte `addend` of a 16-byte PLT entry on */
    PP_CFA_SIGNAL,   /* the frame that the kernel pushed for a signal: everything comes from its ucontext */
};

#define PP_NO_REGISTER 0xff

/* How to find the caller's registers. A tracked register that is in no mask is unchanged. */
struct pp_unwind_rule {
    int32_t cfa_offset;
    int16_t cfa_addend;
    uint8_t cfa_kind; /* enum pp_cfa_kind */
    uint8_t cfa_register;
    uint8_t cfa_index; /* PP_NO_REGISTER: none */
    uint8_t cfa_shift;
    uint8_t base;        /* register that from_base refers to */
    uint8_t saved;       /* tracked slots that are in memory at CFA + where[slot] … */
    uint8_t from_base;   /* … these of them at base + where[slot] */
    uint8_t in_register; /* tracked slots whose value is in register where[slot] */
    uint8_t lost;        /* tracked slots that cannot be had; the return address: this is the outermost frame */
    uint8_t unused;
    int16_t where[PP_TRACKED_COUNT];
    int16_t unused2;
};

struct pp_module_range {
    uintptr_t start, end; /* executable segments, lowest to highest address */
    const struct pp_unwind_row *rows;
    const struct pp_unwind_rule *rules;
    /* blocks[i]: the row that holds for offset i << block_shift; one more at the end. Shortens the search. */
    const uint32_t *blocks;
    uint32_t block_shift;
    uint32_t row_count; /* 0: not compiled yet, or none to be had */
    uint32_t without;   /* none to be had */
    uint32_t index;     /* flush/'s own number of the module */
    uint32_t wanted;    /* a handler came here and found no rows: written by handlers, each time anew, relaxed */
};

struct pp_module_table {
    uint32_t generation; /* never 0, and another one in each table of a process and its forks */
    uint32_t count;
    struct pp_module_range ranges[];
};

/* Written by flush/ only, but for `wanted`; NULL before the first scan. Survives fork: the child uses its parent's. */
extern struct pp_module_table *_Atomic pp_module_table;

/* The row that holds for the offset. The range has rows; offset < end - start. async-signal-safe. */
static inline uint32_t pp_unwind_find_row(const struct pp_module_range *range, uint32_t offset)
{
    uint32_t block = offset >> range->block_shift;
    uint32_t low = range->blocks[block], high = range->blocks[block + 1];
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (range->rows[middle].pc <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

#endif
