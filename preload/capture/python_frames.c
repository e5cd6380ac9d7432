/* SPDX-License-Identifier: Apache-2.0 */
/* Direct loads are only made from memory that cannot be freed meanwhile: our own C stack; the data stack of an attached
 * thread, which takes a chunk from its state before it frees the chunk (another thread may attach a detached thread
 * state and pop its chunks); frame objects (up to 3.10), to which the thread holds references while it executes them.
 * Frames in generators lie on the heap: the first of a walk is copied, since a torn link may lead anywhere, unless the
 * running task holds it. If it is the frame of a generator that is executing, its own link is good, and so are those of
 * all frames further out: see proves_links. */
#include "python_frames.h"
#include "safe_read.h"

#define OUTER_CHUNKS     2   /* kept at the outer end of a deep data stack; each mostly has 100 to 160 frames */
#define SKIPPED_CHUNKS   3   /* at least, or none is skipped */
#define COPY_STEPS       12  /* cost of one copy (1 us) */
#define COMPILED_MAX     512 /* from the start of a compiled function's frame object to the frame in it */
#define GENERATOR_COPY   (PP_FRAME_COPY_MAX + 128)
#define MAX_UNITS        ((uintptr_t)1 << 26)
#define OBJECT_LASTI_MAX (1 << 27)

struct chunk_header {
    uintptr_t previous;
    size_t size, top;
};

PP_RARE bool pp_frames_copy(struct pp_frame_reader *reader, void *to, uintptr_t address, size_t size)
{
    reader->steps += COPY_STEPS;
    return pp_safe_read(reader->pid, to, address, size);
}

/* async-signal-safe. */
static bool read_header(struct pp_frame_reader *reader, uintptr_t chunk, struct chunk_header *header)
{
    if (!pp_plausible(chunk) || reader->steps++ >= PP_MAX_STEPS)
        return false;
    if (reader->window_start == chunk && reader->window_end - chunk >= sizeof *header)
        memcpy(header, reader->window, sizeof *header);
    else if (!reader->attached)
        return pp_frames_copy(reader, header, chunk, sizeof *header);
    else
        *header = *(const struct chunk_header *)chunk;
    return true;
}

/* Enters a chunk of the data stack. top: datastack_top for the newest chunk, else 0. async-signal-safe. */
static bool enter_chunk(struct pp_frame_reader *reader, uintptr_t chunk, uintptr_t top)
{
    struct chunk_header header;
    if (!read_header(reader, chunk, &header))
        return false;
    reader->chunks++;
    if (header.size < sizeof header || header.size > PP_HIGHEST_ADDRESS - chunk || header.size % 8)
        return false;
    reader->chunk = chunk;
    reader->chunk_previous = header.previous;
    /* `top` of a chunk counts words of data and is stored when the next chunk is pushed */
    reader->limit = top ? top : chunk + sizeof header + header.top * sizeof(uintptr_t);
    /* a new chunk is linked before datastack_top is stored */
    if (top && (top < chunk || top > chunk + header.size))
        reader->limit = chunk + header.size;
    return reader->limit >= chunk && reader->limit <= chunk + header.size;
}

/* Copies the frames of the newest chunk with its header: most stacks have no others. async-signal-safe. */
static void copy_newest(struct pp_frame_reader *reader, uintptr_t chunk)
{
    size_t size = reader->first_free - chunk;
    if (!reader->attached && pp_plausible(chunk) && size <= PP_FRAMES_WINDOW &&
        pp_frames_copy(reader, reader->window, chunk, size)) {
        reader->window_start = chunk;
        reader->window_end = reader->first_free;
    }
}

bool pp_frames_begin(struct pp_frame_reader *reader, const void *thread_state)
{
    const struct pp_python_layout *layout = reader->layout;
    reader->steps = 0;
    reader->links_proven = false;
    uintptr_t chunk = pp_word(thread_state, layout->thread_state.datastack_chunk);
    reader->window_start = reader->window_end = 0;
    reader->first_free = pp_word(thread_state, layout->thread_state.datastack_top);
    copy_newest(reader, chunk);
    bool entered = !chunk || enter_chunk(reader, chunk, reader->first_free);
    reader->steps = 0;
    return entered;
}

