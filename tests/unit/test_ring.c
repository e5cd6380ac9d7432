/* The ring between a handler and the flush thread: order, room, wrap-around, losses, and both sides at once. */
#include "preload/capture/ring.h"
#include "unit.h"
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#define RING_SIZE (128u << 10)

struct item {
    struct pp_record header;
    uint64_t number;
    uint64_t words[]; /* each holds number */
};

static struct pp_ring *ring;

void before_each(void)
{
    ring = aligned_alloc(64, sizeof *ring);
    assert_non_null(ring);
    ring->size = RING_SIZE;
    ring->keeps_pages = false;
    ring->buffer = aligned_alloc(page_bytes(), RING_SIZE);
    assert_non_null(ring->buffer);
    pp_ring_reset(ring);
}

void after_each(void)
{
    free(ring->buffer);
    free(ring);
}

static uint32_t size_of(uint64_t number)
{
    /* Sizes without a period that divides the ring's. */
    return (uint32_t)(sizeof(struct item) + 8 * (number * 2654435761u % 1021));
}

static bool put(uint64_t number)
{
    uint32_t size = size_of(number);
    struct item *item = pp_ring_reserve(ring, size, PP_RECORD_SAMPLE);
    if (!item)
        return false;
    item->number = number;
    for (uint32_t i = 0; i < (size - sizeof *item) / 8; i++)
        item->words[i] = number;
    pp_ring_commit(ring, item);
    return true;
}

static void check(const struct pp_record *record, uint64_t number)
{
    const struct item *item = (const struct item *)record;
    assert_int_equal(record->type, PP_RECORD_SAMPLE);
    assert_int_equal(item->number, number);
    assert_int_equal(record->size, size_of(number));
    for (uint32_t i = 0; i < (record->size - sizeof *item) / 8; i++)
        if (item->words[i] != number)
            fail_msg("record %lu, word %u: %lu", (unsigned long)number, i, (unsigned long)item->words[i]);
}

TEST(empty_ring_has_nothing)
{
    assert_null(pp_ring_peek(ring));
    assert_int_equal(pp_ring_used(ring), 0);
}

TEST(nothing_is_visible_before_commit)
{
    assert_non_null(pp_ring_reserve(ring, 64, PP_RECORD_CODE));
    assert_null(pp_ring_peek(ring));
}

TEST(peek_keeps_the_record)
{
    assert_true(put(1));
    const struct pp_record *record = pp_ring_peek(ring);
    assert_ptr_equal(pp_ring_peek(ring), record);
    check(record, 1);
    pp_ring_release(ring, record);
    assert_null(pp_ring_peek(ring));
}

TEST(a_record_larger_than_the_ring_is_refused)
{
    assert_null(pp_ring_reserve(ring, RING_SIZE + 8, PP_RECORD_SAMPLE));
    assert_non_null(pp_ring_reserve(ring, RING_SIZE, PP_RECORD_SAMPLE));
}

TEST(a_full_ring_refuses_and_keeps_what_it_has)
{
    uint64_t written = 0, number = 0;
    while (put(written))
        written++;
    assert_true(written > 20);
    assert_true(pp_ring_used(ring) <= RING_SIZE);
    assert_false(put(written));
    for (const struct pp_record *record; (record = pp_ring_peek(ring)); pp_ring_release(ring, record))
        check(record, number++);
    assert_int_equal(number, written);
    assert_true(put(written));
}

TEST(wraps_for_ever)
{
    /* Also across 2^32 of the indices. */
    uint64_t below = ((uint64_t)1 << 32) - 3 * RING_SIZE;
    atomic_store(&ring->head, below);
    atomic_store(&ring->tail, below);
    uint64_t written = 0, taken = 0;
    while (taken < 100000) {
        for (unsigned burst = (unsigned)(written % 37) + 1; burst && put(written); burst--)
            written++;
        const struct pp_record *record = pp_ring_peek(ring);
        assert_non_null(record);
        check(record, taken++);
        pp_ring_release(ring, record);
    }
}

/* The largest size that is accepted, by trying. What is tried leaves no trace but padding, which changes nothing for
 * smaller records. */
static uint32_t largest(void)
{
    for (uint32_t size = RING_SIZE; size; size -= 8) {
        uint64_t head = atomic_load(&ring->head), start = atomic_load(&ring->start);
        bool fits = pp_ring_reserve(ring, size, PP_RECORD_SAMPLE) != NULL;
        atomic_store(&ring->head, head);
        atomic_store(&ring->start, start);
        if (fits)
            return size;
    }
    return 0;
}

TEST(room_is_the_largest_record)
{
    ring->size = 1u << 10;                    /* of the buffer */
    for (uint32_t base = 0; base < 3; base++) /* also across 2^32 of the indices */
        for (uint32_t at = 0; at < ring->size; at += 8)
            for (uint32_t used = 0; used <= ring->size; used += ROUNDS(24, 104)) {
                uint64_t head = base * (uint64_t)0x7ffff800 + ring->size + at;
                atomic_store(&ring->head, head);
                atomic_store(&ring->start, 0);
                atomic_store(&ring->tail, head - used);
                assert_int_equal(pp_ring_room(ring), largest());
            }
    ring->size = RING_SIZE;
}

