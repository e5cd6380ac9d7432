/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_frames.h"
#include "python_frames.h"
#include <stddef.h>
#include <string.h>

#define PIECE_GAP 1024u /* bytes between two frames that are copied as one piece: they cost 30 ns */

void pp_heap_frames_begin(struct pp_frame_reader *reader)
{
    reader->expected = reader->slot->scratch->heap.met.count = 0;
}

static bool is_near(const struct iovec *piece, uintptr_t start, uintptr_t end)
{
    uintptr_t from = (uintptr_t)piece->iov_base, to = from + piece->iov_len;
    return start < to + PIECE_GAP && from < end + PIECE_GAP;
}

/* Makes [start, end) a piece, or a part of the last one. Returns the bytes that it takes more. async-signal-safe. */
static size_t add_piece(struct iovec *pieces, uint32_t *count, uintptr_t start, uintptr_t end)
{
    struct iovec *last = *count ? &pieces[*count - 1] : NULL;
    if (!last || !is_near(last, start, end)) {
        pieces[(*count)++] = (struct iovec){(void *)start, end - start};
        return end - start;
    }
    size_t before = last->iov_len;
    uintptr_t from = (uintptr_t)last->iov_base, to = from + before;
    from = start < from ? start : from;
    to = end > to ? end : to;
    *last = (struct iovec){(void *)from, to - from};
    return last->iov_len - before;
}

/* Copies the frames that the last sample met, from this one on, as far as their memory is there. async-signal-safe. */
PP_RARE static void copy_again(struct pp_frame_reader *reader, uint32_t first, size_t size)
{
    struct pp_scratch *scratch = reader->slot->scratch;
    struct pp_heap_copies *heap = &scratch->heap;
    const struct pp_heap_frames *known = &reader->slot->heap_frames;
    uint8_t piece_of[PP_HEAP_FRAMES];
    uint32_t pieces = 0, end = first, piece = 0;
    size_t bytes = 0, offset = 0;
    for (; end < known->count && bytes + size + PIECE_GAP <= sizeof heap->bytes; end++) {
        uintptr_t start = known->addresses[end] - reader->layout->generator.frame;
        bytes += add_piece(scratch->copies_from, &pieces, start, start + size);
        piece_of[end] = (uint8_t)(pieces - 1);
    }
    reader->steps += PP_COPY_STEPS * pieces;
    struct iovec to = {heap->bytes, bytes};
    long copied = pp_sys_safe_copy(reader->pid, &to, 1, scratch->copies_from, pieces);
    heap->used = copied > 0 ? (uint32_t)copied : 0;
    memset(heap->copies, 0, sizeof heap->copies);
    for (uint32_t i = first; i < end; i++) {
        for (; piece < piece_of[i]; piece++)
            offset += scratch->copies_from[piece].iov_len;
        uintptr_t start = known->addresses[i] - reader->layout->generator.frame;
        size_t at = offset + (start - (uintptr_t)scratch->copies_from[piece].iov_base);
        if (at + size <= heap->used)
            heap->copies[i] = heap->bytes + at;
    }
    reader->copied_again = true;
}

const uint8_t *pp_heap_frame(struct pp_frame_reader *reader, uintptr_t address, uint8_t *buffer)
{
    struct pp_heap_copies *heap = &reader->slot->scratch->heap;
    const struct pp_heap_frames *known = &reader->slot->heap_frames;
    unsigned before = reader->layout->generator.frame, size = before + reader->layout->frame.copy_size;
    uint32_t i = reader->expected;
    if (heap->met.count < PP_HEAP_FRAMES)
        heap->met.addresses[heap->met.count++] = address;
    while (i < known->count && known->addresses[i] != address)
        i++;
    if (i < known->count) {
        reader->expected = i + 1;
        if (!reader->copied_again)
            copy_again(reader, i, size);
        if (heap->copies[i])
            return heap->copies[i];
    }
    return pp_frames_copy(reader, buffer, address - before, size) ? buffer : NULL;
}

void pp_heap_frames_end(struct pp_frame_reader *reader)
{
    struct pp_heap_copies *heap = &reader->slot->scratch->heap;
    if (heap->met.count)
        memcpy(&reader->slot->heap_frames, &heap->met, offsetof(struct pp_heap_frames, addresses[heap->met.count]));
    if (heap->used)
        memset(heap->bytes, 0, heap->used);
    heap->met.count = heap->used = 0;
}
