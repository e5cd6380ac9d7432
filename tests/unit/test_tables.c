/* Memory of the definitions: bounded by what lasts. What of label sets is kept when there are many. */
#include "preload/account/interval_data.h"
#include "preload/log/label_sets.h"
#include "unit.h"

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

TEST(what_does_not_last_ends_the_segment_early)
{
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

TEST(what_lasts_may_take_more)
{
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

TEST(positions_make_records_of_their_own)
{
    pp_tables_reset(&tables);
    const struct pp_position whole = {7, 7, 0, 0}, one = {7, 7, 3, 9}, other = {7, 7, 5, 9};
    uint32_t line = pp_frame_python(&tables, 1, &whole), first = pp_frame_python(&tables, 1, &one);
    assert_int_not_equal(line, first);
    assert_int_not_equal(first, pp_frame_python(&tables, 1, &other));
    assert_int_equal(first, pp_frame_python(&tables, 1, &one));
    assert_int_equal(flush_all(), 1);
}

/* Each name of a thread is one thread of the log, until there are too many: then known names stay what they are. */
TEST(many_names_of_threads_become_others)
{
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

/* Makes a set of "key=value" with blanks between them. */
static uint32_t set_of(char out[PP_LABELS_BYTES], const char *text)
{
    uint32_t length = (uint32_t)strlen(text);
    assert_true(length < PP_LABELS_BYTES);
    for (uint32_t i = 0; i <= length; i++)
        out[i] = text[i] == ' ' || text[i] == '=' ? 0 : text[i];
    return length ? length + 1 : 0;
}

/* The id of a set, and in kept what became of it. */
static uint32_t keep(struct pp_tables *of, char kept[PP_LABELS_BYTES], const char *format, ...)
{
    static char text[PP_LABELS_BYTES], set[PP_LABELS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint32_t id = pp_labels_id(of, set, set_of(set, text));
    assert_true(id != 0);
    const struct pp_intern_entry *entry = pp_intern_entry(&of->labels, id);
    memcpy(kept, pp_intern_key(entry), entry->length);
    bool is_key = true;
    for (char *end = kept; (end = memchr(end, 0, (size_t)(kept + entry->length - 1 - end))); is_key = !is_key)
        *end++ = is_key ? '=' : ' ';
    assert_int_equal(pp_labels_have_other(of, id), strcmp(kept, text) != 0);
    return id;
}

/* Each request is a sample of 10 ns. */
TEST(many_tenants_leave_endpoints_what_they_are)
{
    enum { ENDPOINTS = 50, TENANTS = 30, ROUNDS = 2 };
    char kept[PP_LABELS_BYTES], endpoint[32];
    uint64_t sum = 0, other = 0, all = 0;
    pp_interval_reset();
    for (unsigned i = 0; i < ENDPOINTS * TENANTS * ROUNDS; i++) {
        unsigned tenant = i / ENDPOINTS % TENANTS;
        snprintf(endpoint, sizeof endpoint, "endpoint=/%u ", i % ENDPOINTS);
        uint32_t id = keep(&pp_interval.tables, kept, "task=t %stenant=%u", endpoint, tenant);
        assert_non_null(strstr(kept, endpoint));
        assert_non_null(strstr(kept, "task=t "));
        assert_int_equal(strstr(kept, "tenant=(other)") != NULL, tenant >= 20);
        other += tenant >= 20;
        assert_true(pp_add_sample(&sum, &(struct pp_sample_key){1, 1, id, 0}, 1, 10));
    }
    for (uint32_t id = 1; id <= pp_interval.samples.count; id++)
        all += pp_intern_entry(&pp_interval.samples, id)->value[1];
    assert_int_equal(pp_interval.tables.labels.count, 1000 + ENDPOINTS);
    assert_int_equal(all, 10 * ENDPOINTS * TENANTS * ROUNDS);
    assert_int_equal(pp_interval.account.other_labels, other);
    assert_int_equal(pp_interval.account.other_labels_ns, 10 * other);
    pp_interval_reset();
}

TEST(what_has_the_most_values_is_given_up_first)
{
    char kept[PP_LABELS_BYTES];
    pp_tables_reset(&tables);
    static const char *const order[] = {
        "task=%1$u greenlet=%1$u endpoint=%1$u span=%1$u awaiter=%1$u awaiter=%1$u tenant=%1$u",
        "task=%1$u greenlet=%1$u endpoint=%1$u span=%1$u awaiter=%1$u awaiter=%1$u tenant=(other)",
        "task=%1$u greenlet=%1$u endpoint=%1$u span=%1$u awaiter=(other) awaiter=(other) tenant=(other)",
        "task=(other) greenlet=%1$u endpoint=%1$u span=%1$u awaiter=(other) awaiter=(other) tenant=(other)",
        "task=(other) greenlet=%1$u endpoint=%1$u span=(other) awaiter=(other) awaiter=(other) tenant=(other)",
        "task=(other) greenlet=(other) endpoint=%1$u span=(other) awaiter=(other) awaiter=(other) tenant=(other)",
        "task=(other) greenlet=(other) endpoint=(other) span=(other) awaiter=(other) awaiter=(other) tenant=(other)",
    };
    enum { STAGES = sizeof order / sizeof *order };
    unsigned stage = 0, at[STAGES] = {0};
    for (unsigned i = 0; i < 3000; i++) {
        char wanted[PP_LABELS_BYTES];
        keep(&tables, kept, order[0], i);
        for (bool same = false; !same; stage += !same) {
            assert_true(stage < STAGES);
            snprintf(wanted, sizeof wanted, order[stage], i);
            same = strcmp(kept, wanted) == 0;
        }
        at[stage]++;
    }
    for (unsigned i = 0; i + 1 < STAGES; i++)
        assert_in_range(at[i], 100, 1000);
    assert_int_equal(at[0], 1000);
    assert_int_equal(tables.labels.count, 2001);
    keep(&tables, kept, order[0], 7);
    assert_memory_equal(kept, "task=7 ", 7); /* a set that is known stays */
    flush_all();
}

/* Whatever a program makes up, keys included. */
TEST(label_sets_are_bounded)
{
    char kept[PP_LABELS_BYTES];
    pp_tables_reset(&tables);
    for (unsigned i = 0; i < 50000; i++) {
        keep(&tables, kept, "key%u=%u", i, i);
        keep(&tables, kept, "task=%u endpoint=%u key%u=%u", i, i, i, i);
        keep(&tables, kept, "awaiter=%u endpoint=%u", i, i);
    }
    assert_string_equal(kept, "awaiter=(other) endpoint=(other)");
    keep(&tables, kept, "task=t endpoint=/ key=x");
    assert_string_equal(kept, "task=(other) endpoint=(other) (other)=(other)");
    assert_in_range(tables.labels.count, 3500, 3510);
    assert_in_range(tables.arena.mapped, 1, 4 * MIB);
    flush_all();
}