/* As the copy of a stack turns out shorter than was hoped for. */
TEST(a_record_may_shrink_before_commit)
{
    uint64_t written = 0, taken = 0;
    srand(1);
    while (taken < 20000) {
        for (unsigned burst = (unsigned)rand() % 8; burst; burst--) {
            uint32_t room = pp_ring_room(ring), size = size_of(written);
            if (room < size)
                break;
            struct item *item = pp_ring_reserve(ring, rand() % 2 ? room : size, PP_RECORD_SAMPLE);
            assert_non_null(item);
            item->header.size = size;
            item->number = written;
            for (uint32_t i = 0; i < (size - sizeof *item) / 8; i++)
                item->words[i] = written;
            pp_ring_commit(ring, item);
            written++;
        }
        const struct pp_record *record = pp_ring_peek(ring);
        assert_true((record != NULL) == (taken < written));
        if (record) {
            check(record, taken++);
            pp_ring_release(ring, record);
        }
    }
}

/* As a copy of a stack that cannot be read: the next record may be of any size. */
TEST(a_reserved_record_may_be_given_up)
{
    uint64_t written = 0, taken = 0;
    srand(2);
    while (taken < 20000) {
        uint32_t room = pp_ring_room(ring);
        if (room && rand() % 2)
            assert_non_null(pp_ring_reserve(ring, room, PP_RECORD_UNFINISHED));
        if (put(written))
            written++;
        if (rand() % 2 || pp_ring_used(ring) > RING_SIZE / 2) {
            const struct pp_record *record = pp_ring_peek(ring);
            assert_true((record != NULL) == (taken < written));
            if (!record)
                continue;
            check(record, taken++);
            pp_ring_release(ring, record);
        }
    }
}

static void consume_all(uint64_t first)
{
    for (const struct pp_record *record; (record = pp_ring_peek(ring)); pp_ring_release(ring, record))
        check(record, first++);
}

TEST(an_empty_ring_begins_again_at_its_first_byte)
{
    for (uint64_t number = 0; number < 1000; number++) {
        assert_true(put(number));
        assert_ptr_equal(pp_ring_peek(ring), ring->buffer);
        consume_all(number);
    }
    /* an unread record keeps its place, and the next is written after it */
    assert_true(put(1));
    assert_true(put(2));
    pp_ring_release(ring, pp_ring_peek(ring));
    assert_true(put(3));
    assert_ptr_equal(pp_ring_peek(ring), ring->buffer + size_of(1));
    consume_all(2);
}

/* A reader that has seen nothing of it gives no room back. */
TEST(a_restart_leaves_all_of_the_room)
{
    assert_true(put(1));
    consume_all(1);
    assert_int_equal(pp_ring_room(ring), RING_SIZE);
    assert_null(pp_ring_peek(ring));
    assert_int_equal(pp_ring_used(ring), 0);
    assert_non_null(pp_ring_reserve(ring, 64, PP_RECORD_SAMPLE)); /* given up: nothing is committed */
    assert_null(pp_ring_peek(ring));
    struct pp_record *whole = pp_ring_reserve(ring, RING_SIZE, PP_RECORD_SAMPLE);
    assert_ptr_equal(whole, ring->buffer);
    pp_ring_commit(ring, whole);
    assert_int_equal(pp_ring_used(ring), RING_SIZE);
    assert_int_equal(pp_ring_room(ring), 0);
    assert_null(pp_ring_reserve(ring, 64, PP_RECORD_SAMPLE));
    assert_ptr_equal(pp_ring_peek(ring), whole);
}

/* Releases a large record after a small one. Returns the first byte of the buffer that the kernel has taken, and
 * cleared; 0: it has taken none. */
static uint32_t release_large(uint32_t size)
{
    memset(ring->buffer, 7, RING_SIZE);
    struct pp_record *record = pp_ring_reserve(ring, 64, PP_RECORD_CODE);
    pp_ring_commit(ring, record);
    record = pp_ring_reserve(ring, size, PP_RECORD_SAMPLE);
    pp_ring_commit(ring, record);
    for (unsigned i = 0; i < 2; i++)
        pp_ring_release(ring, pp_ring_peek(ring));
    for (uint32_t at = (uint32_t)page_bytes() - 1; at < RING_SIZE; at++)
        if (!ring->buffer[at])
            return at;
    return 0;
}

TEST(pages_of_a_large_record_are_given_back)
{
    uint32_t page = (uint32_t)page_bytes(), size = page < RING_SIZE / 4 ? RING_SIZE / 2 : RING_SIZE - 64;
    uint32_t end = (64 + size) & -page;
    assert_int_equal(release_large(size), page);
    for (uint32_t at = page; at < end; at++)
        assert_int_equal(ring->buffer[at], 0);
    for (uint32_t at = end; at < RING_SIZE; at++)
        assert_int_equal(ring->buffer[at], 7);
}

TEST(pages_are_kept_where_they_are_to_be)
{
    ring->keeps_pages = true;
    assert_int_equal(release_large(RING_SIZE / 2), 0);
}

#define CONCURRENT 200000u

/* On one CPU, or beside other programs, who waits has the time that the other side needs: 200,000 records took 40 s. */
static void wait_a_little(unsigned *spins)
{
    if (++*spins % 256 == 0)
        sched_yield();
}

static void *writer(void *unused)
{
    (void)unused;
    unsigned spins = 0;
    for (uint64_t number = 0; number < CONCURRENT;) {
        if (put(number))
            number++;
        else
            wait_a_little(&spins);
    }
    return NULL;
}

TEST(both_sides_at_once)
{
    pthread_t thread;
    unsigned spins = 0;
    assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
    for (uint64_t number = 0; number < CONCURRENT;) {
        const struct pp_record *record = pp_ring_peek(ring);
        if (!record) {
            wait_a_little(&spins);
            continue;
        }
        check(record, number++);
        pp_ring_release(ring, record);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(pp_ring_peek(ring));
}
