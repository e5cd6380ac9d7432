/* Functions are met one by one, in any order, in sections that may be damaged or not all there. */
#include "../../preload/base/arena.h"
#include "made_eh_frame.h"
#include "unit.h"
#include <sys/mman.h>

#define PAGE       4096u
#define MEMORY     (64 * PAGE)
#define MANY       20000u /* functions: their table has more pieces than are kept */
#define MEETINGS   1000u
#define ORDERS     50
#define SEARCH     61u /* bytes between the addresses at which rows are compared */
#define GAP_BEFORE 0x100u

static struct made_eh_frame made;
static struct pp_unwind_source source;
static uint8_t *memory;

/* The rows of one draft, or of a packed one. */
struct rows {
    struct pp_unwind_draft draft;
    struct pp_unwind_rows *packed;
    struct pp_module_range range;
};

void before_each(void)
{
    memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    made_start(&made, memory, "zR");
}

void after_each(void)
{
    pp_vector_free(&made.index.functions);
    assert_int_equal(munmap(memory, MEMORY), 0);
}

static void start(struct rows *rows)
{
    source = made_source(&made);
    made.index.module = 0; /* the memory may have changed: it is another module */
    *rows = (struct rows){.range = made_range(&made)};
    assert_true(pp_unwind_draft_start(&rows->draft, &rows->range));
}

static void check(const struct pp_module_range *range)
{
    assert_int_equal(range->rows[0].pc, 0);
    for (uint32_t i = 0; i < range->row_count; i++) {
        assert_true(i == 0 || range->rows[i].pc > range->rows[i - 1].pc);
        assert_true(PP_ROW_RULE(range->rows[i].rule) < range->rule_count);
    }
}

static void meet(struct rows *rows, uint32_t offset)
{
    assert_true(pp_unwind_draft_add(&rows->draft, &source, source.text_start + offset));
    pp_unwind_draft_show(&rows->draft, &rows->range);
    check(&rows->range);
}

/* Packs the rows and goes on with a draft that starts with them. */
static void publish(struct rows *rows)
{
    struct pp_unwind_rows *packed = pp_unwind_draft_pack(&rows->draft, &source);
    assert_non_null(packed);
    pp_unwind_draft_free(&rows->draft);
    rows->range.rows = packed->rows;
    rows->range.rules = packed->rules;
    rows->range.blocks = packed->blocks;
    rows->range.block_shift = packed->block_shift;
    rows->range.row_count = packed->row_count;
    rows->range.rule_count = packed->rule_count;
    check(&rows->range);
    if (rows->packed)
        pp_unmap(rows->packed, rows->packed->mapped);
    rows->packed = packed;
    assert_true(pp_unwind_draft_start(&rows->draft, &rows->range));
}

static void end(struct rows *rows)
{
    pp_unwind_draft_free(&rows->draft);
    if (rows->packed)
        pp_unmap(rows->packed, rows->packed->mapped);
}

static uint32_t number_at(const struct rows *rows, uint32_t offset)
{
    return PP_ROW_RULE(rows->range.rows[pp_unwind_find_row(&rows->range, offset)].rule);
}

static const struct pp_unwind_rule *rule_at(const struct rows *rows, uint32_t offset)
{
    return &rows->range.rules[number_at(rows, offset)];
}

/* Rules may have other numbers. */
static void assert_same(const struct rows *a, const struct rows *b)
{
    assert_int_equal(a->range.row_count, b->range.row_count);
    for (uint32_t i = 0; i < a->range.row_count; i++) {
        assert_int_equal(a->range.rows[i].pc, b->range.rows[i].pc);
        assert_int_equal(a->range.rows[i].rule & PP_ROW_FUNCTION_START, b->range.rows[i].rule & PP_ROW_FUNCTION_START);
        assert_memory_equal(&a->range.rules[PP_ROW_RULE(a->range.rows[i].rule)],
                            &b->range.rules[PP_ROW_RULE(b->range.rows[i].rule)], sizeof(struct pp_unwind_rule));
    }
    for (uint32_t offset = 0; offset < MADE_TEXT_SIZE; offset += SEARCH)
        assert_memory_equal(rule_at(a, offset), rule_at(b, offset), sizeof(struct pp_unwind_rule));
}

/* Functions of several sizes, some directly one after another. */
static uint32_t make_functions(uint32_t starts[MADE_MAX])
{
    uint32_t at = GAP_BEFORE;
    for (uint32_t i = 0; i < MADE_MAX; i++) {
        uint32_t size = 16 + i * 37 % 200;
        /* push rbp; …; pop rbp; ret */
        uint8_t code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x45, (uint8_t)(0x0c), 7, (uint8_t)(8 + i % 5 * 8)};
        starts[i] = at;
        made_function(&made, at, size, code, sizeof code);
        at += size + (i % 3 ? 0 : 24 + i);
    }
    return at;
}

