/* One ring per thread, from its signal handler (the only writer) to the flush thread (the only reader).
 *
 * Indices count bytes modulo 2^32; the offset in the buffer is index & (size - 1), so head - tail bytes are unread.
 * Only the writer stores `head` (release, after the record is complete), only the reader stores `tail` (release, after
 * it has read). A record never wraps: where it would, a PP_RECORD_SKIP fills the end of the buffer. Nothing is
 * overwritten: a record that finds no room is dropped and counted in the slot, and the next record that fits carries
 * the count (pp_record_sample.lost_*), so losses appear in order and none is forgotten. All signals are blocked in a
 * handler: it never interrupts itself and needs no lock. */
#ifndef PP_CAPTURE_RING_H
#define PP_CAPTURE_RING_H

#include "record.h"
#include <stdatomic.h>
#include <stddef.h>

struct pp_ring {
    /* constant once there is a record */
    uint8_t *buffer; /* 8-aligned */
    uint32_t size;   /* of the buffer, a power of two */
    /* stored by the writer */
    _Alignas(64) _Atomic uint32_t head;
    /* stored by the reader */
    _Alignas(64) _Atomic uint32_t tail;
};

/* Writer: returns the bytes of the largest record that there is room for. async-signal-safe. */
static inline uint32_t pp_ring_room(struct pp_ring *ring)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t left = ring->size - (head - atomic_load_explicit(&ring->tail, memory_order_acquire));
    uint32_t to_end = ring->size - (head & (ring->size - 1));
    if (left <= to_end)
        return left;
    return to_end > left - to_end ? to_end : left - to_end;
}

/* Writer: reserves a record of `size` bytes (a multiple of 8) and fills in its header; NULL if there is no room. The
 * reader sees nothing before pp_ring_commit. async-signal-safe. */
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

/* Writer: publishes the last reserved record, whose size may have been reduced. async-signal-safe. */
static inline void pp_ring_commit(struct pp_ring *ring, const void *record)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + ((const struct pp_record *)record)->size, memory_order_release);
}

/* Returns the number of unread bytes. Either side. */
static inline uint32_t pp_ring_used(struct pp_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) -
           atomic_load_explicit(&ring->tail, memory_order_acquire);
}

/* Reader: returns the oldest record, NULL if there is none. It stays valid until pp_ring_release. */
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

/* Reader: gives the space of the record from pp_ring_peek back to the writer. */
static inline void pp_ring_release(struct pp_ring *ring, const struct pp_record *record)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + record->size, memory_order_release);
}

/* Empties the ring. Only while neither side is active: in the child of fork, or before a slot is reused. */
static inline void pp_ring_reset(struct pp_ring *ring)
{
    atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
}

#endif
