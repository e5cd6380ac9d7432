/* Memory of the definitions: bounded by what lasts. */
#include "preload/log/tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static struct pp_tables tables;

static uint32_t flush_all(void)
{
    static struct pp_buffer out;
    uint32_t sequence = 0;
    pp_buffer_clear(&out);
    pp_tables_write(&tables, &out, &sequence);
    return sequence;
}

/* So many stacks of three frames, one flush after each thousand. */
static void add_stacks(uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = pp_node_id(&tables, 0, 1), caller = pp_node_id(&tables, root, 2 + (first + i) / 2);
        assert_true(pp_node_id(&tables, caller, 2 + first + i) != 0);
        if (i % 1000 == 999)
            flush_all();
    }
}

static void what_does_not_last_ends_the_segment_early(void **state)
{
    (void)state;
    pp_tables_reset(&tables);
    uint32_t stacks = 0;
    while (!pp_tables_full(&tables) && stacks < 10000000) {
        add_stacks(stacks, 1000);
        stacks += 1000;
    }
    assert_in_range(tables.arena.mapped, 8 * MIB, 16 * MIB);
    pp_tables_reset(&tables);
    assert_false(pp_tables_full(&tables));
    assert_int_equal(tables.lasting_nodes, 0);
}

static void what_lasts_may_take_more(void **state)
{
    (void)state;
    pp_tables_reset(&tables);
    uint32_t stacks = 0;
    while (!pp_tables_full(&tables) && stacks < 10000000) {
        add_stacks(stacks, 1000);
        add_stacks(stacks, 1000); /* again, in the next interval */
        stacks += 1000;
    }
    assert_in_range(tables.arena.mapped, 48 * MIB, 100 * MIB);
    pp_tables_reset(&tables);
}

static void positions_make_records_of_their_own(void **state)
{
    (void)state;
    pp_tables_reset(&tables);
    const struct pp_position whole = {7, 7, 0, 0}, one = {7, 7, 3, 9}, other = {7, 7, 5, 9};
    uint32_t line = pp_frame_python(&tables, 1, &whole), first = pp_frame_python(&tables, 1, &one);
    assert_int_not_equal(line, first);
    assert_int_not_equal(first, pp_frame_python(&tables, 1, &other));
    assert_int_equal(first, pp_frame_python(&tables, 1, &one));
    assert_int_equal(flush_all(), 1);
}

/* Each name of a thread is one thread of the log, until there are too many: then known names stay what they are. */
static void many_names_of_threads_become_others(void **state)
{
    (void)state;
    char name[16];
    pp_tables_reset(&tables);
    uint32_t thread = pp_thread_id(&tables, 0, 7, pp_string_id(&tables, "own", 3), 1, PP_THREAD_MAIN);
    uint32_t first = pp_thread_named(&tables, thread, 7, pp_string_id(&tables, "first", 5), 1), last = first;
    assert_int_not_equal(first, thread);
    for (unsigned i = 0; i < 1500; i++) {
        int length = snprintf(name, sizeof name, "name %u", i);
        last = pp_thread_named(&tables, thread, 7, pp_string_id(&tables, name, (size_t)length), 1);
        assert_int_equal(last, pp_thread_named(&tables, thread, 7, pp_string_id(&tables, name, (size_t)length), 1));
    }
    assert_int_equal(last, pp_thread_named(&tables, thread, 7, pp_string_id(&tables, "(other)", 7), 1));
    assert_int_equal(first, pp_thread_named(&tables, thread, 7, pp_string_id(&tables, "first", 5), 1));
    assert_in_range(tables.threads, 1000, 1003);
    flush_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_last_ends_the_segment_early),
        cmocka_unit_test(what_lasts_may_take_more),
        cmocka_unit_test(positions_make_records_of_their_own),
        cmocka_unit_test(many_names_of_threads_become_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