TEST(any_order_gives_the_same_rows)
{
    uint32_t starts[MADE_MAX], met[2 * MADE_MAX + 1], count = 0;
    uint32_t last = make_functions(starts);
    for (uint32_t i = 0; i < MADE_MAX; i++) {
        met[count++] = starts[i] + 7;
        if (i % 3 == 0)
            met[count++] = (i + 1 < MADE_MAX ? starts[i + 1] : last) - 1; /* in the gap after it */
    }
    met[count++] = 5; /* before the first */
    struct rows ascending;
    start(&ascending);
    meet(&ascending, 5);
    for (uint32_t i = 0; i < count; i++)
        meet(&ascending, met[i]);
    assert_int_equal(number_at(&ascending, 0), PP_RULE_GAP);
    assert_int_equal(number_at(&ascending, GAP_BEFORE - 1), PP_RULE_GAP);
    assert_int_equal(number_at(&ascending, MADE_TEXT_SIZE - 1), PP_RULE_GAP);
    for (uint32_t offset = 0; offset < MADE_TEXT_SIZE; offset++)
        assert_int_not_equal(number_at(&ascending, offset), PP_RULE_UNKNOWN);
    srand(1);
    for (unsigned order = 0; order < ORDERS; order++) {
        struct rows rows;
        start(&rows);
        for (uint32_t i = count; i-- > 0;) {
            uint32_t other = (uint32_t)rand() % (i + 1), offset = met[other];
            met[other] = met[i];
            met[i] = offset;
            meet(&rows, offset);
            if (order % 2 && rand() % 8 == 0)
                publish(&rows);
        }
        assert_same(&rows, &ascending);
        end(&rows);
    }
    end(&ascending);
}

/* What was not met stays unknown, next to what was. */
TEST(only_what_was_met_is_known)
{
    uint32_t starts[MADE_MAX];
    make_functions(starts);
    srand(2);
    for (unsigned order = 0; order < ORDERS; order++) {
        struct rows rows;
        bool met[MADE_MAX] = {false};
        start(&rows);
        for (unsigned n = 0; n < MADE_MAX / 2; n++) {
            uint32_t i = (uint32_t)rand() % MADE_MAX;
            meet(&rows, starts[i] + (uint32_t)rand() % 16);
            met[i] = true;
            if (order % 2 && rand() % 8 == 0)
                publish(&rows);
            assert_int_equal(number_at(&rows, GAP_BEFORE - 1), PP_RULE_UNKNOWN);
            for (uint32_t k = 0; k + 1 < MADE_MAX; k++) {
                assert_int_equal(number_at(&rows, starts[k]) != PP_RULE_UNKNOWN, met[k]);
                assert_int_equal(number_at(&rows, starts[k + 1] - 1) != PP_RULE_UNKNOWN, met[k]);
            }
        }
        end(&rows);
    }
}

TEST(met_again_changes_nothing)
{
    struct rows once, twice;
    made_simple(&made, 0x100, 0x80, 24);
    made_simple(&made, 0x200, 0x80, 32);
    start(&once);
    start(&twice);
    meet(&once, 0x110);
    for (uint32_t offset = 0x100; offset < 0x200; offset += 8)
        meet(&twice, offset);
    assert_same(&once, &twice);
    end(&once);
    end(&twice);
}

/* The last entry that does not start after an address counts, as in libgcc and libunwind. */
TEST(entries_of_one_start)
{
    struct rows rows;
    made_simple(&made, 0x100, 0x80, 24);
    made_simple(&made, 0x100, 0x40, 32);
    made_simple(&made, 0x100, 0x60, 40);
    made_simple(&made, 0x200, 0x80, 48);
    start(&rows);
    meet(&rows, 0x150);
    assert_int_equal(rule_at(&rows, 0x100)->cfa_offset, 40);
    assert_int_equal(rule_at(&rows, 0x15f)->cfa_offset, 40);
    assert_int_equal(number_at(&rows, 0x160), PP_RULE_GAP);
    assert_int_equal(number_at(&rows, 0x200), PP_RULE_UNKNOWN);
    end(&rows);
}

