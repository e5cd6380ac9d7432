/* Mappings that come from a reserve, and what is kept of them for reuse. */
#include "preload/base/arena.h"
#include "unit.h"
#include <pthread.h>

#define THREADS 4
#define PIECES  300
#define PAGE    page_bytes()

static bool is_filled(const char *piece, size_t size, char with)
{
    for (size_t i = 0; i < size; i++)
        if (piece[i] != with)
            return false;
    return true;
}

/* Fills each piece with the thread's own letter, and gives back every third one. */
static void *map_and_check(void *letter)
{
    char *pieces[PIECES], own = *(const char *)letter;
    uintptr_t bad = 0;
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = (1 + i % 5) * PAGE;
        pieces[i] = pp_map(size);
        if (!pieces[i] || !is_filled(pieces[i], size, 0))
            return (void *)1;
        memset(pieces[i], own, size);
        if (i % 3 == 2) {
            pp_unmap(pieces[i], size);
            pieces[i] = NULL;
        }
    }
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = (1 + i % 5) * PAGE;
        bad |= pieces[i] && !is_filled(pieces[i], size, own) ? 2 : 0;
        pp_unmap(pieces[i], size);
    }
    return (void *)bad;
}

TEST(pieces_are_zero_and_of_one_owner)
{
    static const char letters[THREADS] = "abcd";
    pthread_t threads[THREADS];
    size_t most, before = pp_mapped_bytes(&most);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, map_and_check, (void *)(uintptr_t)&letters[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *bad;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
    /* what is kept for reuse stays counted */
    assert_in_range(pp_mapped_bytes(&most), before + PAGE, before + 16 * (PAGE + 2 * PAGE + 4 * PAGE + 8 * PAGE));
    pp_arena_trim();
    assert_int_equal(pp_mapped_bytes(&most), before);
}

/* Whatever was in there; only what took a little is kept. */
TEST(a_cleared_arena_is_zero)
{
    static const size_t pieces[] = {1, 200, 4000, 1};
    struct pp_arena arena = {0};
    pp_arena_clear(&arena);
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        for (size_t n = 0; n < pieces[i]; n++) {
            char *piece = pp_arena_alloc(&arena, 100);
            assert_true(piece && is_filled(piece, 100, 0));
            memset(piece, 'x', 100);
        }
        pp_arena_clear(&arena);
        assert_int_equal(arena.newest == NULL, i == 2);
    }
    pp_arena_reset(&arena);
    assert_int_equal(arena.mapped, 0);
}

TEST(a_piece_grows_and_keeps_its_contents)
{
    struct pp_vector vectors[8] = {{0}};
    for (uint32_t i = 0; i < 20000; i++)
        for (unsigned n = 0; n < 8; n++) {
            uint32_t *item = pp_vector_add(&vectors[n], sizeof *item);
            assert_non_null(item);
            *item = i * 8 + n;
        }
    for (unsigned n = 0; n < 8; n++) {
        const uint32_t *items = vectors[n].items;
        for (uint32_t i = 0; i < 20000; i++)
            assert_int_equal(items[i], i * 8 + n);
        pp_vector_free(&vectors[n]);
    }
    /* and the next owner of what they leave finds it empty */
    for (unsigned i = 0; i < 40; i++)
        assert_true(is_filled(pp_map(4 * PAGE), 4 * PAGE, 0));
}
