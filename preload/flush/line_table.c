#include "line_table.h"

#define NO_LINE_DELTA (-128) /* 3.10 */

/* 3.8, 3.9 co_lnotab: pairs {u8 bytes of code, s8 lines}, the line changes after those bytes. */
static uint32_t from_lnotab(const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset)
{
    uint32_t line = first_line; /* damaged tables wrap around */
    uint32_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > offset)
            break;
        line += (uint32_t)(int8_t)table[i + 1];
    }
    return line;
}

/* 3.10 co_linetable: pairs {u8 bytes of code, s8 lines}, the line holds for those bytes. */
static uint32_t from_ranges(const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset)
{
    uint32_t line = first_line; /* damaged tables wrap around */
    uint32_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int delta = (int8_t)table[i + 1];
        end += table[i];
        if (delta != NO_LINE_DELTA)
            line += (uint32_t)delta;
        if (offset < end)
            return delta == NO_LINE_DELTA ? 0 : line;
    }
    return 0;
}

/* 3.11+ location table. An entry starts with a byte that has bit 7 set: bits 3–6 its form, bits 0–2 its units - 1. */
enum {
    FORM_ONE_LINE_0 = 10,
    FORM_ONE_LINE_2 = 12,
    FORM_NO_COLUMNS = 13,
    FORM_LONG = 14,
    FORM_NONE = 15,
};

static int64_t read_signed_varint(const uint8_t *table, size_t size, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < size && shift < 60; shift += 6) {
        uint8_t byte = table[at++];
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t from_locations(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit)
{
    uint32_t line = first_line; /* damaged tables wrap around */
    uint32_t end = 0;
    for (size_t i = 0; i < size;) {
        unsigned form = table[i] >> 3 & 15;
        end += (table[i] & 7u) + 1;
        if (form >= FORM_ONE_LINE_0 && form <= FORM_ONE_LINE_2)
            line += form - FORM_ONE_LINE_0;
        else if (form == FORM_NO_COLUMNS || form == FORM_LONG)
            line += (uint32_t)read_signed_varint(table, size, i + 1);
        if (unit < end)
            return form == FORM_NONE ? 0 : line;
        for (i++; i < size && !(table[i] & 128); i++)
            ;
    }
    return 0;
}

uint32_t pp_line_of(unsigned python_minor, const uint8_t *table, size_t size, uint32_t first_line, int32_t unit)
{
    if (unit < 0)
        return first_line;
    if (python_minor >= 11)
        return from_locations(table, size, first_line, (uint32_t)unit);
    if (python_minor == 10)
        return from_ranges(table, size, first_line, (uint32_t)unit * 2);
    return from_lnotab(table, size, first_line, (uint32_t)unit * 2);
}
