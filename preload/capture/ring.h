/* SPDX-License-Identifier: Apache-2.0 */
/* One ring per thread, from its signal handler (the only writer) to the flush thread (the only reader).
 *
 * Indices count bytes and never wrap; the offset in the buffer is index & (size - 1). What is unread is
 * [max(tail, start), head):
 *
 *          0            first              head           size
 *          |   (read)   | record | record |     (room)     |
 *
 *          0        head                 first            size
 *          | record |       (room)       | record | SKIP   |    the newest record did not fit before the end
 *
 * Only the writer stores `start` and then `head` (release, after the record is complete), only the reader stores `tail`
 * (release, after it has read). A record never wraps: where it would, a PP_RECORD_SKIP
 * fills the end of the buffer. Nothing is overwritten: a record that finds no room is dropped and counted in the slot,
 * and the next record that fits carries the count (pp_record_sample.lost_*), so losses appear in order and none is
 * forgotten. All signals are blocked in a handler: it never interrupts itself and needs no lock.
 *
 * A writer that finds the ring empty goes on at the buffer's first byte: a ring touches only as many pages as are
 * unread at a time:
 *
 *          0   first = head                               size
 *          |   |..............................................|  empty: these bytes are void, and the next record
 *              tail                                       start  begins at byte 0 again, at the index `start`
 *
 * It stores the index of that byte, a multiple of the size, in `start`, and what lies before is void.
 * The reader has read everything then and holds no record, and by the release of `head` it knows `start` before any
 * record after it. Until it sees that `head`, `start` may be above the `head` that it knows, and the ring is empty to
 * it. */
#ifndef PP_CAPTURE_RING_H
#define PP_CAPTURE_RING_H

#include "../base/check.h"
#include "../base/syscalls.h"
#include "record.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define PP_RING_LARGE_RECORD (16u << 10) /* bytes; the reader gives the pages of such a record back */

struct pp_ring {
    /* constant once there is a record */
    uint8_t *buffer;  /* page-aligned */
    uint32_t size;    /* of the buffer, a power of two */
    bool keeps_pages; /* of large records that were read */
    /* stored by the writer */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t start;
    /* stored by the reader */
    _Alignas(64) _Atomic uint64_t tail;
};

/* Returns the index of the oldest unread byte, which may be above a head that was loaded earlier. Either side. */
static inline uint64_t pp_ring_first(const struct pp_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t start = atomic_load_explicit(&ring->start, memory_order_relaxed);
    return tail > start ? tail : start;
}

static inline struct pp_record *pp_ring_at(const struct pp_ring *ring, uint64_t index)
{
    return (struct pp_record *)(ring->buffer + (index & (ring->size - 1)));
}

/* Whether a record of this size may be at the index: it does not wrap. */
static inline bool pp_ring_holds(const struct pp_ring *ring, uint64_t index, uint32_t size)
{
    return size >= sizeof(struct pp_record) && size % 8 == 0 && size <= ring->size - (index & (ring->size - 1));
}

/* Writer: if the ring is empty, goes to the buffer's first byte. Returns the head. async-signal-safe. */
static inline uint64_t pp_ring_restart(struct pp_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t first = (head + ring->size - 1) & ~(uint64_t)(ring->size - 1);
    if (head == first || pp_ring_first(ring) != head)
        return head;
    atomic_store_explicit(&ring->start, first, memory_order_relaxed);
    atomic_store_explicit(&ring->head, first, memory_order_release);
    return first;
}

/* Writer: returns the bytes of the largest record that there is room for. async-signal-safe. */
static inline uint32_t pp_ring_room(struct pp_ring *ring)
{
    uint64_t head = pp_ring_restart(ring);
    uint32_t left = ring->size - (uint32_t)(head - pp_ring_first(ring));
    uint32_t to_end = ring->size - (uint32_t)(head & (ring->size - 1));
    if (left <= to_end)
        return left;
    return to_end > left - to_end ? to_end : left - to_end;
}

/* Writer: reserves a record of `size` bytes (a multiple of 8) and fills in its header; NULL if there is no room. The
 * reader sees nothing before pp_ring_commit. async-signal-safe. */
static inline void *pp_ring_reserve(struct pp_ring *ring, uint32_t size, uint32_t type)
{
    uint64_t head = pp_ring_restart(ring);
    PP_CHECK(head - pp_ring_first(ring) <= ring->size && size >= sizeof(struct pp_record) && size % 8 == 0);
    uint32_t to_end = ring->size - (uint32_t)(head & (ring->size - 1));
    uint32_t skip = size > to_end ? to_end : 0;
    if (size > ring->size || ring->size - (uint32_t)(head - pp_ring_first(ring)) < size + skip)
        return NULL;
    if (skip) {
        *pp_ring_at(ring, head) = (struct pp_record){skip, PP_RECORD_SKIP};
        head += skip;
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    struct pp_record *record = pp_ring_at(ring, head);
    *record = (struct pp_record){size, type};
    return record;
}

/* Writer: publishes the last reserved record, whose size may have been reduced. async-signal-safe. */
static inline void pp_ring_commit(struct pp_ring *ring, const void *record)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    PP_CHECK(record == pp_ring_at(ring, head) && pp_ring_holds(ring, head, ((const struct pp_record *)record)->size));
    PP_CHECK(head + ((const struct pp_record *)record)->size - pp_ring_first(ring) <= ring->size);
    atomic_store_explicit(&ring->head, head + ((const struct pp_record *)record)->size, memory_order_release);
}

/* Writer: returns the number of unread bytes. async-signal-safe. */
static inline uint32_t pp_ring_used(const struct pp_ring *ring)
{
    return (uint32_t)(atomic_load_explicit(&ring->head, memory_order_relaxed) - pp_ring_first(ring));
}

/* Reader: returns the oldest record, NULL if there is none. It stays valid until pp_ring_release. */
static inline const struct pp_record *pp_ring_peek(struct pp_ring *ring)
{
    for (;;) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire), first = pp_ring_first(ring);
        if (first >= head)
            return NULL;
        const struct pp_record *record = pp_ring_at(ring, first);
        PP_CHECK(pp_ring_holds(ring, first, record->size) && record->size <= head - first);
        if (record->type != PP_RECORD_SKIP)
            return record;
        atomic_store_explicit(&ring->tail, first + record->size, memory_order_release);
    }
}

/* Reader: gives the space of the record from pp_ring_peek back to the writer, and the whole pages of a large record to
 * the kernel, for such records are rare. Not those of the main thread: most of its first samples are large, and each
 * page that is missing takes its handler 1 to 3 us. */
static inline void pp_ring_release(struct pp_ring *ring, const struct pp_record *record)
{
    uint64_t end = pp_ring_first(ring) + record->size;
    PP_CHECK(record == pp_ring_at(ring, pp_ring_first(ring)));
    uintptr_t page = ((uintptr_t)record + pp_page_size() - 1) & -pp_page_size();
    uintptr_t last = ((uintptr_t)record + record->size) & -pp_page_size();
    if (record->size >= PP_RING_LARGE_RECORD && !ring->keeps_pages)
        pp_sys_madvise((void *)page, last - page, PP_MADV_DONTNEED);
    atomic_store_explicit(&ring->tail, end, memory_order_release);
}

/* Empties the ring. Only while neither side is active: in the child of fork, or before a slot is reused. */
static inline void pp_ring_reset(struct pp_ring *ring)
{
    atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->start, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
}

#endif
