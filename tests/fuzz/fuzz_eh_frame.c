/* Feeds arbitrary .eh_frame_hdr and .eh_frame bytes to the row compiler and checks what comes out: rows ascend, rules
 * exist, every offset has a row. Input: 2 bytes size of the header, the header, the rest is .eh_frame. */
#include "../../preload/base/arena.h"
#include "../../preload/unwind/unwind_rows.h"
#include <stdlib.h>

#define HDR_ADDRESS 0x10000u
#define TEXT_START  0x400000u
#define TEXT_SIZE   0x20000u
#define SEARCH_STEP 997u

static void check(const struct pp_unwind_rows *rows)
{
    struct pp_module_range range = {
        .start = TEXT_START,
        .end = TEXT_START + TEXT_SIZE,
        .rows = rows->rows,
        .rules = rows->rules,
        .blocks = rows->blocks,
        .block_shift = rows->block_shift,
        .row_count = rows->row_count,
    };
    if (!rows->row_count || rows->rows[0].pc != 0)
        abort();
    for (uint32_t i = 0; i < rows->row_count; i++) {
        if (i && rows->rows[i].pc <= rows->rows[i - 1].pc)
            abort();
        if (PP_ROW_RULE(rows->rows[i].rule) >= rows->rule_count)
            abort();
    }
    for (uint32_t i = 0; i < rows->rule_count; i++) {
        const struct pp_unwind_rule *rule = &rows->rules[i];
        unsigned found = rule->saved | rule->in_register | rule->lost;
        if (rule->cfa_kind > PP_CFA_SIGNAL || rule->saved & rule->in_register || rule->saved & rule->lost ||
            rule->from_base & ~rule->saved)
            abort();
        if (rule->cfa_kind != PP_CFA_INVALID && rule->cfa_kind != PP_CFA_SIGNAL && !(found >> PP_TRACKED_RA & 1))
            abort();
    }
    for (uint32_t offset = 0; offset < TEXT_SIZE; offset += SEARCH_STEP) {
        uint32_t row = pp_unwind_find_row(&range, offset), start, end;
        if (rows->rows[row].pc > offset || (row + 1 < rows->row_count && rows->rows[row + 1].pc <= offset))
            abort();
        if (pp_unwind_rows_function(&range, offset, &start, &end) && (offset < start || offset >= end))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t hdr_size = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    if (hdr_size > size)
        hdr_size = size;
    /* On the heap and of the exact size, so that a byte too far is seen. */
    uint8_t *hdr_bytes = malloc(hdr_size + 1), *eh_bytes = malloc(size - hdr_size + 1);
    memcpy(hdr_bytes, data, hdr_size);
    memcpy(eh_bytes, data + hdr_size, size - hdr_size);
    hdr_bytes = realloc(hdr_bytes, hdr_size ? hdr_size : 1);
    eh_bytes = realloc(eh_bytes, size - hdr_size ? size - hdr_size : 1);
    struct pp_section_copy hdr = {hdr_bytes, hdr_size, HDR_ADDRESS};
    struct pp_section_copy eh_frame = {eh_bytes, size - hdr_size, HDR_ADDRESS + hdr_size};
    struct pp_unwind_rows rows;
    if (pp_unwind_rows_compile(hdr_size ? &hdr : NULL, &eh_frame, TEXT_START, TEXT_START + TEXT_SIZE, 16, NULL,
                               &rows)) {
        check(&rows);
        pp_unmap(rows.mapping, rows.mapped);
    }
    free(hdr_bytes);
    free(eh_bytes);
    return 0;
}
