/* SPDX-License-Identifier: Apache-2.0 */
#include "line_table.h"
#include "../base/bytes.h"

#define NO_LINE_DELTA (-128) /* of ranges */

/* Pairs {u8 bytes of code, s8 lines}. The line changes after those bytes, or, of `ranges`, holds for them. */
static uint32_t from_pairs(const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset, bool ranges)
{
    uint32_t line = first_line, end = 0; /* damaged tables wrap around */
    for (size_t i = 0; i + 1 < size; i += 2) {
        int delta = (int8_t)table[i + 1];
        end += table[i];
        if (offset < end && (!ranges || delta == NO_LINE_DELTA))
            return ranges ? 0 : line;
        if (!ranges || delta != NO_LINE_DELTA)
            line += (uint32_t)delta;
        if (offset < end)
            return line;
    }
    return ranges ? 0 : line;
}

/* Location table. An entry's first byte has bit 7 set, its form in bits 3–6 and its units - 1 in bits 0–2. */
enum {
    FORM_SHORT_LAST = 9, /* 0–9: no line change, start column below 80 with the form as high bits, up to 15 bytes */
    FORM_ONE_LINE_0 = 10,
    FORM_ONE_LINE_2 = 12,
    FORM_NO_COLUMNS = 13,
    FORM_LONG = 14,
    FORM_NONE = 15,
};

/* Reads a number of six bits per byte, the lowest first. */
static uint64_t read_varint(struct pp_bytes *table)
{
    uint64_t value = 0, byte = 64;
    for (unsigned shift = 0; byte & 64 && shift < 60; shift += 6) {
        byte = pp_bytes_unsigned(table, 1);
        value |= (byte & 63) << shift;
    }
    return value;
}

static int64_t read_signed_varint(struct pp_bytes *table)
{
    uint64_t value = read_varint(table);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static void set_columns(struct pp_position *position, uint64_t column, uint64_t end_column)
{
    if (!column || !end_column || column > UINT32_MAX || end_column > UINT32_MAX)
        return;
    position->column = (uint32_t)column;
    position->end_column = (uint32_t)end_column;
}

/* Reads an entry after its first byte and its line delta, which adds up from entry to entry. */
static struct pp_position read_entry(struct pp_bytes *table, unsigned form, uint32_t line)
{
    struct pp_position position = {.line = line, .end_line = line};
    if (form <= FORM_SHORT_LAST) {
        uint32_t byte = (uint32_t)pp_bytes_unsigned(table, 1), column = form << 3 | byte >> 4;
        set_columns(&position, column + 1, column + (byte & 15) + 1);
    } else if (form <= FORM_ONE_LINE_2) {
        uint32_t column = (uint32_t)pp_bytes_unsigned(table, 1), end_column = (uint32_t)pp_bytes_unsigned(table, 1);
        set_columns(&position, column + 1, end_column + 1);
    } else if (form == FORM_LONG) {
        position.end_line = line + (uint32_t)read_varint(table);
        uint64_t column = read_varint(table), end_column = read_varint(table); /* stored + 1; 0: unknown */
        set_columns(&position, column, end_column);
    } else if (form == FORM_NONE) {
        position = (struct pp_position){0};
    }
    return position;
}

static struct pp_position from_locations(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit)
{
    struct pp_bytes bytes = {table, table + size, false};
    uint32_t line = first_line; /* damaged tables wrap around */
    uint32_t end = 0;
    while (pp_bytes_left(&bytes)) {
        unsigned head = (unsigned)pp_bytes_unsigned(&bytes, 1), form = head >> 3 & 15;
        end += (head & 7) + 1;
        if (form >= FORM_ONE_LINE_0 && form <= FORM_ONE_LINE_2)
            line += form - FORM_ONE_LINE_0;
        else if (form == FORM_NO_COLUMNS || form == FORM_LONG)
            line += (uint32_t)read_signed_varint(&bytes);
        if (unit < end)
            return read_entry(&bytes, form, line);
        while (pp_bytes_left(&bytes) && !(*bytes.at & 128))
            bytes.at++;
    }
    return (struct pp_position){0};
}

struct pp_position pp_position_of(enum pp_line_table format, const uint8_t *table, size_t size, uint32_t first_line,
                                  int32_t unit)
{
    if (unit >= 0 && format == PP_LINES_LOCATIONS)
        return from_locations(table, size, first_line, (uint32_t)unit);
    uint32_t line =
        unit < 0 ? first_line : from_pairs(table, size, first_line, (uint32_t)unit * 2, format == PP_LINES_RANGES);
    return (struct pp_position){.line = line, .end_line = line};
}
