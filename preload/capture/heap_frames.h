/* SPDX-License-Identifier: Apache-2.0 */
/* Copies Python frames that lie outside the data stack: those of generators and coroutines, on the heap. A copy costs 1
 * us, most of it for each piece of memory and little for its size. So the frames that the slot's last sample met are
 * copied by one call, neighbours as one piece. A walk takes the copy of a frame that it meets again and copies any
 * other by itself: in both cases it sees what the frame is now. */
#ifndef PP_CAPTURE_HEAP_FRAMES_H
#define PP_CAPTURE_HEAP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define PP_HEAP_FRAMES      32    /* kept of a walk: the innermost */
#define PP_HEAP_COPIES_SIZE 16384 /* bytes */
#define PP_HEAP_FRAME_MAX   256   /* bytes of a generator up to and with the head of its frame */

/* Where the frames of a walk are, the innermost first. */
struct pp_heap_frames {
    uint32_t count;
    uintptr_t addresses[PP_HEAP_FRAMES];
};

/* In the handler's working memory. */
struct pp_heap_copies {
    struct pp_heap_frames met; /* by the current walk */
    uint32_t used;             /* of bytes */
    /* In bytes, of the frames that the last sample met; NULL: not copied. Valid once a sample has made copies. */
    const uint8_t *copies[PP_HEAP_FRAMES];
    uint8_t bytes[PP_HEAP_COPIES_SIZE];
};

struct pp_frame_reader;

/* Begins a walk; a sample may have several. async-signal-safe. */
void pp_heap_frames_begin(struct pp_frame_reader *reader);
/* Returns a copy of the frame and of what lies before it in a generator, for the current sample; NULL if that cannot be
 * read. buffer: of PP_HEAP_FRAME_MAX bytes. async-signal-safe. */
const uint8_t *pp_heap_frame(struct pp_frame_reader *reader, uintptr_t address, uint8_t *buffer);
/* Ends the sample: keeps where the frames of its last walk are, for the next one, and wipes the copies.
 * async-signal-safe. */
void pp_heap_frames_end(struct pp_frame_reader *reader);

#endif