PP_RARE bool pp_frames_skip(struct pp_frame_reader *reader, uintptr_t *address)
{
    struct chunk_header header;
    uintptr_t oldest[OUTER_CHUNKS], chunk = reader->chunk_previous;
    unsigned count = 0;
    for (; chunk; chunk = header.previous) {
        oldest[count++ % OUTER_CHUNKS] = chunk;
        if (!read_header(reader, chunk, &header))
            return false;
        /* chunks are mostly adjacent; without this each step waits for a cache miss */
        __builtin_prefetch((const void *)(chunk + PP_FRAMES_FETCHED_AHEAD * (header.previous - chunk)));
    }
    if (count < OUTER_CHUNKS + SKIPPED_CHUNKS || !enter_chunk(reader, oldest[count % OUTER_CHUNKS], 0))
        return false;
    *address = reader->chunk + sizeof header;
    return true;
}

/* Returns the bytes of a frame on the data stack; NULL if they are gone. Of a thread that is not attached they are in a
 * copy, which covers frames further out too. async-signal-safe. */
static const uint8_t *chunk_bytes(struct pp_frame_reader *reader, uintptr_t address, unsigned size)
{
    if (reader->attached)
        return (const uint8_t *)address;
    uintptr_t end = address + size;
    if (address < reader->window_start || end > reader->window_end) {
        uintptr_t start = end - reader->chunk > PP_FRAMES_WINDOW ? end - PP_FRAMES_WINDOW : reader->chunk;
        reader->window_start = reader->window_end = 0;
        if (!pp_frames_copy(reader, reader->window, start, end - start))
            return NULL;
        reader->window_start = start;
        reader->window_end = end;
    }
    return reader->window + (address - reader->window_start);
}

static inline bool in_chunk(const struct pp_frame_reader *reader, uintptr_t address)
{
    return address >= reader->chunk + sizeof(struct chunk_header) && address < reader->limit &&
           reader->limit - address >= reader->layout->frame.copy_size;
}

static bool is_generator_type(const struct pp_python *python, uintptr_t type)
{
    return type == python->generator_type || type == python->coroutine_type || type == python->async_generator_type;
}

static inline bool in_units(uintptr_t instr, uintptr_t units)
{
    /* the unit before the first: the frame has not started */
    return instr - (units - 2) < 2 * MAX_UNITS;
}

/* Converts `instr` from the thread's own bytecode copy (3.14t and later) to the code object's. async-signal-safe. */
PP_RARE static bool convert_tlbc_instr(const struct pp_frame_reader *reader, const void *from, struct pp_frame *frame)
{
    struct {
        uintptr_t size, copies[1];
    } array;
    uintptr_t address, copy, units = frame->code + reader->layout->code.instructions;
    uint32_t index = pp_u32(from, reader->layout->frame.tlbc_index);
    if (index == 0 || !pp_safe_read(reader->pid, &address, frame->code + reader->layout->code.tlbc, sizeof address) ||
        !pp_plausible(address) || !pp_safe_read(reader->pid, &array.size, address, sizeof array.size) ||
        index >= array.size ||
        !pp_safe_read(reader->pid, &copy, address + sizeof array.size + index * sizeof copy, sizeof copy))
        return index == 0;
    if (!in_units(frame->instr, copy))
        return false;
    frame->instr += units - copy;
    return true;
}

/* Extracts the fields of a frame or of its copy; false if they are inconsistent. async-signal-safe. */
static inline bool extract_fields(const struct pp_frame_reader *reader, const void *from, uint8_t owner,
                                  struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    frame->previous = pp_word(from, layout->frame.previous);
    frame->is_compiled = false;
    frame->is_shim = owner >= PP_OWNED_BY_SHIM;
    frame->in_generator = owner == PP_OWNED_BY_GENERATOR;
    frame->is_entry = layout->frame.is_entry && ((const uint8_t *)from)[layout->frame.is_entry];
    if (frame->is_shim)
        return true;
    frame->code = pp_word(from, layout->frame.code) & ~(uintptr_t)layout->code_tag;
    frame->instr = pp_word(from, layout->frame.instr);
    if (!pp_plausible(frame->code) || (layout->code.tlbc && !convert_tlbc_instr(reader, from, frame)))
        return false;
    return in_units(frame->instr, frame->code + layout->code.instructions);
}

