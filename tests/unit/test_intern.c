/* Interning and the arena below it. */
#include "preload/base/intern.h"
#include "unit.h"

static struct pp_arena arena;

void after_each(void)
{
    pp_arena_reset(&arena);
}

TEST(ids_count_from_one)
{
    struct pp_intern table;
    bool fresh;
    pp_intern_init(&table, &arena);
    assert_int_equal(pp_intern(&table, "a", 1, &fresh), 1);
    assert_true(fresh);
    assert_int_equal(pp_intern(&table, "b", 1, &fresh), 2);
    assert_true(fresh);
    assert_int_equal(pp_intern(&table, "a", 1, &fresh), 1);
    assert_false(fresh);
}

TEST(length_is_part_of_the_key)
{
    struct pp_intern table;
    bool fresh;
    pp_intern_init(&table, &arena);
    uint32_t shorter = pp_intern(&table, "x\0\0", 2, &fresh), longer = pp_intern(&table, "x\0\0", 3, &fresh);
    assert_true(fresh);
    assert_int_not_equal(shorter, longer);
    assert_int_not_equal(pp_intern(&table, "", 0, &fresh), 0);
    assert_true(fresh);
    pp_intern(&table, "", 0, &fresh);
    assert_false(fresh);
}

TEST(many_keys_keep_ids_values_and_copies)
{
    enum { MANY = 100000 };
    struct pp_intern table;
    bool fresh;
    char key[32];
    pp_intern_init(&table, &arena);
    for (unsigned i = 1; i <= MANY; i++) {
        uint32_t length = (uint32_t)snprintf(key, sizeof key, i % 2 ? "function_%u" : "%u", i);
        assert_int_equal(pp_intern(&table, key, length, &fresh), i);
        assert_true(fresh);
        pp_intern_entry(&table, i)->value[1] = i * 3;
    }
    for (unsigned i = 1; i <= MANY; i++) {
        uint32_t length = (uint32_t)snprintf(key, sizeof key, i % 2 ? "function_%u" : "%u", i);
        assert_int_equal(pp_intern(&table, key, length, &fresh), i);
        assert_false(fresh);
        const struct pp_intern_entry *entry = pp_intern_entry(&table, i);
        assert_int_equal(entry->value[1], i * 3);
        assert_int_equal(entry->length, length);
        assert_memory_equal(pp_intern_key(entry), key, length);
    }
}

TEST(arena_memory_is_zeroed_aligned_and_apart)
{
    unsigned char *previous = NULL;
    size_t previous_size = 0;
    for (size_t size = 1; size < 300000; size = size * 3 / 2 + 1) {
        unsigned char *p = pp_arena_alloc(&arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
        assert_true(!previous || p + size <= previous || previous + previous_size <= p);
        previous = p;
        previous_size = size;
    }
    assert_true(arena.mapped > 0);
    pp_arena_reset(&arena);
    assert_int_equal(arena.mapped, 0);
}
