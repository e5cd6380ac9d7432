/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the entries of .eh_frame (LSB 5.0, "Exception Frames"; DWARF 4, 6.4): where a function is and which call frame
 * instructions describe it. Works on copies of single entries; all input is untrusted. Any thread.
 */
#ifndef PP_UNWIND_EH_FRAME_H
#define PP_UNWIND_EH_FRAME_H

#include "../base/bytes.h"

/* A copy of memory, and where that is in the process. */
struct pp_memory_copy {
    const uint8_t *bytes;
    size_t size;
    uintptr_t address;
};

/* A common information entry, shared by several functions. */
struct pp_cie {
    uintptr_t address; /* its identity */
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool has_augmentation_data; /* its FDEs have augmentation data too */
    bool signal_frame;
    struct pp_bytes instructions; /* in the copy */
};

/* A frame description entry: a function, or a part of it. */
struct pp_fde {
    uintptr_t start, end;
    struct pp_bytes instructions; /* in the copy */
};

#define PP_EH_FRAME_HDR_MAX 20 /* bytes before the search table */

/* The header of .eh_frame_hdr. Its search table has entries {int32 function, int32 FDE}, both relative to the header's
 * address. */
struct pp_eh_frame_hdr {
    uintptr_t eh_frame;
    uintptr_t table; /* 0: there is none of the usual form */
    uint32_t count;
};
bool pp_eh_frame_hdr_parse(const struct pp_memory_copy *hdr, struct pp_eh_frame_hdr *out);

/* Returns the bytes of the entry whose first bytes are here, its length included; 0: they are too few, or the end of
 * the section. */
uint64_t pp_eh_frame_entry_size(const struct pp_memory_copy *copy);
#define PP_EH_FRAME_LENGTH_MAX 12 /* bytes that suffice for that */

/* Each reads the entry at the start of the copy; false when it is damaged, cut, unknown, or of the other kind. */
bool pp_eh_frame_cie(const struct pp_memory_copy *copy, struct pp_cie *out);
/* Finds the address of an FDE's CIE, which has the encoding of its addresses. */
bool pp_eh_frame_cie_of(const struct pp_memory_copy *copy, uintptr_t *cie);
bool pp_eh_frame_fde(const struct pp_memory_copy *copy, const struct pp_cie *cie, struct pp_fde *out);

/* Reads a pointer in DW_EH_PE_* encoding, absolute or relative to itself. */
uintptr_t pp_eh_frame_pointer(struct pp_bytes *b, const struct pp_memory_copy *copy, uint8_t encoding);

#endif
