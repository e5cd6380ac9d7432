/* SPDX-License-Identifier: Apache-2.0 */
#include "slot_memory.h"
#include "../base/syscalls.h"

/* A program's first threads run the most, and the most varied, code: long line tables and large code caches. */
#define LARGE_SLOTS      16
#define LARGE_RING_BYTES (128u << 10)
#define LARGE_CODE_SETS  512
#define RING_BYTES       (32u << 10)
#define CODE_SETS        192
#define SCRATCHES_MAX    1024 /* handlers running at once */

static struct {
    _Atomic uint32_t busy;
    struct pp_scratch *memory; /* owned by the handler that has set busy; NULL: not mapped yet */
} scratches[SCRATCHES_MAX];
static _Atomic size_t mapped_bytes;

void *pp_slot_memory_more(size_t bytes)
{
    bytes = (bytes + pp_page_size() - 1) & -pp_page_size();
    void *memory = pp_sys_mmap_anonymous(bytes);
    if (memory)
        atomic_fetch_add_explicit(&mapped_bytes, bytes, memory_order_relaxed);
    return memory;
}

/* What is used first lies together: the sets and the first entries are in one page or two. async-signal-safe. */
PP_RARE static bool map_thread_memory(struct pp_slot *slot)
{
    bool large = slot->index < LARGE_SLOTS;
    uint32_t ring_bytes = large ? LARGE_RING_BYTES : RING_BYTES, sets = large ? LARGE_CODE_SETS : CODE_SETS;
    uint32_t entries = sets * PP_CODE_WAYS;
    size_t sets_bytes = (sets * sizeof *slot->code_sets + 15) & ~(size_t)15;
    size_t codes_bytes = entries * sizeof *slot->codes;
    size_t numbers_bytes = (entries + PP_MAX_PYTHON_FRAMES) * sizeof *slot->code_numbers;
    uint8_t *memory = pp_slot_memory_more(ring_bytes + sets_bytes + codes_bytes + numbers_bytes);
    if (!memory)
        return false;
    slot->ring.buffer = memory;
    slot->ring.size = ring_bytes;
    slot->ring.keeps_pages = slot->thread.is_main;
    slot->code_sets = (struct pp_code_set *)(memory + ring_bytes);
    slot->codes = (struct pp_code_entry *)(memory + ring_bytes + sets_bytes);
    slot->code_numbers = (uint32_t *)(memory + ring_bytes + sets_bytes + codes_bytes);
    slot->code_set_count = sets;
    return true;
}

bool pp_slot_memory_begin(struct pp_slot *slot)
{
    if (!slot->ring.buffer && !map_thread_memory(slot))
        return false;
    /* the scratch memory of the slot's last sample first: it holds the rules of the thread's code */
    for (uint32_t tries = 0, i = slot->scratch_index; tries < SCRATCHES_MAX; tries++, i = (i + 1) % SCRATCHES_MAX) {
        if (atomic_load_explicit(&scratches[i].busy, memory_order_relaxed) ||
            atomic_exchange_explicit(&scratches[i].busy, 1, memory_order_acquire))
            continue;
        slot->scratch_index = i;
        slot->scratch = scratches[i].memory;
        if (!slot->scratch)
            slot->scratch = scratches[i].memory = pp_slot_memory_more(sizeof *slot->scratch);
        if (slot->scratch)
            return true;
        pp_slot_memory_end(slot);
        return false;
    }
    return false;
}

void pp_slot_memory_end(struct pp_slot *slot)
{
    PP_CHECK(atomic_load(&scratches[slot->scratch_index].busy));
    atomic_store_explicit(&scratches[slot->scratch_index].busy, 0, memory_order_release);
}

void pp_slot_memory_after_fork(void)
{
    for (uint32_t i = 0; i < SCRATCHES_MAX; i++) {
        /* those that come after were never used: a handler takes the next only where this is busy */
        if (!scratches[i].memory && !atomic_load_explicit(&scratches[i].busy, memory_order_relaxed))
            break;
        atomic_store_explicit(&scratches[i].busy, 0, memory_order_relaxed);
    }
}

size_t pp_slot_memory_bytes(void)
{
    return atomic_load_explicit(&mapped_bytes, memory_order_relaxed);
}
