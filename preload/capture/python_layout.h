/* SPDX-License-Identifier: Apache-2.0 */
/* Has the field offsets of a minor version of CPython; python/layouts.c has a row for each. */
#ifndef PP_CAPTURE_PYTHON_LAYOUT_H
#define PP_CAPTURE_PYTHON_LAYOUT_H

#include "tls_word.h"
#include <stdbool.h>
#include <stdint.h>

#define PP_THREAD_STATE_MAX 512 /* bytes of a thread state that are copied at most */
#define PP_GENERATOR_STATE  5   /* where gi_frame_state is: bytes before the embedded frame, all versions */

/* How a thread's frames are linked, and what marks the entry of a native eval frame. */
enum pp_frame_chain {
    PP_CHAIN_OBJECTS,     /* 3.8–3.10: PyFrameObjects, each run by a native eval frame of its own; no markers */
    PP_CHAIN_CFRAME_FLAG, /* 3.11: a _PyCFrame per eval call on the C stack; the run's outermost frame has is_entry */
    PP_CHAIN_CFRAME_SHIM, /* 3.12: _PyCFrame, and an entry frame (shim) on the C stack closes each run */
    PP_CHAIN_SHIM,        /* 3.13: thread state -> current frame; shims close the runs */
};

/* Offsets in bytes; 0: the version lacks the field (only frame.code can really be at 0). */
struct pp_python_layout {
    uint8_t minor;
    bool free_threaded;
    uint8_t chain;       /* enum pp_frame_chain */
    bool torn_windows;   /* compiled code leaves the chain inconsistent at some instructions of the eval loop */
    bool unique_version; /* code objects have a version number that is never reused (co_version) */
    uint8_t code_tag;    /* tag bits of a frame's code word (_PyStackRef) */

    struct {
        uint16_t initialized;      /* 3.15: int, nonzero from the end of Py_Initialize to the start of Py_Finalize */
        uint16_t finalizing;       /* the thread state that finalizes the interpreter */
        uint16_t current;          /* 3.8–3.11: the thread state that holds the GIL */
        uint16_t head_interpreter; /* head of the list of interpreters */
        uint16_t main_interpreter; /* 3.8–3.11: the main interpreter, the last in that list */
        uint16_t collecting;       /* 3.8: int, 1 while a garbage collection runs */
        uint16_t key;              /* up to 3.14: {int is_created; unsigned key} of the bound thread states */
    } runtime;
    struct {
        uint16_t collecting;       /* 3.9+: int, 1 while a garbage collection runs */
        uint16_t collecting_frame; /* 3.15: the collecting thread's current frame when the collection began */
        uint16_t modules;          /* sys.modules */
        uint16_t id;               /* 3.12+: int64_t, which no other interpreter has or had */
        uint16_t next, threads;    /* the next one in the list, and the head of its list of thread states */
    } interpreter;
    struct {
        uint16_t next, interp, top, root_cframe, thread_id, datastack_chunk, datastack_top;
        uint16_t cframe;     /* 3.10, 3.11: address of the running eval loop's cframe on its stack, or of root_cframe */
        uint16_t base_frame; /* 3.15: address of the shim, in the thread state, that closes the outermost run */
        uint16_t dict;       /* 3.8–3.12: asyncio keeps the running loop in there */
        uint16_t context;    /* the Context of contextvars */
        uint16_t copy_size;  /* covers all of the above, but not what follows */
        uint16_t running_loop; /* 3.13: of asyncio; follows the thread state */
        uint16_t running_task; /* 3.14+: of asyncio */
    } thread_state;
    struct {
        uint16_t code, previous, instr, owner, is_entry;
        uint16_t object;     /* 3.11+: its frame object, if it has one */
        uint16_t locals;     /* the first one */
        uint16_t tlbc_index; /* 3.14t+: which copy of the bytecode `instr` points into */
        uint16_t copy_size;
    } frame;
    struct {
        uint16_t frame;    /* the frame embedded in a generator, coroutine or async generator */
        uint16_t object;   /* 3.8–3.10: address of its frame object */
        uint16_t qualname; /* str */
        int8_t executing;  /* gi_frame_state while it runs */
    } generator;
    struct {
        uint16_t units; /* 3.11+: number of code units */
        uint16_t first_line, filename, qualname, line_table, first_traceable, version, flags;
        uint16_t consts;       /* tuple: functions that are defined in this one are in there */
        uint16_t local_names;  /* tuple of str: of the local variables, in their order */
        uint16_t instructions; /* 3.11+: where the code units begin */
        uint16_t bytecode;     /* 3.8–3.10: address of the bytes object with the code units */
        uint16_t tlbc;         /* 3.14t+: address of {size, per-thread copies of the instructions} */
        uint16_t copy_size;
    } code;
    struct {
        uint16_t length, hash, state, ascii_data, compact_data;
        uint8_t kind_shift; /* of the state word: kind (3 bits), then one bit each for compact and ascii */
    } text;
    struct {
        uint16_t length, data;
    } bytes;
    struct {
        uint16_t size;        /* tp_basicsize of `type`; 0: not known */
        uint16_t cached_keys; /* the keys that the instances share; 0: the layout of classes is not known */
    } heap_type;              /* a class made by Python */
    struct {
        uint16_t size; /* tp_basicsize of _asyncio.Task; another size has another layout */
        uint16_t coroutine, name;
    } task;
    struct {
        uint16_t code, closure, dict, qualname;
    } function;
    uint8_t object_type; /* ob_type */
};

/* An interpreter of this process. Start-up writes it before publishing it; handlers read it. */
struct pp_python {
    struct pp_python_layout layout;
    uint8_t index;     /* in pp_capture.pythons */
    uintptr_t runtime; /* _PyRuntime */
    /* The thread state bound to the calling thread, whether or not it holds the GIL; up to 3.14 under a pthread key. */
    struct pp_tls_word bound;
    /* PyGILState_GetThisThreadState, until it has confirmed `bound`. Not for handlers. */
    void *(*this_thread_state)(void);
    /* 3.12+: the attached thread state, NULL while the thread does not hold the GIL. */
    struct pp_tls_word attached;
    uintptr_t frame_type, code_type, generator_type, coroutine_type, async_generator_type, text_type, dict_type;
    uintptr_t context_type, context_variable_type, member_type; /* 0: not exported */
    uintptr_t eval_function; /* entry of _PyEval_EvalFrameDefault; its loop may be in a .cold part elsewhere */
    uintptr_t module_start, module_end; /* of the object that holds the interpreter */
    char version[16];                   /* "3.11.2" */
};

#endif
