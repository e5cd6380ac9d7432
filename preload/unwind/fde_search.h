/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads the FDE of the function that holds an address: by the search table of .eh_frame_hdr, or, where the
 * linker made none, by an index of all entries that is made once. Reads the module's file, or the program's memory by
 * copies that may fail, and takes none of it for granted. Flush thread only.
 */
#ifndef PP_UNWIND_FDE_SEARCH_H
#define PP_UNWIND_FDE_SEARCH_H

#include "../base/arena.h"
#include "cfi.h"
#include <stdatomic.h>

/* What lives as long as a module: the functions of one without a search table. All zero: not made yet. */
struct pp_fde_index {
    uint64_t module;    /* a number, by which what was read of the module is known; 0: it has none yet */
    _Atomic bool ready; /* set last: a fork in between leaves the child without an index */
    struct pp_vector functions;
};

/* What of the process's memory is in the module's file, byte for byte. All zero: nothing. Pages that only we read would
 * become part of the process, with fifteen neighbours each. */
struct pp_unwind_file {
    uintptr_t start, end;
    uint64_t offset; /* of `start` */
    int fd;
};

/* What the address is at which a walk has stopped. */
enum pp_place {
    PP_PLACE_UNKNOWN,     /* no walk has stopped there */
    PP_PLACE_INSTRUCTION, /* an instruction that was interrupted */
    PP_PLACE_CALL,        /* the last byte of a call */
};

/* Where a module's code and its unwind information are in the process. */
struct pp_unwind_source {
    enum pp_place place; /* of the address that rows are asked for */
    uint32_t least_gap; /* from this size on, instructions may tell the rule of code that no function holds; 0: never */
    uintptr_t text_start, text_end;
    uintptr_t hdr_start, hdr_end; /* .eh_frame_hdr; equal: there is none */
    uintptr_t segment_end;        /* of the segment that holds .eh_frame */
    struct pp_fde_index *index;
    struct pp_unwind_file file;
};

/* Returns the same source without its file: the loader may have relocated what is in memory. */
struct pp_unwind_source pp_unwind_in_memory(const struct pp_unwind_source *source);

/* Returns the offset of an address in the text, 0 or the text's size if it is outside. */
uint32_t pp_unwind_offset(const struct pp_unwind_source *source, uintptr_t address);

/* Copies unwind information in pieces. */
#define PP_ENTRY_WINDOW 1024
struct pp_entry_window {
    const struct pp_unwind_source *source;
    uintptr_t start;
    size_t size;
    uint8_t bytes[PP_ENTRY_WINDOW];
};
void pp_entry_window_open(struct pp_entry_window *window, const struct pp_unwind_source *source);
/* Copies an entry of .eh_frame; valid until the window's next use. *mapped: what to unmap then, NULL: nothing. False:
 * it cannot be read, or the section ends. */
bool pp_entry_copy(struct pp_entry_window *window, uintptr_t address, struct pp_memory_copy *copy, void **mapped);

struct pp_cie_state {
    struct pp_cie cie;
    struct pp_cfi_state initial;
};

/* Code for which one answer holds: a function with what follows it up to the next one, or code before all functions. */
struct pp_found_fde {
    uint32_t start, end; /* offsets in the text */
    uintptr_t fde;       /* 0: no function */
};

/* Finds the last function that does not start after the address. False: unreadable, or no memory. */
bool pp_fde_search(const struct pp_unwind_source *source, uintptr_t address, struct pp_found_fde *found);
/* Runs in the child of fork, which may have half of what was being read. */
void pp_fde_after_fork(void);
/* Reads the copy of an FDE, and its CIE, which is valid until the next call. */
bool pp_fde_read(const struct pp_unwind_source *source, const struct pp_memory_copy *copy, struct pp_fde *fde,
                 const struct pp_cie_state **cie);

#endif
