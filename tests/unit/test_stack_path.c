/* Repeating the last stack's steps finds the nodes that a search of the tables finds. */
#include "preload/merge/stack_path.h"
#include "unit.h"

#define STACKS   20000u
#define DEEPEST  600u /* deeper than what is kept of a stack */
#define MEANINGS 7u

static struct pp_tables tables;
static uint32_t searches;

void before_each(void)
{
    pp_tables_reset(&tables);
    searches = 0;
}

/* Takes one step as the flush thread does. The frame hangs on the key and on `meaning`, which changes with the code. */
static void take(struct pp_path *path, uint32_t key, uint32_t meaning)
{
    if (pp_path_repeat(path, (struct pp_path_key){{key, 1}}))
        return;
    searches++;
    pp_path_step(path, (struct pp_path_key){{key, 1}}, key % 5 ? 1 + key * MEANINGS + meaning : PP_HIDDEN_FRAME);
}

/* Returns the stack's node; `expected` is set to what the tables alone say. */
static uint32_t walk(const uint32_t *keys, uint32_t depth, uint32_t meaning, uint64_t changes, uint32_t *expected)
{
    struct pp_path path = pp_path_start(&tables, changes);
    *expected = 0;
    for (uint32_t i = 0; i < depth; i++) {
        take(&path, keys[i], meaning);
        if (keys[i] % 5)
            *expected = pp_node_id(&tables, *expected, 1 + keys[i] * MEANINGS + meaning);
    }
    return path.node;
}

static void write_interval(void)
{
    static struct pp_buffer out;
    uint32_t sequence = 0;
    pp_buffer_clear(&out);
    pp_tables_write(&tables, &out, &sequence);
}

TEST(nodes_are_those_of_the_tables)
{
    static uint32_t keys[DEEPEST];
    uint32_t depth = 40, meaning = 0, expected;
    uint64_t changes = 0;
    srand(1);
    for (uint32_t n = 0; n < STACKS; n++) {
        uint32_t from = (uint32_t)rand() % (depth + 1); /* the rest is new */
        if (n % 100 == 0)
            from = 0;
        depth = n % 997 == 0 ? DEEPEST : from + (uint32_t)rand() % 12;
        for (uint32_t i = from; i < depth; i++)
            keys[i] = (uint32_t)rand() % 50;
        if (n % 211 == 0) {
            meaning = (meaning + 1) % MEANINGS;
            changes++;
        } else if (n % 307 == 0) {
            meaning = (meaning + 1) % MEANINGS;
            pp_path_forget();
        } else if (n % 401 == 0) {
            write_interval();
        } else if (n % 4001 == 0) {
            pp_tables_reset(&tables);
        }
        uint32_t node = walk(keys, depth, meaning, changes, &expected);
        assert_int_equal(node, expected);
    }
}

TEST(only_what_differs_is_searched_for)
{
    uint32_t keys[50], expected;
    for (uint32_t i = 0; i < 50; i++)
        keys[i] = i;
    walk(keys, 50, 0, 0, &expected);
    assert_int_equal(searches, 50);
    for (uint32_t n = 1; n <= 100; n++) {
        keys[48] = 1000 + n;
        walk(keys, 50, 0, 0, &expected);
    }
    assert_int_equal(searches, 50 + 100 * 2);
}

/* Each interval marks the nodes that it uses, by which the tables know what lasts. */
TEST(what_lasts_is_marked_all_the_same)
{
    uint32_t keys[] = {1, 2, 3, 4}, expected;
    for (unsigned n = 0; n < 3; n++) {
        struct pp_path path = pp_path_start(&tables, 0);
        for (unsigned i = 0; i < 4; i++)
            take(&path, keys[i], 0);
        write_interval();
    }
    assert_int_equal(tables.lasting_nodes, 4);
    (void)walk(keys, 4, 0, 0, &expected);
    assert_int_equal(tables.lasting_nodes, 4);
}
