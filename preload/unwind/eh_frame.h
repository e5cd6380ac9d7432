/*
 * Reads the entries of .eh_frame (LSB 5.0, "Exception Frames"; DWARF 4, 6.4): where each function is and which call
 * frame instructions describe it. Works on copies of the sections; all input is untrusted.
 */
#ifndef PP_UNWIND_EH_FRAME_H
#define PP_UNWIND_EH_FRAME_H

#include "../base/bytes.h"

/* A copy of a section and where it was in the process. */
struct pp_section_copy {
    const uint8_t *bytes;
    size_t size;
    uintptr_t address;
};

/* A common information entry, shared by several functions. */
struct pp_cie {
    size_t offset; /* in .eh_frame: its identity */
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool has_augmentation_data; /* its FDEs have augmentation data too */
    bool signal_frame;
    struct pp_bytes instructions;
};

/* A frame description entry: a function, or a part of it. */
struct pp_fde {
    uintptr_t start, end;
    size_t cie_offset;
    struct pp_bytes instructions;
};

/* The header of .eh_frame_hdr. */
struct pp_eh_frame_hdr {
    uintptr_t eh_frame;
    /* The search table {int32 function, int32 fde}, both relative to the header's address; NULL: there is none. */
    const uint8_t *table;
    size_t count;
};

bool pp_eh_frame_hdr_parse(const struct pp_section_copy *hdr, struct pp_eh_frame_hdr *out);
void pp_eh_frame_hdr_entry(const struct pp_section_copy *hdr, const struct pp_eh_frame_hdr *parsed, size_t i,
                           uintptr_t *function, uintptr_t *fde);

/* Each reads the entry at the offset; false when it is damaged, unknown, or of the other kind. */
bool pp_eh_frame_cie(const struct pp_section_copy *eh_frame, size_t offset, struct pp_cie *out);
/* An FDE's CIE has the encoding of its addresses: call pp_eh_frame_cie_of first, then pp_eh_frame_fde. */
bool pp_eh_frame_cie_of(const struct pp_section_copy *eh_frame, size_t offset, size_t *cie_offset);
bool pp_eh_frame_fde(const struct pp_section_copy *eh_frame, size_t offset, const struct pp_cie *cie,
                     struct pp_fde *out);
/* Finds the offset of the next entry; false at the end of the section. */
bool pp_eh_frame_next(const struct pp_section_copy *eh_frame, size_t offset, size_t *next);

/* Reads a pointer in DW_EH_PE_* encoding, absolute or relative to itself. */
uintptr_t pp_eh_frame_pointer(struct pp_bytes *b, const struct pp_section_copy *section, uint8_t encoding);

#endif