/* A function ends where the next one starts, whichever is met first. */
TEST(functions_that_overlap)
{
    static const uint32_t met[2][3] = {{0x110, 0x210, 0x290}, {0x290, 0x210, 0x110}};
    made_simple(&made, 0x100, 0x200, 24);
    made_simple(&made, 0x200, 0x80, 32);
    for (unsigned order = 0; order < 2; order++) {
        struct rows rows;
        start(&rows);
        for (unsigned i = 0; i < 3; i++)
            meet(&rows, met[order][i]);
        assert_int_equal(rule_at(&rows, 0x1ff)->cfa_offset, 24);
        assert_int_equal(rule_at(&rows, 0x200)->cfa_offset, 32);
        assert_int_equal(rule_at(&rows, 0x27f)->cfa_offset, 32);
        assert_int_equal(number_at(&rows, 0x280), PP_RULE_GAP);
        assert_int_equal(number_at(&rows, 0x2ff), PP_RULE_GAP);
        end(&rows);
    }
}

TEST(without_search_table)
{
    struct rows rows;
    memory[2] = 0xff;                    /* no count */
    made_simple(&made, 0x400, 0x80, 32); /* nor are the entries in order */
    made_cie(&made, "zR");
    made_simple(&made, 0x100, 0x80, 24);
    made_simple(&made, 0x180, 0x80, 40);
    start(&rows);
    meet(&rows, 0x181);
    meet(&rows, 0x42f);
    meet(&rows, 0x17f);
    meet(&rows, 0x300);
    assert_int_equal(rule_at(&rows, 0x100)->cfa_offset, 24);
    assert_int_equal(rule_at(&rows, 0x180)->cfa_offset, 40);
    assert_int_equal(rule_at(&rows, 0x400)->cfa_offset, 32);
    assert_int_equal(number_at(&rows, 0x300), PP_RULE_GAP);
    assert_int_equal(number_at(&rows, 0xff), PP_RULE_UNKNOWN);
    assert_int_equal(number_at(&rows, 0x480), PP_RULE_GAP);
    /* the entries were read once */
    publish(&rows);
    memset(memory + made.cie, 0, made.used - made.cie);
    meet(&rows, 0xff);
    assert_int_equal(number_at(&rows, 0xff), PP_RULE_GAP);
    end(&rows);
}

/* Entries larger than what is copied at once; one that claims to be larger than any is. */
TEST(long_entries)
{
    static uint8_t code[20000];
    struct rows rows;
    memcpy(code + sizeof code - 3, (const uint8_t[]){0x41, 0x0e, 16}, 3);
    uint32_t damaged = made_simple(&made, 0x100, 0x80, 24);
    made_function(&made, 0x200, 0x80, code, sizeof code);
    made_function(&made, 0x300, 0x80, code + 18000, 2000);
    made_simple(&made, 0x400, 0x80, 24);
    made_word(&made, damaged, 0x200000);
    start(&rows);
    for (uint32_t at = 0x100; at <= 0x400; at += 0x100)
        meet(&rows, at + 0x10);
    assert_int_equal(number_at(&rows, 0x110), PP_RULE_INVALID);
    for (uint32_t at = 0x200; at <= 0x300; at += 0x100) {
        assert_int_equal(rule_at(&rows, at)->cfa_offset, 8);
        assert_int_equal(rule_at(&rows, at + 1)->cfa_offset, 16);
    }
    assert_int_equal(rule_at(&rows, 0x400)->cfa_offset, 24);
    end(&rows);
    /* without the table nothing after it is found, and all ends */
    memory[2] = 0xff;
    start(&rows);
    meet(&rows, 0x310);
    meet(&rows, 0x110);
    assert_int_equal(number_at(&rows, 0x310), PP_RULE_GAP);
    end(&rows);
}

/* Entries on both sides of a page that cannot be read, and in it. */
TEST(a_page_of_the_entries_is_missing)
{
    struct rows rows;
    static uint8_t nops[3600];
    if (page_bytes() > PAGE)
        skip();
    made_simple(&made, 0x100, 0x80, 24);
    uint32_t crossing = made_function(&made, 0x200, 0x80, nops, sizeof nops);
    made.used = 2 * PAGE;
    made_cie(&made, "zR"); /* in page 2, which stays; page 1 goes */
    uint32_t after = made_simple(&made, 0x300, 0x80, 32);
    assert_true(crossing < PAGE && crossing + sizeof nops > PAGE && after > 2 * PAGE);
    start(&rows);
    assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
    meet(&rows, 0x210);
    meet(&rows, 0x310);
    meet(&rows, 0x110);
    assert_int_equal(number_at(&rows, 0x210), PP_RULE_INVALID);
    assert_int_equal(rule_at(&rows, 0x310)->cfa_offset, 32);
    assert_int_equal(rule_at(&rows, 0x110)->cfa_offset, 24);
    assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    end(&rows);
}

