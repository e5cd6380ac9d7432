/* The code objects that handlers defined: by content, in two generations of bounded size. */
#include "preload/capture/capture.h"
#include "preload/capture/slot_memory.h"
#include "preload/merge/code_objects.h"
#include "unit.h"

#define TABLE_BYTES 8192

static struct pp_slot *slot;
static struct {
    struct pp_record_code head;
    char rest[64 + TABLE_BYTES];
} record;

void before_each(void)
{
    pp_codes_reset();
    slot = calloc(1, sizeof *slot);
    assert_true(slot && pp_slot_memory_begin(slot));
}

void after_each(void)
{
    pp_slot_memory_end(slot);
    free(slot);
}

static uint32_t epoch(void)
{
    return atomic_load(&pp_capture.code_epoch);
}

/* Defines function "f<number>" of a.py for a cache entry, in the current epoch. */
static void define(uint32_t entry, unsigned number, uint32_t table_bytes)
{
    memset(&record, 0, sizeof record);
    int length = snprintf(record.rest, 32, "f%u", number);
    memcpy(record.rest + length, "a.py", 4);
    memset(record.rest + length + 4, 7, table_bytes);
    record.head.entry = entry;
    record.head.epoch = epoch();
    record.head.line_table_format = PP_LINES_LOCATIONS;
    record.head.first_line = number;
    record.head.line_table_bytes = table_bytes;
    record.head.qualname = (struct pp_record_text){.bytes = (uint32_t)length, .width = 1};
    record.head.filename = (struct pp_record_text){.bytes = 4, .width = 1};
    size_t size = sizeof record.head + (size_t)length + 4 + table_bytes;
    record.head.header = (struct pp_record){(uint32_t)(size + 7) & ~7u, PP_RECORD_CODE};
    pp_codes_define(slot, &record.head);
}

TEST(the_same_content_is_one_code)
{
    uint32_t first, second, third;
    define(1, 1, 10);
    define(2, 1, 10);
    define(3, 2, 10);
    struct pp_code *code = pp_codes_find(slot, epoch(), 1, &first);
    assert_non_null(code);
    assert_string_equal(code->qualname, "f1");
    assert_string_equal(code->filename, "a.py");
    assert_int_equal(code->line_table_bytes, 10);
    assert_ptr_equal(pp_codes_find(slot, epoch(), 2, &second), code);
    assert_int_equal(first, second);
    assert_ptr_not_equal(pp_codes_find(slot, epoch(), 3, &third), code);
    assert_null(pp_codes_find(slot, epoch(), 4, &third));
    assert_null(pp_codes_find(slot, epoch(), pp_slot_code_numbers(slot), &third));
}

TEST(the_number_of_changes_tells_of_other_answers_only)
{
    uint32_t number;
    define(1, 1, 10);
    uint64_t changes = pp_codes_changes();
    define(2, 2, 10);
    assert_int_equal(pp_codes_changes(), changes); /* no answer was given for that entry */
    define(1, 3, 10);
    assert_int_not_equal(pp_codes_changes(), changes);
    assert_null(pp_codes_find(slot, epoch(), 3, &number));
    changes = pp_codes_changes();
    pp_codes_find(slot, epoch(), 3, &number);
    define(3, 4, 10);
    assert_int_not_equal(pp_codes_changes(), changes);
}

/* Ever new functions until the handlers are told to define anew. Returns how many. */
static unsigned fill_generation(unsigned from)
{
    uint32_t before = epoch();
    unsigned number = from;
    while (epoch() == before) {
        define(5, number++, TABLE_BYTES);
        pp_codes_limit();
        assert_true(number - from < 100000);
    }
    assert_int_equal(epoch(), before + 1);
    return number - from;
}

TEST(a_full_generation_begins_another_and_the_older_one_lives_on)
{
    uint32_t number, old = epoch();
    fill_generation(1000);
    struct pp_code *code = pp_codes_find(slot, old, 5, &number);
    assert_non_null(code); /* of a sample that was taken before */
    assert_int_equal(code->qualname[0], 'f');
    /* the handlers define anew; what they have not yet is not known in this epoch */
    define(6, 7, 10);
    assert_non_null(pp_codes_find(slot, epoch(), 6, &number));
    assert_string_equal(pp_codes_find(slot, epoch(), 6, &number)->qualname, "f7");
    uint32_t between = epoch();
    fill_generation(200000);
    assert_null(pp_codes_find(slot, old, 5, &number));
    assert_non_null(pp_codes_find(slot, between, 6, &number));
    assert_null(pp_codes_find(slot, epoch() + 1, 6, &number));
}

TEST(memory_is_bounded)
{
    /* as many in each generation: nothing of the older ones is left in it */
    unsigned first = fill_generation(0);
    for (unsigned i = 1; i < 5; i++) {
        unsigned count = fill_generation(i * 100000);
        assert_true(count <= first + 1 && count + 1 >= first);
    }
}

TEST(forgotten_all_at_once)
{
    uint32_t number, old = epoch();
    define(1, 1, 10);
    pp_codes_reset();
    assert_null(pp_codes_find(slot, old, 1, &number));
    assert_true(epoch() - old > 1);
}