/* Reads a PyFrameObject (3.8–3.10) or its copy. async-signal-safe. */
static bool read_object(const struct pp_frame_reader *reader, const void *object, struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    if (pp_word(object, layout->object_type) != reader->python->frame_type)
        return false;
    frame->code = pp_word(object, layout->frame.code);
    frame->previous = pp_word(object, layout->frame.previous);
    frame->is_shim = frame->is_entry = frame->in_generator = frame->is_compiled = false;
    int32_t last = (int32_t)pp_u32(object, layout->frame.instr);
    if (!pp_plausible(frame->code) || last < -1 || last > OBJECT_LASTI_MAX)
        return false;
    /* of a code unit: two bytes */
    frame->instr = frame->code + (last < 0 ? (uintptr_t)-2 : (uint32_t)last * layout->frame.lasti_bytes & ~1u);
    return true;
}

/* Reads a frame in the newest chunk that the walk has entered, or one that is just being popped from it.
 * async-signal-safe. */
static bool read_in_chunk(struct pp_frame_reader *reader, uintptr_t address, bool innermost, struct pp_frame *frame)
{
    const uint8_t *bytes = chunk_bytes(reader, address, reader->layout->frame.copy_size);
    if (!bytes)
        return false;
    uint8_t owner = bytes[reader->layout->frame.owner];
    reader->limit = address; /* frames further out lie below */
    return (owner == PP_OWNED_BY_THREAD || (innermost && owner == PP_OWNED_BY_GENERATOR)) &&
           extract_fields(reader, bytes, owner, frame);
}

/* Whether the links from a generator's frame outward are good. While its state is executing, its link is 0 or leads to
 * the frame that waits for it, which is alive; and no other thread changes them while this one has the GIL. The
 * innermost frame may be just about to be linked: only where its link is 0 until then (previous_cleared) a link is
 * good. async-signal-safe. */
static bool proves_links(const struct pp_frame_reader *reader, int8_t state, bool innermost, uintptr_t link)
{
    const struct pp_python_layout *layout = reader->layout;
    return state == layout->generator.frame_executing && (!innermost || (layout->frame.previous_cleared && link)) &&
           reader->attached && !reader->other_stack && !layout->free_threaded;
}

/* Extracts the frame of a function that was compiled to native code (by Nuitka): it lies in its own frame object, of a
 * type that is not CPython's, whose own frames lie there only when they run no more. Its code object has no code of its
 * own, and its instruction may be anywhere. async-signal-safe. */
PP_RARE static bool extract_compiled(struct pp_frame_reader *reader, uintptr_t address, const uint8_t *from,
                                     struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    uintptr_t words[8], object = layout->frame.object ? pp_word(from, layout->frame.object) : 0;
    if (!pp_plausible(object) || object >= address || address - object > COMPILED_MAX ||
        !pp_frames_copy(reader, words, object, layout->frame.f_frame + sizeof *words) ||
        pp_word(words, layout->object_type) == reader->python->frame_type ||
        pp_word(words, layout->frame.f_frame) != address)
        return false;
    frame->code = pp_word(from, layout->frame.code) & ~(uintptr_t)layout->code_tag;
    frame->previous = pp_word(from, layout->frame.previous);
    frame->instr = frame->code; /* which tells unit_of in code_cache.c that the line is unknown */
    frame->is_shim = frame->is_entry = frame->in_generator = false;
    frame->is_compiled = true;
    return pp_plausible(frame->code);
}

