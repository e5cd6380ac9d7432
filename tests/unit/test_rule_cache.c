/* What walks keep from one to the next gives way to a new table. */
#include "context_registers.h"
#include "preload/capture/native_walk.h"
#include "unit.h"
#include <stdatomic.h>

#define CODE  ((uintptr_t)0x10000000)
#define WORDS 64

enum { RULE_16 = PP_RULE_FIRST, RULE_32, RULE_OUTERMOST, RULES };

static const struct pp_unwind_rule rules[RULES] = {
    [RULE_16] = {.cfa_kind = PP_CFA_REGISTER,
                 .cfa_register = PP_REG_SP,
                 .cfa_offset = 16,
                 .saved = 1 << PP_TRACKED_RA,
                 .where[PP_TRACKED_RA] = -8},
    [RULE_32] = {.cfa_kind = PP_CFA_REGISTER,
                 .cfa_register = PP_REG_SP,
                 .cfa_offset = 32,
                 .saved = 1 << PP_TRACKED_RA,
                 .where[PP_TRACKED_RA] = -8},
    [RULE_OUTERMOST] = {.cfa_kind = PP_CFA_REGISTER,
                        .cfa_register = PP_REG_SP,
                        .cfa_offset = 8,
                        .lost = 1 << PP_TRACKED_RA},
};
static const uint32_t blocks[2] = {0, 2};
static uintptr_t words[WORDS];

/* Code in three functions; `middle` is the rule of the second. */
static void publish(struct pp_module_table *table, struct pp_unwind_row rows[3], uint32_t generation, uint32_t middle)
{
    rows[0] = (struct pp_unwind_row){0, RULE_16};
    rows[1] = (struct pp_unwind_row){0x100, middle};
    rows[2] = (struct pp_unwind_row){0x200, RULE_OUTERMOST};
    table->generation = generation;
    table->count = 1;
    table->ranges[0] = (struct pp_module_range){.start = CODE,
                                                .end = CODE + 0x1000,
                                                .rows = rows,
                                                .rules = rules,
                                                .blocks = blocks,
                                                .block_shift = 31,
                                                .row_count = 3};
    atomic_store(&pp_module_table, table);
}

/* Interrupted in the first function. */
static void walk(struct pp_rule_cache *cache, struct pp_native_frame frames[8])
{
    ucontext_t context = {0};
    put_pc(&context, (CODE + 0x10));
    put_register(&context, PP_REG_SP, (uintptr_t)&words[8]);
    struct pp_native_stack stack = {.frames = frames, .cache = cache, .max = 8};
    pp_native_walk(&context, (uintptr_t)(words + WORDS), &stack);
    assert_int_equal(stack.reason, PP_REASON_NONE);
    assert_int_equal(stack.count, 3);
    assert_int_equal(frames[0].ip, CODE + 0x10);
    assert_int_equal(frames[0].cfa, &words[10]);
    assert_int_equal(frames[1].ip, CODE + 0x10f);
    assert_int_equal(frames[2].ip, CODE + 0x20f);
}

TEST(a_new_table_counts)
{
    static struct pp_rule_cache cache;
    static _Alignas(struct pp_module_table)
        uint8_t memory[2][sizeof(struct pp_module_table) + sizeof(struct pp_module_range)];
    struct pp_unwind_row first[3], second[3];
    struct pp_native_frame frames[8];
    words[9] = CODE + 0x110;
    words[11] = words[13] = CODE + 0x210;
    publish((struct pp_module_table *)memory[0], first, 1, RULE_16);
    for (int i = 0; i < 3; i++) {
        walk(i == 2 ? NULL : &cache, frames);
        assert_int_equal(frames[1].cfa, &words[12]);
    }
    publish((struct pp_module_table *)memory[1], second, 2, RULE_32);
    memset(memory[0], 0, sizeof memory[0]);
    for (int i = 0; i < 3; i++) {
        walk(i == 2 ? NULL : &cache, frames);
        assert_int_equal(frames[1].cfa, &words[14]);
    }
    /* without a table nothing is known, whatever was */
    atomic_store(&pp_module_table, NULL);
    ucontext_t context = {0};
    put_register(&context, PP_REG_SP, (uintptr_t)&words[8]);
    struct pp_native_stack stack = {.frames = frames, .cache = &cache, .max = 8};
    pp_native_walk(&context, (uintptr_t)(words + WORDS), &stack);
    assert_int_equal(stack.reason, PP_REASON_NATIVE_NO_ROWS);
}

/* Two addresses that come to the same entry drive each other out, and both stay right. */
TEST(entries_are_shared)
{
    static struct pp_rule_cache cache;
    static _Alignas(struct pp_module_table)
        uint8_t memory[sizeof(struct pp_module_table) + sizeof(struct pp_module_range)];
    struct pp_unwind_row rows[3];
    struct pp_native_frame frames[8];
    publish((struct pp_module_table *)memory, rows, 7, RULE_16);
    for (uintptr_t i = 0; i < 4 * PP_RULE_CACHE_SIZE; i++) {
        uintptr_t at = 0x111 + i % 0xe0;
        words[9] = CODE + at;
        words[11] = CODE + 0x210;
        ucontext_t context = {0};
        put_pc(&context, (CODE + i % 0xff));
        put_register(&context, PP_REG_SP, (uintptr_t)&words[8]);
        struct pp_native_stack stack = {.frames = frames, .cache = &cache, .max = 8};
        pp_native_walk(&context, (uintptr_t)(words + WORDS), &stack);
        assert_int_equal(stack.count, 3);
        assert_int_equal(frames[1].ip, CODE + at - 1);
        assert_int_equal(frames[1].cfa, &words[12]);
    }
    atomic_store(&pp_module_table, NULL);
}
