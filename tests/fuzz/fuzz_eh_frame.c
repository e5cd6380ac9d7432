/* Feeds arbitrary .eh_frame_hdr and .eh_frame bytes to the compiler of rows, meets functions at addresses in an order
 * that the input chooses, and checks what comes out: rows ascend, rules exist, every offset has a row, what was met is
 * known and stays as it was. Input: 2 bytes seed, 2 bytes size of the header, the header; the rest is .eh_frame. The
 * page after the input cannot be read. */
#include "../../preload/base/arena.h"
#include "../../preload/unwind/unwind_rows.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE       4096u
#define MAX        (256u << 10)
#define MEETINGS   64
#define TEXT_START 0x400000u /* from the input's end on */
#define TEXT_SIZE  0x20000u
#define FIXED      ((void *)0x200000000000) /* relative addresses lead to the same place in each run */

static struct pp_module_range range;

static void fail_unless(bool holds)
{
    if (!holds)
        abort();
}

static void check_rule(const struct pp_unwind_rule *rule)
{
    unsigned found = rule->saved | rule->in_register | rule->lost;
    fail_unless(rule->cfa_kind <= PP_CFA_SIGNAL);
    fail_unless(!(rule->saved & rule->in_register) && !(rule->saved & rule->lost) && !(rule->from_base & ~rule->saved));
    fail_unless(rule->cfa_kind == PP_CFA_INVALID || rule->cfa_kind == PP_CFA_SIGNAL || found >> PP_TRACKED_RA & 1);
}

static void check_rows(void)
{
    fail_unless(range.row_count && range.rows[0].pc == 0);
    for (uint32_t i = 0; i < range.row_count; i++) {
        fail_unless(i == 0 || range.rows[i].pc > range.rows[i - 1].pc);
        fail_unless(range.rows[i].pc <= TEXT_SIZE && PP_ROW_RULE(range.rows[i].rule) < range.rule_count);
    }
    for (uint32_t i = 0; i < range.rule_count; i++)
        check_rule(&range.rules[i]);
}

static void check_search(uint32_t offset)
{
    uint32_t row = pp_unwind_find_row(&range, offset), start, end;
    fail_unless(range.rows[row].pc <= offset);
    fail_unless(row + 1 == range.row_count || range.rows[row + 1].pc > offset);
    if (pp_unwind_rows_function(&range, offset, &start, &end))
        fail_unless(start <= offset && offset < end && end <= TEXT_SIZE);
}

static struct pp_unwind_rule rule_at(uint32_t offset)
{
    return range.rules[PP_ROW_RULE(range.rows[pp_unwind_find_row(&range, offset)].rule)];
}

static bool is_known(uint32_t offset)
{
    return PP_ROW_RULE(range.rows[pp_unwind_find_row(&range, offset)].rule) != PP_RULE_UNKNOWN;
}

static uint32_t next_offset(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % TEXT_SIZE;
}

/* Packs the rows, as for handlers, and goes on with them in another draft. */
static void publish(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, struct pp_unwind_rows **rows)
{
    struct pp_unwind_rows *packed = pp_unwind_draft_pack(draft, source), *old = *rows;
    fail_unless(packed != NULL);
    pp_unwind_draft_free(draft);
    range.rows = packed->rows;
    range.rules = packed->rules;
    range.blocks = packed->blocks;
    range.block_shift = packed->block_shift;
    range.row_count = packed->row_count;
    range.rule_count = packed->rule_count;
    if (old)
        pp_unmap(old, old->mapped);
    *rows = packed;
    check_rows();
    for (uint32_t offset = 0; offset < TEXT_SIZE; offset += 997)
        check_search(offset);
    fail_unless(pp_unwind_draft_start(draft, &range));
}

static void meet(const struct pp_unwind_source *source, uint32_t seed)
{
    static struct pp_unwind_draft draft;
    struct pp_unwind_rows *rows = NULL;
    struct pp_unwind_rule known[MEETINGS];
    uint32_t offsets[MEETINGS];
    range = (struct pp_module_range){.start = source->text_start, .end = source->text_end};
    fail_unless(pp_unwind_draft_start(&draft, &range));
    for (unsigned i = 0; i < MEETINGS; i++) {
        offsets[i] = next_offset(&seed);
        fail_unless(pp_unwind_draft_add(&draft, source, source->text_start + offsets[i]));
        pp_unwind_draft_show(&draft, &range);
        fail_unless(is_known(offsets[i]));
        known[i] = rule_at(offsets[i]);
        check_search(offsets[i]);
        if (i % 16 == 15)
            publish(&draft, source, &rows);
    }
    for (unsigned i = 0; i < MEETINGS; i++) {
        struct pp_unwind_rule now = rule_at(offsets[i]);
        fail_unless(memcmp(&now, &known[i], sizeof now) == 0);
    }
    pp_unwind_draft_free(&draft);
    pp_unmap(rows, rows->mapped);
}

/* Where the input ends, and its page. */
static uint8_t *input_end(void)
{
    static uint8_t *pages;
    if (!pages) {
        pages =
            mmap(FIXED, MAX + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        fail_unless(pages == FIXED && mprotect(pages + MAX, PAGE, PROT_NONE) == 0);
    }
    return pages + MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size - 4 > MAX)
        return 0;
    uint32_t seed = data[0] | (uint32_t)data[1] << 8, hdr_size = data[2] | (uint32_t)data[3] << 8;
    data += 4;
    size -= 4;
    if (hdr_size > size)
        hdr_size = (uint32_t)size;
    uint8_t *end = input_end(), *start = end - size;
    memcpy(start, data, size);
    struct pp_fde_index index = {0};
    struct pp_unwind_source source = {
        .text_start = (uintptr_t)end + TEXT_START,
        .text_end = (uintptr_t)end + TEXT_START + TEXT_SIZE,
        .hdr_start = (uintptr_t)start,
        .hdr_end = (uintptr_t)start + hdr_size,
        .segment_end = (uintptr_t)end + (seed & 1 ? PAGE : 0),
        .index = &index,
    };
    meet(&source, seed);
    pp_vector_free(&index.functions);
    return 0;
}
