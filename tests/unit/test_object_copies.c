/* Copies of objects that another thread may free: a sample takes a few system calls, however long the chains are that
 * it follows; no copy outlives its sample; what is gone is not read. */
#include "preload/capture/object_copies.h"
#include "preload/context/values.h"
#include "unit.h"
#include <sys/mman.h>

#define NODE  208u /* bytes, as a coroutine has: some lie in two pages */
#define PAGES 400u

static struct pp_object_copies copies;
static uint8_t *memory;
static int pid;

void before_each(void)
{
    pid = getpid();
    memset(&copies, 0, sizeof copies);
    memory = mmap(NULL, PAGES * PP_COPY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
}

void after_each(void)
{
    assert_int_equal(munmap(memory, PAGES * PP_COPY_PAGE), 0);
}

static void next_sample(unsigned fetch_after)
{
    copies.count = 0;
    copies.fetch_after = fetch_after;
}

static bool read_word(const void *address, uintptr_t *word)
{
    return pp_object_copies_read(&copies, pid, (uint8_t *)word, (uintptr_t)address, sizeof *word);
}

static uintptr_t *node(unsigned i)
{
    return (uintptr_t *)(memory + i * NODE);
}

/* Links the nodes from `first` on, in an order of no use to anyone. */
static void link_nodes(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        node(first + i * 7 % count)[NODE / sizeof(uintptr_t) - 1] =
            i + 1 < count ? (uintptr_t)node(first + (i + 1) * 7 % count) : 0;
}

/* Follows the chain in a new sample; returns how many system calls that took. */
static unsigned follow(unsigned first, unsigned count)
{
    uintptr_t at = (uintptr_t)node(first), found = 0;
    next_sample(PP_FETCH_AFTER);
    for (; at; found++)
        assert_true(read_word((const uint8_t *)at + NODE - sizeof at, &at));
    assert_int_equal(found, count);
    return copies.count + copies.fetched;
}

TEST(a_chain_of_any_length_takes_two_calls)
{
    for (unsigned count = 20; count <= 500; count += 20) { /* 7 divides none that is used: all nodes are in the chain */
        unsigned some = count % 7 ? count : count + 1;
        link_nodes(0, some);
        follow(0, some);
        follow(0, some);
        assert_in_range(follow(0, some), 1, 2);
    }
}

TEST(chains_in_turn_take_two_calls)
{
    for (unsigned i = 0; i < 4; i++)
        link_nodes(100 * i, 100);
    for (unsigned i = 0; i < 40; i++) {
        unsigned calls = follow(100 * (i % 4), 100);
        if (i >= 8)
            assert_in_range(calls, 1, 2);
    }
}

/* Returns how many system calls a sample takes that reads a word of each of these pages. */
static unsigned read_pages(unsigned count, unsigned fetch_after)
{
    uintptr_t word;
    next_sample(fetch_after);
    for (unsigned i = 0; i < count; i++)
        assert_true(read_word(memory + i * PP_COPY_PAGE + 64 * (i * 5 % 64), &word));
    return copies.count + copies.fetched;
}

/* The tasks of a request of FastAPI, seen from a thread that works for it, lie in 110 pages. */
TEST(many_pages_take_few_calls)
{
    for (unsigned i = 0; i < 2; i++)
        read_pages(160, PP_FETCH_AFTER);
    assert_in_range(read_pages(160, PP_FETCH_AFTER), 1, 160 / 8);
}

TEST(many_pages_of_a_sample_that_mostly_reads_in_place)
{
    for (unsigned i = 0; i < 2; i++)
        read_pages(60, PP_FETCH_AFTER_MANY);
    assert_in_range(read_pages(60, PP_FETCH_AFTER_MANY), 1, PP_FETCH_AFTER_MANY + 1);
}

TEST(every_sample_reads_anew)
{
    link_nodes(0, 100);
    for (uintptr_t i = 0; i < 20; i++) {
        uintptr_t word;
        follow(0, 100);
        node(50)[0] = i;
        next_sample(i % 2 ? PP_FETCH_AFTER : PP_FETCH_AFTER_MANY);
        assert_true(read_word(node(50), &word));
        assert_int_equal(word, i);
    }
}

TEST(our_own_memory_is_read_as_it_is)
{
    copies.in_place = (uintptr_t)node(1);
    copies.in_place_bytes = NODE;
    for (unsigned sample = 0; sample < 4; sample++) {
        next_sample(PP_FETCH_AFTER);
        for (uintptr_t i = 0; i < 4; i++) {
            uintptr_t word;
            node(1)[0] = i;
            for (unsigned j = 0; j < 5; j++)
                assert_true(read_word(memory + j * PP_COPY_PAGE, &word));
            assert_true(read_word(node(1), &word));
            assert_int_equal(word, i);
        }
    }
}

TEST(what_is_gone_is_not_read)
{
    uintptr_t word;
    if (page_bytes() > PP_COPY_PAGE)
        skip();
    link_nodes(0, 100);
    follow(0, 100);
    follow(0, 100);
    munmap(memory + PP_COPY_PAGE, PP_COPY_PAGE); /* the batch ends at this page */
    for (unsigned i = 0; i < 3; i++) {
        next_sample(PP_FETCH_AFTER);
        for (unsigned j = 0; j < 6; j++) {
            node(0)[0] = i;
            assert_int_equal(read_word(memory + j * PP_COPY_PAGE, &word), j != 1);
        }
        assert_false(pp_object_copies_read(&copies, pid, (uint8_t *)&word, (uintptr_t)memory + PP_COPY_PAGE - 4, 8));
    }
    mmap(memory + PP_COPY_PAGE, PP_COPY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    next_sample(PP_FETCH_AFTER);
    assert_true(read_word(memory + PP_COPY_PAGE, &word));
    assert_int_equal(word, 0);
}

TEST(more_pages_than_there_is_room_for)
{
    for (unsigned i = 0; i < PAGES; i++)
        *(uintptr_t *)(memory + i * PP_COPY_PAGE + 8 * (i % 512)) = i;
    for (unsigned sample = 0; sample < 5; sample++) {
        next_sample(sample != 3 ? PP_FETCH_AFTER : PP_FETCH_AFTER_MANY);
        for (unsigned i = 0; i < 3 * PAGES; i++) {
            uintptr_t word, page = i * 37 % PAGES;
            assert_true(read_word(memory + page * PP_COPY_PAGE + 8 * (page % 512), &word));
            assert_int_equal(word, page);
        }
    }
}

TEST(what_is_read_no_more_is_fetched_no_more)
{
    uintptr_t word;
    link_nodes(0, 400);
    follow(0, 400);
    assert_in_range(follow(0, 400), 1, 2);
    for (unsigned i = 0; i < 10; i++) {
        next_sample(PP_FETCH_AFTER);
        for (unsigned j = 0; j < 4; j++)
            assert_true(read_word(memory + (100 + j) * PP_COPY_PAGE, &word));
    }
    assert_in_range(copies.bytes, 1, 2 * PP_COPY_PAGE);
    next_sample(PP_FETCH_AFTER_MANY); /* it reads little through copies */
    for (unsigned j = 0; j < 4; j++)
        assert_true(read_word(memory + (100 + j) * PP_COPY_PAGE, &word));
    assert_false(copies.fetched);
}

/* What PyType_FromSpec was given: the maker may have freed the name. */
TEST(a_class_whose_name_is_gone)
{
    struct pp_python python = {.layout = *pp_python_layout_of(pp_python_last_minor(), false)};
    const struct pp_object_reader reader = {.python = &python, .pid = pid, .direct = true};
    uintptr_t *type = node(0);
    char *name = (char *)memory + (PAGES - 1) * PP_COPY_PAGE;
    if (page_bytes() > PP_COPY_PAGE)
        skip();
    strcpy(name, "lost");
    type[python.layout.type.tp_name / 8] = (uintptr_t)name;
    for (int is_heap = 0; is_heap < 2; is_heap++) {
        type[python.layout.type.tp_flags / 8] = (uintptr_t)is_heap << PP_CLASS_HEAP;
        assert_true(pp_type_is_named(&reader, (uintptr_t)type, "lost"));
        assert_false(pp_type_is_named(&reader, (uintptr_t)type, "last"));
    }
    assert_int_equal(mprotect(name, PP_COPY_PAGE, PROT_NONE), 0);
    assert_false(pp_type_is_named(&reader, (uintptr_t)type, "lost"));
}
