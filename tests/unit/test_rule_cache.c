/* What walks keep from one to the next is forgotten when a module was unloaded. */
#include "made_eh_frame.h"
#include "preload/capture/native_walk.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 64

enum { FIRST, MIDDLE, OUTERMOST };

static struct made_eh_frame made;
static struct pp_rule_cache cache;
static uintptr_t words[WORDS];
static _Alignas(
    struct pp_module_table) uint8_t memory[2][sizeof(struct pp_module_table) + sizeof(struct pp_module_range)];

static uintptr_t code(unsigned function, unsigned offset)
{
    return (uintptr_t)made.text + (function + 1) * MADE_FUNCTION + offset;
}

/* Functions whose frames have 16 bytes, `middle` bytes, and no caller. */
static void make(uint8_t middle)
{
    made_start(&made, "zR");
    made_function(&made, (const uint8_t[]){0x0e, 16}, 2);
    made_function(&made, (const uint8_t[]){0x0e, middle}, 2);
    made_function(&made, (const uint8_t[]){0x07, 16}, 2);
}

static void publish(unsigned which, uint32_t generation)
{
    struct pp_module_table *table = (struct pp_module_table *)memory[which];
    table->generation = generation;
    table->count = 1;
    table->ranges[0] = made_range(&made, true);
    atomic_store(&pp_module_table, table);
}

static struct pp_native_stack walk_from(uintptr_t pc, struct pp_native_frame frames[8])
{
    ucontext_t context = {0};
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)&words[8];
    struct pp_native_stack stack = {.frames = frames, .cache = &cache, .max = 8};
    pp_native_walk(&context, (uintptr_t)(words + WORDS), &stack);
    return stack;
}

static void walk(struct pp_native_frame frames[8])
{
    struct pp_native_stack stack = walk_from(code(FIRST, 0x10), frames);
    assert_int_equal(stack.reason, PP_REASON_NONE);
    assert_int_equal(stack.count, 3);
    assert_int_equal(frames[0].ip, code(FIRST, 0x10));
    assert_int_equal(frames[0].cfa, &words[10]);
    assert_int_equal(frames[1].ip, code(MIDDLE, 0x0f));
    assert_int_equal(frames[2].ip, code(OUTERMOST, 0x0f));
}

static void an_unload_makes_it_forget(void **state)
{
    (void)state;
    struct pp_native_frame frames[8];
    make(16);
    words[9] = code(MIDDLE, 0x10);
    words[11] = words[13] = code(OUTERMOST, 0x10);
    publish(0, 2);
    for (int i = 0; i < 3; i++) {
        walk(frames);
        assert_int_equal(frames[1].cfa, &words[12]);
    }
    /* other code is loaded there now; what only was added changes nothing */
    make(32);
    publish(1, 2);
    walk(frames);
    assert_int_equal(frames[1].cfa, &words[12]);
    publish(0, 3);
    for (int i = 0; i < 3; i++) {
        walk(frames);
        assert_int_equal(frames[1].cfa, &words[14]);
    }
    /* without a table nothing is known, whatever was */
    atomic_store(&pp_module_table, NULL);
    struct pp_native_stack stack = walk_from(code(FIRST, 0x10), frames);
    assert_int_equal(stack.reason, PP_REASON_NATIVE_NO_ROWS);
}

/* Addresses that come to the same entries drive each other out, and all stay right. */
static void entries_are_shared(void **state)
{
    (void)state;
    struct pp_native_frame frames[8];
    make(16);
    publish(0, 7);
    for (uintptr_t i = 0; i < 4 * PP_RULE_CACHE_SETS * PP_RULE_CACHE_WAYS; i++) {
        unsigned at = 0x11 + i % 0xe0;
        words[9] = code(MIDDLE, at);
        words[11] = code(OUTERMOST, 0x10);
        struct pp_native_stack stack = walk_from(code(FIRST, i % 0xff), frames);
        assert_int_equal(stack.count, 3);
        assert_int_equal(frames[1].ip, code(MIDDLE, at - 1));
        assert_int_equal(frames[1].cfa, &words[12]);
    }
    atomic_store(&pp_module_table, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unload_makes_it_forget),
        cmocka_unit_test(entries_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