/* Reads a frame in a generator or in an older chunk: its owner says which. async-signal-safe. */
PP_RARE static bool read_elsewhere(struct pp_frame_reader *reader, uintptr_t address, bool innermost,
                                   struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    uint8_t copy[GENERATOR_COPY];
    unsigned before = layout->generator.frame;
    bool alive = reader->links_proven || address == reader->live;
    const uint8_t *bytes = alive ? (const uint8_t *)address - before : copy;
    if (!alive && !pp_frames_copy(reader, copy, address - before, before + layout->frame.copy_size))
        return false;
    uint8_t owner = bytes[before + layout->frame.owner];
    if (reader->other_stack && owner >= PP_OWNED_BY_SHIM && owner <= PP_OWNED_BY_SHIM_LAST)
        return extract_fields(reader, bytes + before, owner, frame);
    bool is_generator = is_generator_type(reader->python, pp_word(bytes, layout->object_type));
    if (owner == PP_OWNED_BY_FRAME_OBJECT || (owner == PP_OWNED_BY_GENERATOR && !is_generator))
        return extract_compiled(reader, address, bytes + before, frame);
    if (owner == PP_OWNED_BY_GENERATOR) {
        int8_t state = (int8_t)bytes[layout->generator.gi_frame_state];
        /* up to 3.13 a generator that yields to a profiler or tracer is marked suspended before the call; a suspended
         * generator has no `previous` */
        bool yields = state >= layout->generator.frame_suspended && state < layout->generator.frame_executing;
        if (!(innermost || yields || state == layout->generator.frame_executing) ||
            !extract_fields(reader, bytes + before, owner, frame) || (!innermost && yields && !frame->previous))
            return false;
        reader->links_proven |= proves_links(reader, state, innermost, frame->previous);
        return true;
    }
    if (owner != PP_OWNED_BY_THREAD || !extract_fields(reader, bytes + before, owner, frame))
        return false;
    while (enter_chunk(reader, reader->chunk_previous, 0))
        if (in_chunk(reader, address)) {
            reader->limit = address;
            return true;
        }
    return false;
}

bool pp_frame_read(struct pp_frame_reader *reader, uintptr_t address, bool innermost, struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    reader->steps++;
    if (!pp_plausible(address))
        return false;
    if (layout->chain == PP_CHAIN_OBJECTS)
        return read_object(reader, (const void *)address, frame);
    if (!reader->other_stack && address >= reader->sp && address < reader->stack_top) {
        if (reader->stack_top - address < layout->frame.copy_size)
            return false;
        /* an eval call links its shim before filling it (seen in a build of 3.13) */
        const uint8_t *in_place = (const uint8_t *)address;
        bool is_new = address < reader->entered_end;
        uint8_t owner = is_new ? PP_OWNED_BY_SHIM : in_place[layout->frame.owner];
        reader->links_proven &= !is_new;
        return owner >= PP_OWNED_BY_SHIM && owner <= PP_OWNED_BY_SHIM_LAST &&
               extract_fields(reader, in_place, owner, frame);
    }
    /* a frame that becomes a generator's is popped before it is unlinked; nothing has overwritten it yet */
    bool popped = innermost && address == reader->first_free && address == reader->limit;
    return in_chunk(reader, address) || popped ? read_in_chunk(reader, address, innermost, frame)
                                               : read_elsewhere(reader, address, innermost, frame);
}

bool pp_frame_parse(const struct pp_frame_reader *reader, const uint8_t *bytes, struct pp_frame *frame)
{
    const struct pp_python_layout *layout = reader->layout;
    if (layout->chain == PP_CHAIN_OBJECTS)
        return read_object(reader, bytes, frame);
    uint8_t owner = bytes[layout->frame.owner];
    return owner <= PP_OWNED_BY_SHIM_LAST && extract_fields(reader, bytes, owner, frame);
}

bool pp_frame_copy(const struct pp_frame_reader *reader, uintptr_t address, struct pp_frame *frame)
{
    uint8_t bytes[PP_FRAME_COPY_MAX];
    return pp_plausible(address) && pp_safe_read(reader->pid, bytes, address, reader->layout->frame.copy_size) &&
           pp_frame_parse(reader, bytes, frame);
}