/* Nothing of the section can be read any more: a module that was unloaded. Addresses are known all the same, so that
 * handlers do not copy their stacks for them again. */
TEST(all_is_missing)
{
    struct rows rows;
    made_simple(&made, 0x100, 0x80, 24);
    start(&rows);
    assert_int_equal(mprotect(memory, MEMORY, PROT_NONE), 0);
    meet(&rows, 0x110);
    meet(&rows, 0x100);
    meet(&rows, 0);
    meet(&rows, MADE_TEXT_SIZE - 1);
    assert_int_equal(number_at(&rows, 0x110), PP_RULE_INVALID);
    assert_int_equal(number_at(&rows, 0x100), PP_RULE_INVALID);
    assert_int_equal(number_at(&rows, 0x101), PP_RULE_UNKNOWN);
    assert_int_equal(mprotect(memory, MEMORY, PROT_READ | PROT_WRITE), 0);
    end(&rows);
}

/* The table claims more entries than its section has room for, and ends within one. */
TEST(a_truncated_table)
{
    struct rows rows;
    for (uint32_t i = 1; i <= 8; i++)
        made_simple(&made, i * 0x100, 0x80, (uint8_t)(8 * (i + 1)));
    made_word(&made, 8, UINT32_MAX);
    start(&rows);
    source.hdr_end = source.hdr_start + 12 + 5 * 8 + 7;
    for (uint32_t i = 1; i <= 5; i++)
        meet(&rows, i * 0x100 + 0x7f);
    for (uint32_t i = 1; i <= 5; i++)
        assert_int_equal(rule_at(&rows, i * 0x100)->cfa_offset, 8 * (i + 1));
    meet(&rows, 0x610);
    assert_int_equal(number_at(&rows, 0x610), PP_RULE_GAP);
    end(&rows);
    for (uint32_t size = 0; size < 12; size++) {
        start(&rows);
        source.hdr_end = source.hdr_start + size;
        meet(&rows, 0x110);
        assert_true(number_at(&rows, 0x110) <= PP_RULE_FIRST);
        end(&rows);
    }
}

/* The table is of nothing that can be searched. */
TEST(an_unsorted_table)
{
    struct rows rows;
    srand(3);
    for (uint32_t i = 1; i <= MADE_MAX; i++)
        made_simple(&made, i * 29 % (MADE_MAX + 1) * 0x100, 0x80, 24);
    start(&rows);
    for (unsigned n = 0; n < 2000; n++) {
        uint32_t offset = (uint32_t)rand() % MADE_TEXT_SIZE;
        meet(&rows, offset);
        assert_int_not_equal(number_at(&rows, offset), PP_RULE_UNKNOWN);
        if (n % 100 == 0)
            publish(&rows);
    }
    end(&rows);
}

/* Functions that start before the text or end after it. */
TEST(functions_outside_the_text)
{
    struct rows rows;
    made_simple(&made, (uint32_t)-0x100, 0x180, 24);
    made_simple(&made, 0x100, 0x80, 32);
    made_simple(&made, MADE_TEXT_SIZE - 0x10, 0x100, 40);
    made_simple(&made, MADE_TEXT_SIZE + 0x100, 0x80, 48);
    start(&rows);
    meet(&rows, 0x10);
    meet(&rows, MADE_TEXT_SIZE - 1);
    meet(&rows, 0x110);
    assert_int_equal(number_at(&rows, 0x10), PP_RULE_INVALID);
    assert_int_equal(rule_at(&rows, 0x100)->cfa_offset, 32);
    assert_int_equal(rule_at(&rows, MADE_TEXT_SIZE - 1)->cfa_offset, 40);
    end(&rows);
}

/* Writes the memory to a file, after a page of something else. */
static struct pp_unwind_file make_file(void)
{
    static const uint8_t other[PAGE] = {1};
    struct pp_unwind_file file = {(uintptr_t)memory, (uintptr_t)memory + MEMORY, PAGE, memfd_create("file", 0)};
    assert_true(file.fd >= 0);
    assert_int_equal(write(file.fd, other, PAGE), PAGE);
    assert_int_equal(write(file.fd, memory, MEMORY), MEMORY);
    return file;
}

static void from_file(struct rows *rows, struct pp_unwind_file file)
{
    start(rows);
    source.file = file;
}

/* Meets these functions, of which some are larger than what is copied at once. */
static void meet_several(struct rows *rows)
{
    for (uint32_t i = 1; i <= 8; i++)
        meet(rows, i * 0x100 + 0x10);
}

