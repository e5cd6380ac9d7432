/*
 * unwind/ finds the rule for an address: by the search table of its module's .eh_frame_hdr one entry of .eh_frame, by
 * its call frame instructions the rule. It reads only what it needs, at any address, and never faults.
 */
#ifndef PP_UNWIND_FIND_RULE_H
#define PP_UNWIND_FIND_RULE_H

#include "unwind_rule.h"

#define PP_RULE_MODULES  8     /* modules whose headers are kept */
#define PP_TABLE_ENTRIES 128   /* of a search table are read at once */
#define PP_ENTRY_MAX     16384 /* bytes of an FDE that are read; the longest of CPython 3.15 has 6,780 */

/* A module's code and where the search for its rules begins. */
struct pp_module_range {
    uintptr_t start, end;   /* executable segments, lowest to highest address */
    uintptr_t eh_frame_hdr; /* 0: there is none */
    bool stays;             /* it was loaded with the program, and is never unloaded */
};

/* In .eh_frame_hdr's search table: relative to the header's address. */
struct pp_table_entry {
    int32_t function, fde;
};

/* What a search reads, and what it keeps for the next one. All zero at first; each search needs it for itself. */
struct pp_rule_finder {
    struct pp_rule_module {
        uintptr_t eh_frame_hdr; /* 0: unused; set last */
        uint32_t count;         /* entries of its search table */
        uintptr_t table;
        struct pp_cie cie; /* the last one; its instructions are gone. address 0: none yet */
        struct pp_cfi_state initial;
    } modules[PP_RULE_MODULES];
    struct pp_table_entry entries[PP_TABLE_ENTRIES];
    uint8_t entry[PP_ENTRY_MAX];
    struct pp_cfi_run run;
};

/* Code and the rule that holds for it. PP_CFA_INVALID: there is none, or it cannot be read. */
struct pp_found_rule {
    uintptr_t from, to;
    struct pp_unwind_rule rule;
};

/* Finds the rule for pc, which is in the module's code. async-signal-safe; takes some microseconds. */
void pp_find_rule(struct pp_rule_finder *finder, const struct pp_module_range *range, uintptr_t pc,
                  struct pp_found_rule *found);

/* Finds the function (FDE) that holds pc; a .cold part is a function of its own. False: none does, or it cannot be
 * read. async-signal-safe. */
bool pp_find_function(struct pp_rule_finder *finder, const struct pp_module_range *range, uintptr_t pc,
                      struct pp_fde *function);

/* Makes the finder forget what it keeps of modules: one may have been unloaded. async-signal-safe. */
void pp_rule_finder_forget(struct pp_rule_finder *finder);

#endif
