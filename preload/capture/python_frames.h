/* One Python frame of the calling thread: whether an address can be one, and what it says. */
#ifndef PP_CAPTURE_PYTHON_FRAMES_H
#define PP_CAPTURE_PYTHON_FRAMES_H

#include "capture.h"

#define PP_FRAMES_FETCHED_AHEAD 8 /* into the processor's caches, while a chain is walked */

/* What the checks of one walk need to know. */
struct pp_frame_reader {
    const struct pp_python *python;
    const struct pp_python_layout *layout;
    int pid;
    uintptr_t sp, stack_top; /* the C stack in use */
    bool other_stack;        /* not the thread's own: what would lie on it is read by copies, wherever it is */
    uintptr_t entered_end;   /* end of the eval frame at its lower end, if its function is just being entered */
    /* The chunk of the thread's data stack that holds the last frame, frames [data, limit). */
    uintptr_t chunk, limit, chunk_previous;
    uintptr_t first_free; /* end of the newest frame: one that is just being popped begins here */
    unsigned chunks;      /* entered so far */
    bool attached;        /* the thread state cannot be freed meanwhile, nor its chunks */
    uint32_t steps;       /* that the walk has cost: PP_MAX_STEPS at most */
    uint8_t *window;      /* of a thread that is not attached: a copy of [window_start, window_end) of a chunk */
    uintptr_t window_start, window_end;
};

struct pp_frame {
    uintptr_t code, previous;
    uintptr_t instr; /* as if it pointed into the code object's own code units */
    bool is_entry;   /* outermost frame of its native eval frame (3.11) */
    bool is_shim;    /* no Python function: it only marks the C stack frame that it lies in */
};

/* Goes to the newest chunk of the data stack (3.11+). async-signal-safe. */
bool pp_frames_begin(struct pp_frame_reader *reader, const void *thread_state);
/* Goes on with one of the oldest chunks, whose first word is a frame: the first that was pushed into it, alive as long
 * as the chunk. False: none is far enough from where the reader is. async-signal-safe. */
bool pp_frames_skip(struct pp_frame_reader *reader, uintptr_t *address);
/* Reads the frame at `address` if that is a place where a frame of this thread can be and its fields fit each other.
 * innermost: the first of the chain, which may just be changing hands. Of an older chunk than the last frame's there is
 * no way back. async-signal-safe. */
bool pp_frame_read(struct pp_frame_reader *reader, uintptr_t address, bool innermost, struct pp_frame *frame);

#endif