static void make_several(void)
{
    static uint8_t code[3000];
    for (uint32_t i = 1; i <= 8; i++)
        if (i % 4 == 0)
            made_function(&made, i * 0x100, 0x80, code, sizeof code - i);
        else
            made_simple(&made, i * 0x100, 0x80, (uint8_t)(8 * (i + 1)));
}

TEST(memory_is_not_touched_where_there_is_a_file)
{
    struct rows by_memory, by_file;
    make_several();
    start(&by_memory);
    meet_several(&by_memory);
    struct pp_unwind_file file = make_file();
    from_file(&by_file, file);
    assert_int_equal(mprotect(memory, MEMORY, PROT_NONE), 0);
    meet_several(&by_file);
    assert_same(&by_memory, &by_file);
    assert_int_equal(mprotect(memory, MEMORY, PROT_READ | PROT_WRITE), 0);
    end(&by_memory);
    end(&by_file);
    close(file.fd);
}

/* A file that was cut, or of which a part only is what is loaded. */
TEST(what_the_file_lacks_is_read_from_memory)
{
    struct rows by_memory, by_file;
    make_several();
    start(&by_memory);
    meet_several(&by_memory);
    struct pp_unwind_file file = make_file();
    for (off_t size = PAGE + 700; size > 0; size -= 100) {
        assert_int_equal(ftruncate(file.fd, size), 0);
        from_file(&by_file, file);
        meet_several(&by_file);
        assert_same(&by_memory, &by_file);
        end(&by_file);
    }
    close(file.fd);
    for (size_t size = 0; size < 1000; size += 50) {
        static uint8_t other[MEMORY];
        file = make_file();
        file.end = file.start + size;
        memset(other, 0x55, sizeof other);
        assert_int_equal(pwrite(file.fd, other, MEMORY - size, (off_t)(PAGE + size)), MEMORY - size);
        from_file(&by_file, file);
        meet_several(&by_file);
        assert_same(&by_memory, &by_file);
        end(&by_file);
        close(file.fd);
    }
    end(&by_memory);
}

/* The loader has relocated the entries: in the file they have other starts. */
TEST(relocated_entries)
{
    for (unsigned table = 0; table < 2; table++) {
        struct rows rows;
        made_start(&made, memset(memory, 0, MEMORY), "zR");
        uint32_t fdes[] = {made_simple(&made, 0x100, 0x80, 24), made_simple(&made, 0x200, 0x80, 32)}, starts[2];
        if (!table)
            memory[2] = 0xff;
        for (unsigned i = 0; i < 2; i++) {
            memcpy(&starts[i], memory + fdes[i] + 8, sizeof starts[i]);
            made_word(&made, fdes[i] + 8, 0x100);
        }
        struct pp_unwind_file file = make_file();
        for (unsigned i = 0; i < 2; i++)
            made_word(&made, fdes[i] + 8, starts[i]);
        from_file(&rows, file);
        meet(&rows, 0x110);
        meet(&rows, 0x210);
        assert_int_equal(rule_at(&rows, 0x100)->cfa_offset, 24);
        assert_int_equal(rule_at(&rows, 0x200)->cfa_offset, 32);
        end(&rows);
        close(file.fd);
        pp_vector_free(&made.index.functions);
    }
}

/* Another module's table takes the places of the pieces that are kept, and another section comes to the same address.
 */
TEST(pieces_of_tables)
{
    static struct made_eh_frame several[2];
    struct rows rows[2];
    size_t size = 12 + MANY * 8 + MANY * 32;
    for (unsigned again = 0; again < 2; again++) {
        uint8_t *bytes[2] = {pp_map(size), pp_map(size)};
        struct pp_unwind_source sources[2];
        for (unsigned n = 0; n < 2; n++) {
            made_start_for(&several[n], bytes[n], "zR", MANY);
            for (uint32_t i = 0; i < MANY; i++)
                made_simple(&several[n], 3 * i, 3, (uint8_t)(8 + (i + 5 * n + 3 * again) % 100));
            assert_true(several[n].used < size);
            sources[n] = made_source(&several[n]);
            rows[n] = (struct rows){.range = made_range(&several[n])};
            assert_true(pp_unwind_draft_start(&rows[n].draft, &rows[n].range));
        }
        for (uint32_t step = 0; step < MEETINGS; step++) {
            uint32_t i = step * 7919 % MANY, n = step / 40 % 2;
            source = sources[n];
            meet(&rows[n], 3 * i + 1);
            assert_int_equal(rule_at(&rows[n], 3 * i)->cfa_offset, 8 + (i + 5 * n + 3 * again) % 100);
        }
        for (unsigned n = 2; n-- > 0;) {
            end(&rows[n]);
            pp_unmap(bytes[n], size);
        }
    }
}
