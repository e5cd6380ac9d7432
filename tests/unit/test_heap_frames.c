/* A walk sees what each frame on the heap is now, whether it was copied with others or alone, and a frame whose memory
 * is gone costs no other its copy. */
#include "preload/capture/python_frames.h"
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE   4096u
#define PAGES  64u
#define BEFORE 72u
#define HEAD   80u

static struct pp_python_layout layout = {.generator = {.frame = BEFORE}, .frame = {.copy_size = HEAD}};
static struct pp_scratch scratch;
static struct pp_slot slot = {.scratch = &scratch};
static uint8_t *memory;
static unsigned single_copies;

static struct pp_frame_reader sample(void)
{
    return (struct pp_frame_reader){.layout = &layout, .pid = getpid(), .slot = &slot};
}

/* Walks frames at these places of the memory; each has to be read as it is, or not at all where it is gone. */
static void walk(struct pp_frame_reader *reader, const unsigned *places, unsigned count, unsigned gone)
{
    pp_heap_frames_begin(reader);
    single_copies = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t buffer[PP_HEAP_FRAME_MAX];
        uintptr_t start = (uintptr_t)memory + places[i];
        const uint8_t *copy = pp_heap_frame(reader, start + BEFORE, buffer);
        if (gone != 0 && places[i] / PAGE == gone) {
            assert_null(copy);
            continue;
        }
        assert_non_null(copy);
        assert_memory_equal(copy, (void *)start, BEFORE + HEAD);
        single_copies += copy == buffer;
    }
}

static void fill(unsigned seed)
{
    for (unsigned i = 0; i < PAGES * PAGE; i++)
        memory[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

static int begin(void **state)
{
    (void)state;
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    slot.heap_frames.count = 0;
    return memory == MAP_FAILED ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    return munmap(memory, PAGES * PAGE);
}

static const unsigned scattered[] = {3 * PAGE,      3 * PAGE + 208, 3 * PAGE - 160,
                                     20 * PAGE + 8, 9 * PAGE - 80,  9 * PAGE + 2000};
#define SCATTERED (sizeof scattered / sizeof *scattered)

static void test_as_they_are_now(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        fill(n);
        struct pp_frame_reader reader = sample();
        walk(&reader, scattered, SCATTERED, 0);
        assert_int_equal(single_copies, n == 0 ? SCATTERED : 0);
        walk(&reader, scattered, SCATTERED, 0); /* a second walk of the sample */
        assert_int_equal(single_copies, n == 0 ? SCATTERED : 0);
        pp_heap_frames_end(&reader);
    }
}

static void test_other_frames(void **state)
{
    (void)state;
    static const unsigned deeper[] = {30 * PAGE, 31 * PAGE,     3 * PAGE,     3 * PAGE + 208,
                                      40 * PAGE, 20 * PAGE + 8, 9 * PAGE - 80};
    fill(1);
    struct pp_frame_reader reader = sample();
    walk(&reader, scattered, SCATTERED, 0);
    pp_heap_frames_end(&reader);
    reader = sample();
    walk(&reader, deeper, 7, 0); /* three are new */
    assert_int_equal(single_copies, 3);
    walk(&reader, scattered, SCATTERED, 0);
    assert_true(single_copies <= 1); /* copies were made from the first that was met again */
    pp_heap_frames_end(&reader);
}

static void test_memory_that_is_gone(void **state)
{
    (void)state;
    fill(2);
    struct pp_frame_reader reader = sample();
    walk(&reader, scattered, SCATTERED, 0);
    pp_heap_frames_end(&reader);
    assert_int_equal(mprotect(memory + 20 * PAGE, PAGE, PROT_NONE), 0);
    for (unsigned n = 0; n < 2; n++) {
        reader = sample();
        walk(&reader, scattered, SCATTERED, 20);
        pp_heap_frames_end(&reader);
    }
}

static void test_more_than_is_kept(void **state)
{
    (void)state;
    unsigned places[3 * PP_HEAP_FRAMES];
    for (unsigned i = 0; i < 3 * PP_HEAP_FRAMES; i++)
        places[i] = i * (BEFORE + HEAD + 900) / 8 * 8; /* near enough for pieces, too many bytes for one copy */
    fill(3);
    for (unsigned n = 0; n < 3; n++) {
        struct pp_frame_reader reader = sample();
        walk(&reader, places, 3 * PP_HEAP_FRAMES, 0);
        assert_true(scratch.heap.used <= sizeof scratch.heap.bytes);
        assert_int_equal(scratch.heap.used != 0, n != 0);
        pp_heap_frames_end(&reader);
    }
}

static void test_copies_are_wiped(void **state)
{
    (void)state;
    memset(memory, 0x5a, PAGES * PAGE);
    for (unsigned n = 0; n < 2; n++) {
        struct pp_frame_reader reader = sample();
        walk(&reader, scattered, SCATTERED, 0);
        pp_heap_frames_end(&reader);
        for (unsigned i = 0; i < sizeof scratch.heap.bytes; i++)
            assert_int_equal(scratch.heap.bytes[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_they_are_now, begin, end),
        cmocka_unit_test_setup_teardown(test_other_frames, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_that_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(test_more_than_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_copies_are_wiped, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
