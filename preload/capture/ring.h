/*
 * One ring per thread, from its signal handler (the only writer) to the flush thread (the only reader).
 *
 * Indices count bytes and never wrap back (mod 2^32); the offset in the buffer is index & (size - 1), so head - tail is
 * what is unread. The writer alone stores `head` (release, after the record is whole), the reader alone stores `tail`
 * (release, after it has read). A record never wraps: when it would, a PP_RECORD_SKIP fills the end of the buffer.
 * There is no overwriting: a record that finds no room is not written, and the writer counts it in its slot; the next
 * record that fits carries the count (pp_record_sample.lost_*), so losses appear in order and none is forgotten.
 * A handler never interrupts itself (all signals are blocked in it), so the writer needs no lock.
 */
#ifndef PP_CAPTURE_RING_H
#define PP_CAPTURE_RING_H

#include "record.h"
#include <stdatomic.h>
#include <stddef.h>

struct pp_ring {
    /* constant once there is a record */
    uint8_t *buffer; /* 8-aligned */
    uint32_t size;   /* of the buffer, a power of two */
    /* writer's */
    _Alignas(64) _Atomic uint32_t head;
    /* reader's */
    _Alignas(64) _Atomic uint32_t tail;
};

/* Writer: room for one record of `size` bytes (a multiple of 8), its header filled in, or NULL when there is none.
 * Nothing is visible to the reader before pp_ring_commit. async-signal-safe. */
static inline void *pp_ring_reserve(struct pp_ring *ring, uint32_t size, uint32_t type)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint32_t to_end = ring->size - (head & (ring->size - 1));
    uint32_t skip = size > to_end ? to_end : 0;
    if (size > ring->size || ring->size - (head - tail) < size + skip)
        return NULL;
    if (skip) {
        struct pp_record *filler = (struct pp_record *)(ring->buffer + (head & (ring->size - 1)));
        filler->size = skip;
        filler->type = PP_RECORD_SKIP;
        head += skip;
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    struct pp_record *record = (struct pp_record *)(ring->buffer + (head & (ring->size - 1)));
    record->size = size;
    record->type = type;
    return record;
}

/* Writer: publishes the record that the last pp_ring_reserve gave. async-signal-safe. */
static inline void pp_ring_commit(struct pp_ring *ring, const void *record)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + ((const struct pp_record *)record)->size, memory_order_release);
}

/* Bytes that the reader has not taken yet. Either side. */
static inline uint32_t pp_ring_used(struct pp_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) -
           atomic_load_explicit(&ring->tail, memory_order_acquire);
}

/* Reader: the oldest record, NULL when there is none. It stays until pp_ring_release. */
static inline const struct pp_record *pp_ring_peek(struct pp_ring *ring)
{
    for (;;) {
        uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
            return NULL;
        const struct pp_record *record = (const struct pp_record *)(ring->buffer + (tail & (ring->size - 1)));
        if (record->type != PP_RECORD_SKIP)
            return record;
        atomic_store_explicit(&ring->tail, tail + record->size, memory_order_release);
    }
}

/* Reader: gives the record that pp_ring_peek returned back to the writer. */
static inline void pp_ring_release(struct pp_ring *ring, const struct pp_record *record)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + record->size, memory_order_release);
}

/* Empties the ring. Only when neither side is at work: in the child of fork, or before a slot is used again. */
static inline void pp_ring_reset(struct pp_ring *ring)
{
    atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
}

#endif
