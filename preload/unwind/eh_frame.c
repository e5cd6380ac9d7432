/* SPDX-License-Identifier: Apache-2.0 */
#include "eh_frame.h"
#include "../arch/arch.h"

/* Pointer encodings: the low four bits are the format, the next three what it is relative to. */
enum {
    PE_ABSOLUTE = 0x00,
    PE_ULEB = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_RELATIVE_TO = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

#define EXTENDED_LENGTH 0xffffffffu

static uint64_t pointer_format(struct pp_bytes *b, uint8_t encoding)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSOLUTE:
    case PE_UDATA8:
    case PE_SDATA8:
        return pp_bytes_unsigned(b, 8);
    case PE_UDATA4:
        return pp_bytes_unsigned(b, 4);
    case PE_SDATA4:
        return (uint64_t)pp_bytes_signed(b, 4);
    case PE_UDATA2:
        return pp_bytes_unsigned(b, 2);
    case PE_SDATA2:
        return (uint64_t)pp_bytes_signed(b, 2);
    case PE_ULEB:
        return pp_bytes_uleb(b);
    case PE_SLEB:
        return (uint64_t)pp_bytes_sleb(b);
    default:
        b->failed = true;
        return 0;
    }
}

uintptr_t pp_eh_frame_pointer(struct pp_bytes *b, const struct pp_memory_copy *copy, uint8_t encoding)
{
    uintptr_t itself = copy->address + (uintptr_t)(b->at - copy->bytes);
    uint64_t value = pointer_format(b, encoding);
    switch (encoding & (PE_RELATIVE_TO | PE_INDIRECT)) {
    case PE_ABSOLUTE:
        return value;
    case PE_PCREL:
        return itself + value;
    default: /* relative to an unknown base, or indirect: code addresses never are */
        b->failed = true;
        return 0;
    }
}

bool pp_eh_frame_hdr_parse(const struct pp_memory_copy *hdr, struct pp_eh_frame_hdr *out)
{
    struct pp_bytes b = {hdr->bytes, hdr->bytes + hdr->size, false};
    uint64_t version = pp_bytes_unsigned(&b, 1);
    uint8_t frame_encoding = (uint8_t)pp_bytes_unsigned(&b, 1);
    uint8_t count_encoding = (uint8_t)pp_bytes_unsigned(&b, 1);
    uint8_t table_encoding = (uint8_t)pp_bytes_unsigned(&b, 1);
    *out = (struct pp_eh_frame_hdr){.eh_frame = pp_eh_frame_pointer(&b, hdr, frame_encoding)};
    if (b.failed || version != 1)
        return false;
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
        return true;
    uint64_t count = pp_eh_frame_pointer(&b, hdr, count_encoding);
    if (b.failed || count > UINT32_MAX)
        return true;
    out->table = hdr->address + (uintptr_t)(b.at - hdr->bytes);
    out->count = (uint32_t)count;
    return true;
}

/* Reads an entry's length, which does not count itself; false: there is none. */
static bool read_length(struct pp_bytes *b, uint64_t *length, bool *extended)
{
    *length = pp_bytes_unsigned(b, 4);
    *extended = *length == EXTENDED_LENGTH;
    if (*extended)
        *length = pp_bytes_unsigned(b, 8);
    return !b->failed && *length;
}

uint64_t pp_eh_frame_entry_size(const struct pp_memory_copy *copy)
{
    struct pp_bytes b = {copy->bytes, copy->bytes + copy->size, false};
    uint64_t length, size;
    bool extended;
    if (!read_length(&b, &length, &extended) || __builtin_add_overflow(length, (uint64_t)(b.at - copy->bytes), &size))
        return 0;
    return size;
}

/* An entry's contents after its id, which is 0 in a CIE, else the distance back from itself to the CIE. */
struct entry {
    struct pp_bytes contents;
    uintptr_t id_address;
    uint64_t id;
};

static bool read_entry(const struct pp_memory_copy *copy, struct entry *entry)
{
    struct pp_bytes b = {copy->bytes, copy->bytes + copy->size, false};
    uint64_t length;
    bool extended;
    if (!read_length(&b, &length, &extended) || length > pp_bytes_left(&b))
        return false;
    b.end = b.at + length;
    entry->id_address = copy->address + (uintptr_t)(b.at - copy->bytes);
    entry->id = pp_bytes_unsigned(&b, extended ? 8 : 4);
    entry->contents = b;
    return !b.failed;
}

/* Reads the letters after the 'z', each with its data. */
static bool augmentation(struct pp_bytes *b, const char *letters, struct pp_cie *out)
{
    uint64_t size = pp_bytes_uleb(b);
    const uint8_t *start = pp_bytes_advance(b, size);
    if (!start)
        return false;
    struct pp_bytes data = {start, start + size, false};
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R':
            out->pointer_encoding = (uint8_t)pp_bytes_unsigned(&data, 1);
            break;
        case 'L':
            pp_bytes_unsigned(&data, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)pp_bytes_unsigned(&data, 1);
            if (encoding != PE_OMIT)
                pointer_format(&data, encoding);
            break;
        }
        case 'S':
            out->signal_frame = true;
            break;
        default:
            return false;
        }
    }
    return !data.failed;
}

bool pp_eh_frame_cie(const struct pp_memory_copy *copy, struct pp_cie *out)
{
    struct entry entry;
    if (!read_entry(copy, &entry) || entry.id != 0)
        return false;
    struct pp_bytes b = entry.contents;
    *out = (struct pp_cie){.address = copy->address, .pointer_encoding = PE_ABSOLUTE};
    uint64_t version = pp_bytes_unsigned(&b, 1);
    if (version != 1 && version != 3)
        return false;
    const char *letters = (const char *)b.at;
    while (pp_bytes_unsigned(&b, 1))
        ;
    if (b.failed)
        return false;
    out->code_align = pp_bytes_uleb(&b);
    out->data_align = pp_bytes_sleb(&b);
    uint64_t ra = version == 1 ? pp_bytes_unsigned(&b, 1) : pp_bytes_uleb(&b);
    if (b.failed || ra != PP_REG_RA)
        return false;
    if (*letters == 'z') {
        out->has_augmentation_data = true;
        if (!augmentation(&b, letters + 1, out))
            return false;
    } else if (*letters) {
        return false;
    }
    out->instructions = b;
    return true;
}

bool pp_eh_frame_cie_of(const struct pp_memory_copy *copy, uintptr_t *cie)
{
    struct entry entry;
    if (!read_entry(copy, &entry) || entry.id == 0 || entry.id > entry.id_address)
        return false;
    *cie = entry.id_address - entry.id;
    return true;
}

bool pp_eh_frame_fde(const struct pp_memory_copy *copy, const struct pp_cie *cie, struct pp_fde *out)
{
    struct entry entry;
    if (!read_entry(copy, &entry) || entry.id == 0 || entry.id_address - entry.id != cie->address)
        return false;
    struct pp_bytes b = entry.contents;
    out->start = pp_eh_frame_pointer(&b, copy, cie->pointer_encoding);
    uintptr_t size = pp_eh_frame_pointer(&b, copy, cie->pointer_encoding & PE_FORMAT);
    if (b.failed || size == 0 || size > UINTPTR_MAX - out->start)
        return false;
    out->end = out->start + size;
    if (cie->has_augmentation_data) {
        uint64_t skip = pp_bytes_uleb(&b);
        pp_bytes_advance(&b, skip);
    }
    out->instructions = b;
    return !b.failed;
}
