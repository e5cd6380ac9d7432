/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind tables that modules/ publishes for the handler: each module's code range and the rows of its functions
 * that samples have met, sorted by address.
 *
 * Protocol. modules/ builds a whole new pp_module_table, then stores one pointer (release). A handler loads the pointer
 * once (acquire) and uses that table to its end. A table and the rows that only it refers to are freed once every
 * thread's slot has been seen outside the handler after the new pointer was stored (pp_modules_reclaim). Published
 * tables and rows are never written.
 *
 * An address may have another module only after the loader has unloaded one, which no thread of ours sees when it
 * happens. Two counts tell what a table and a module hold for: calls of dlclose, that have begun and that have ended,
 * and readings of the loader's list, each of which finds how much was ever unloaded; each counts twice, when it begins
 * and when its result is there.
 *
 *                reading 6        dlclose          sample, 1 ended     reading 8
 *     ----------------|------------[=====]---------------*------------------|------------>
 *     begun, ended    0            1     1                                  1
 *     known           0 (ended)                                             1
 *     new modules     since {0 begun, reading 6}                            since {1, 8}
 *
 * While `known` is below `begun`, a handler takes only those modules of the table as present that have their build-id
 * in memory. The flush thread names a sample by modules that it has read after all calls that had ended before the
 * sample. If nothing was unloaded from the reading before the sample on, all of them hold. Else a module is newer than
 * the sample if it was neither there at that reading nor found before the calls that have begun since the sample.
 *
 * A row holds the rule from its pc up to the next row's. Modules have far fewer different rules (some hundreds) than
 * rows, so a row is 8 bytes and the rules in use stay in the CPU's caches.
 */
#ifndef PP_CAPTURE_UNWIND_TABLE_H
#define PP_CAPTURE_UNWIND_TABLE_H

#include "../arch/arch.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pp_unwind_row {
    uint32_t pc;   /* offset from the module's `start`; rows[0].pc is 0 */
    uint32_t rule; /* index into the module's rules, and PP_ROW_FUNCTION_START */
};

#define PP_ROW_FUNCTION_START 0x80000000u /* a function (FDE) begins here */
#define PP_ROW_RULE(rule)     ((rule) & ~PP_ROW_FUNCTION_START)

/* Rules that every module has. */
enum {
    PP_RULE_UNKNOWN, /* no sample has met the function yet */
    PP_RULE_GAP,     /* no FDE covers the address */
    PP_RULE_INVALID, /* an FDE whose instructions we cannot follow */
    PP_RULE_FIRST,   /* the module's own rules */
};

enum pp_cfa_kind {
    PP_CFA_INVALID,  /* the walk ends here */
    PP_CFA_REGISTER, /* reg + offset */
    PP_CFA_DEREF,    /* *(reg + offset + (index << shift)) + addend */
    PP_CFA_PLT,      /* reg + offset, and what the entry of a PLT has pushed (pp_plt_pushed, from `addend`) */
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
    uint8_t base; /* register for from_base */
    uint8_t unused[2 * sizeof(pp_tracked) - 1];
    pp_tracked saved;       /* slots saved at CFA + where[slot] … */
    pp_tracked from_base;   /* … of which these at base + where[slot] */
    pp_tracked in_register; /* slots whose value is in register where[slot] */
    pp_tracked lost;        /* slots that are lost; the return address: this is the outermost frame */
    int16_t where[PP_TRACKED_COUNT];
    /* The least where[] of all that is saved, if that is just words at CFA + where[slot] below the CFA; else 0. */
    int16_t lowest;
};

/* A point in time: of a sample, or from which on a module is known. */
struct pp_module_time {
    /* Calls of dlclose that had ended; of a module, that had begun, UINT32_MAX if it may have come after others that
     * were unloaded past our dlclose. */
    uint32_t unloads;
    uint32_t readings; /* of the loader's list */
};

/* Whether the module may not have been there when the sample was taken, unless nothing was unloaded since. */
static inline bool pp_is_newer(struct pp_module_time module, struct pp_module_time sample)
{
    return module.readings > sample.readings && module.unloads > sample.unloads;
}

struct pp_module_range {
    uintptr_t start, end; /* executable segments, lowest to highest address */
    const struct pp_unwind_row *rows;
    const struct pp_unwind_rule *rules;
    /* blocks[i]: the row for offset i << block_shift, and one more at the end. They shorten the search. */
    const uint32_t *blocks;
    uint32_t block_shift;
    uint32_t row_count; /* 0: no function of it was met yet */
    uint32_t rule_count;
    struct pp_module_time since;
    bool without; /* it has no unwind information */
    bool stays;   /* it is never unloaded */
    /* Of its build-id. id_at 0: it has none. */
    uintptr_t id_at;
    uint64_t id;
};

struct pp_module_table {
    /* Never 0. Changes with the modules, also in a fork; not with rows that are added: a rule that was found in a table
     * holds in all tables of its generation. */
    uint32_t generation;
    uint32_t count;
    struct pp_module_range ranges[];
};

/* Written by modules/ only; NULL before the first scan. A child of fork keeps its parent's. */
extern const struct pp_module_table *_Atomic pp_module_table;

/* interpose/dlclose.c counts calls of dlclose; modules/ writes the rest and, in a child of fork, `ended`. */
struct pp_unloads {
    _Atomic uint32_t begun, ended;
    _Atomic uint32_t known; /* `ended`, before the modules were read that the table, or a later one, has */
    _Atomic uint32_t readings;
};
extern struct pp_unloads pp_unloads;

/* async-signal-safe. */
static inline struct pp_module_time pp_module_time_now(void)
{
    return (struct pp_module_time){atomic_load_explicit(&pp_unloads.ended, memory_order_acquire),
                                   atomic_load_explicit(&pp_unloads.readings, memory_order_acquire)};
}

/* Whether the table that is loaded next may have modules that are no longer there. async-signal-safe. */
static inline bool pp_modules_may_be_gone(void)
{
    uint32_t known = atomic_load_explicit(&pp_unloads.known, memory_order_acquire);
    return known < atomic_load_explicit(&pp_unloads.begun, memory_order_acquire);
}

/* Returns the row for an offset below end - start. The range must have rows. async-signal-safe. */
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
