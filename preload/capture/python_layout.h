/* Where the things that we read lie in one CPython minor version. A row of data per version: preload/python_layouts.c.
 */
#ifndef PP_CAPTURE_PYTHON_LAYOUT_H
#define PP_CAPTURE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How a thread's frames are linked, and what marks the entry of a native eval frame. */
enum pp_frame_chain {
    PP_CHAIN_CFRAME_FLAG, /* 3.11: a _PyCFrame per eval call on the C stack; the run's outermost frame has is_entry */
    PP_CHAIN_CFRAME_SHIM, /* 3.12: _PyCFrame, and an entry frame (shim) on the C stack closes each run */
    PP_CHAIN_SHIM,        /* 3.13: thread state -> current frame; shims close the runs */
};

/* Offsets in bytes. */
struct pp_python_layout {
    uint8_t minor;
    uint8_t chain;       /* enum pp_frame_chain */
    bool torn_windows;   /* compiled code leaves the chain inconsistent at some instructions of the eval loop */
    bool unique_version; /* code objects carry a number that is not used twice (co_version) */

    struct {
        uint16_t interp, top, root_cframe, thread_id, native_thread_id, datastack_chunk, datastack_top;
        uint16_t copy_size; /* all of the above lie below it */
    } thread_state;
    struct {
        uint16_t code, previous, instr, owner, is_entry;
        uint16_t copy_size;
    } frame;
    struct {
        uint16_t frame;   /* of the frame within a generator, coroutine or async generator */
        int8_t executing; /* gi_frame_state (the byte 5 before the frame) of one that runs */
    } generator;
    struct {
        uint16_t units, first_line, filename, qualname, line_table, first_traceable, version, instructions;
        uint16_t copy_size;
    } code;
    struct {
        uint16_t length, hash, state, ascii_data, compact_data;
    } text;
    struct {
        uint16_t length, data;
    } bytes;
};

/* The interpreter of this process. Written once by start-up, before it is published; read by handlers. */
struct pp_python {
    const struct pp_python_layout *layout;
    /* PyGILState_GetThisThreadState: reads a TSS key, no lock, no allocation; its PLT slot is resolved at start-up.
     * Bound to the thread whether or not it holds the GIL. */
    void *(*this_thread_state)(void);
    int (*is_finalizing)(void);
    uintptr_t code_type, generator_type, coroutine_type, async_generator_type;
    uintptr_t eval_function; /* _PyEval_EvalFrameDefault: its entry; the loop may be in a .cold part elsewhere */
    uintptr_t module_start, module_end; /* of the object that holds the interpreter */
};

#define PP_OBJECT_TYPE_OFFSET 8 /* ob_type, every build that we accept */

#endif
