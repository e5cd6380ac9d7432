/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"
#include "sanitizer.h"
#include "syscalls.h"
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define CHUNK_SIZE   ((size_t)256 << 10)
#define FIRST_VECTOR ((size_t)16 << 10)
#define RESERVE      ((size_t)256 << 10)
#define FROM_RESERVE ((size_t)16 << 10)
#define KEPT_SIZES   5  /* a page, twice that, ...: sizes of mappings that are used again */
#define KEPT_MAX     16 /* of each */
#define CLEARED_MAX  ((size_t)64 << 10)

struct pp_arena_chunk {
    struct pp_arena_chunk *older;
    size_t size, used;
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) & ~(to - 1);
}

static _Atomic size_t mapped, most_mapped;

static void count_mapped(size_t more, size_t less)
{
    size_t now = atomic_fetch_add(&mapped, more - less) + more - less, most = atomic_load(&most_mapped);
    while (now > most && !atomic_compare_exchange_weak(&most_mapped, &most, now))
        ;
}

size_t pp_mapped_bytes(size_t *most)
{
    *most = atomic_load(&most_mapped);
    return atomic_load(&mapped);
}

/* Mappings of the usual sizes that are not in use. To unmap memory interrupts every CPU that runs a thread of the
 * program, and with the faults of the next mapping takes ten times as long as to clear it. */
static void *_Atomic kept_mappings[KEPT_SIZES * KEPT_MAX];

static void *_Atomic *kept_of(size_t size)
{
    for (unsigned i = 0; i < KEPT_SIZES; i++)
        if (size == pp_page_size() << i)
            return &kept_mappings[i * KEPT_MAX];
    return NULL;
}

/* Returns the size of the mapping. Pages at its end that are not asked for are not touched. */
static size_t mapped_for(size_t size)
{
    size_t usual = pp_page_size();
    while (usual < size)
        usual *= 2;
    return kept_of(usual) ? usual : round_up(size, pp_page_size());
}

/* Pages that were mapped at once for many small mappings, of which each takes 10 us beside a program that maps and
 * touches memory itself: their address, and in its lowest bits how many are left. */
static _Atomic uintptr_t reserve;

/* What is left is not enough now and then, and stays untouched. */
static void *from_reserve(size_t size)
{
    uintptr_t now = atomic_load(&reserve), next, page = pp_page_size();
    void *start, *fresh = NULL;
    do {
        uintptr_t pages = now & (page - 1);
        size_t left = pages * page;
        start = (void *)(now - pages);
        if (left < size) {
            if (!fresh && !(fresh = pp_sys_mmap_anonymous(RESERVE)))
                return pp_sys_mmap_anonymous(size);
            start = fresh;
            left = RESERVE;
        }
        next = (uintptr_t)start + size + (left - size) / page;
    } while (!atomic_compare_exchange_weak(&reserve, &now, next));
    if (fresh && start != fresh)
        pp_sys_munmap(fresh, RESERVE);
    return start;
}

static void *map(size_t wanted, bool zeroed)
{
    size_t size = mapped_for(wanted);
    void *_Atomic *kept = kept_of(size), *start = NULL;
    for (unsigned i = 0; kept && i < KEPT_MAX && !start; i++)
        start = atomic_load(&kept[i]) ? atomic_exchange(&kept[i], NULL) : NULL;
    if (start)
        return zeroed ? memset(start, 0, wanted) : start;
    start = size <= FROM_RESERVE ? from_reserve(size) : pp_sys_mmap_anonymous(size);
    if (start)
        count_mapped(size, 0);
    return start;
}

void *pp_map(size_t size)
{
    return map(size, true);
}

void *pp_map_uncleared(size_t size)
{
    return map(size, false);
}

void pp_arena_after_fork(void)
{
    for (unsigned i = 0; i < KEPT_SIZES * KEPT_MAX; i++)
        if (atomic_load(&kept_mappings[i])) /* a page that is written to is copied */
            atomic_store(&kept_mappings[i], NULL);
}

void pp_arena_trim(void)
{
    for (unsigned i = 0; i < KEPT_SIZES * KEPT_MAX; i++) {
        void *start = atomic_exchange(&kept_mappings[i], NULL);
        size_t size = pp_page_size() << i / KEPT_MAX;
        if (!start)
            continue;
        pp_sys_munmap(start, size);
        count_mapped(0, size);
    }
}

void pp_unmap(void *start, size_t size)
{
    if (!start)
        return;
    size = mapped_for(size);
    void *_Atomic *kept = kept_of(size);
    for (unsigned i = 0; kept && i < KEPT_MAX; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, start))
            return;
    }
    pp_sys_munmap(start, size);
    count_mapped(0, size);
}

void *pp_remap(void *start, size_t size, size_t new_size)
{
    if (!start)
        return pp_map(new_size);
    size = mapped_for(size);
    new_size = mapped_for(new_size);
    void *moved = pp_sys_mremap(start, size, new_size);
    if (moved)
        count_mapped(new_size, size);
    return moved;
}

void *pp_vector_add(struct pp_vector *vector, size_t size)
{
    if (vector->capacity - vector->used < size) {
        size_t capacity = vector->capacity ? vector->capacity * 2 : FIRST_VECTOR;
        while (capacity - vector->used < size)
            capacity *= 2;
        /* not cleared, which would touch all of it */
        void *items = vector->capacity ? pp_remap(vector->items, vector->capacity, capacity) : map(capacity, false);
        if (!items)
            return NULL;
        vector->items = items;
        vector->capacity = capacity;
    }
    void *item = (char *)vector->items + vector->used;
    vector->used += size;
    return item;
}

void pp_vector_free(struct pp_vector *vector)
{
    struct pp_vector was = *vector;
    /* first: the child of a fork in between would unmap what is there by then */
    *(struct pp_vector volatile *)vector = (struct pp_vector){0};
    pp_unmap(was.items, was.capacity);
}

void pp_arena_clear(struct pp_arena *arena)
{
    struct pp_arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->older || chunk->used > CLEARED_MAX) {
        pp_arena_reset(arena);
        return;
    }
    size_t header = round_up(sizeof *chunk, 16);
    ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->size);
    memset((char *)chunk + header, 0, chunk->used - header);
    ASAN_POISON_MEMORY_REGION((char *)chunk + header, chunk->size - header);
    chunk->used = header;
}

void *pp_arena_alloc(struct pp_arena *arena, size_t size)
{
    size_t wanted = size;
    size = round_up(size, 16) + PP_ARENA_GAP;
    struct pp_arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t header = round_up(sizeof *chunk, 16);
        size_t want = round_up(size + header > CHUNK_SIZE ? size + header : CHUNK_SIZE, pp_page_size());
        struct pp_arena_chunk *fresh = pp_map(want);
        if (!fresh)
            return NULL;
        fresh->size = want;
        fresh->used = header;
        fresh->older = chunk;
        ASAN_POISON_MEMORY_REGION((char *)fresh + header, want - header);
        arena->newest = chunk = fresh;
        arena->mapped += want;
    }
    void *p = (char *)chunk + chunk->used;
    chunk->used += size;
    ASAN_UNPOISON_MEMORY_REGION(p, wanted);
    return p;
}

void pp_arena_reset(struct pp_arena *arena)
{
    while (arena->newest) {
        struct pp_arena_chunk *chunk = arena->newest;
        /* unlinked before it is unmapped: the child of a fork in between walks the same list */
        *(struct pp_arena_chunk *volatile *)&arena->newest = chunk->older;
        ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->size); /* the pages may be mapped again */
        pp_unmap(chunk, chunk->size);
    }
    arena->mapped = 0;
}
