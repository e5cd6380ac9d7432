/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one Python frame of the calling thread, after checking that a frame can be at the address. */
#ifndef PP_CAPTURE_PYTHON_FRAMES_H
#define PP_CAPTURE_PYTHON_FRAMES_H

#include "capture.h"

#define PP_FRAMES_FETCHED_AHEAD 8 /* prefetched while a chain is walked */

/* State of one walk's checks. */
struct pp_frame_reader {
    const struct pp_python *python;
    const struct pp_python_layout *layout;
    int pid;
    uintptr_t sp, stack_top; /* the C stack in use */
    bool other_stack;        /* not the thread's own: cframes and shims are read through copies, wherever they are */
    uintptr_t entered_end;   /* CFA of the innermost native frame if that is just entering the eval function, else 0 */
    /* The chunk of the thread's data stack that holds the last frame; its frames are in [data, limit). */
    uintptr_t chunk, limit, chunk_previous;
    uintptr_t first_free; /* top of the data stack: a frame that is just being popped begins here */
    unsigned chunks;      /* entered so far */
    bool links_proven;    /* the frames further out are alive, wherever they are: plain loads are safe */
    uintptr_t live;       /* a frame in a coroutine that is alive: the one that the running task began with */
    bool attached;        /* neither the thread state nor its chunks can be freed meanwhile */
    uint32_t steps;       /* cost of the walk, PP_MAX_STEPS at most */
    uint8_t *window;      /* of a thread that is not attached: a copy of [window_start, window_end) of a chunk */
    uintptr_t window_start, window_end;
};

struct pp_frame {
    uintptr_t code, previous;
    uintptr_t instr; /* converted to an address in the code object's own code units */
    bool is_entry;   /* outermost frame of its run (3.11) */
    bool in_generator;
    bool is_compiled; /* of a function that was compiled to native code: no eval call runs it */
    bool is_shim;     /* not a Python function: it only marks the native eval frame that it lies in */
};

/* Copies memory that may be freed meanwhile; false if not all of it is there. async-signal-safe. */
bool pp_frames_copy(struct pp_frame_reader *reader, void *to, uintptr_t address, size_t size);
/* Starts at the newest chunk of the data stack (3.11+). async-signal-safe. */
bool pp_frames_begin(struct pp_frame_reader *reader, const void *thread_state);
/* Skips to one of the oldest chunks and its first frame, which lives as long as the chunk. False: no chunk is far
 * enough from the reader's. async-signal-safe. */
bool pp_frames_skip(struct pp_frame_reader *reader, uintptr_t *address);
/* Reads the frame at `address` if a frame of this thread can be there and its fields are consistent. innermost: the
 * first frame of the chain, which may be changing its owner. After a frame in an older chunk, frames in newer ones are
 * rejected. async-signal-safe. */
bool pp_frame_read(struct pp_frame_reader *reader, uintptr_t address, bool innermost, struct pp_frame *frame);
/* Reads a frame of a thread that does not run: nothing is torn there. Needs reader->python, layout and pid. */
bool pp_frame_copy(const struct pp_frame_reader *reader, uintptr_t address, struct pp_frame *frame);
/* Does the same with a copy of layout->frame.copy_size bytes. async-signal-safe. */
bool pp_frame_parse(const struct pp_frame_reader *reader, const uint8_t *bytes, struct pp_frame *frame);
#define PP_FRAME_COPY_MAX 128

#endif
