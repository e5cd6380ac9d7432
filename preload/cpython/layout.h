/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how a minor version of CPython lays out its structures and numbers its states: a row of layouts.c for each.
 * What reads an interpreter asks the row, never for the version (tests/lint.sh).
 *
 * Fields are named as in CPython, or the comment says its name. In brackets is the file that declares it in these
 * versions, all of them if none are named: in Include/, unless the path begins with another folder. Early versions have
 * most headers of cpython/ one folder further up. The tags are those of the releases in layouts.c: v3.8.18 … v3.15.2.
 */
#ifndef PP_CPYTHON_LAYOUT_H
#define PP_CPYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define PP_THREAD_STATE_MAX 512 /* bytes of a thread state that are copied at most */

/* How a thread's frames are linked, and what marks the entry of a native eval frame. */
enum pp_frame_chain {
    PP_CHAIN_OBJECTS,     /* 3.8–3.10: PyFrameObjects, each run by a native eval frame of its own; no markers */
    PP_CHAIN_CFRAME_FLAG, /* 3.11: a _PyCFrame per eval call on the C stack; the run's outermost frame has is_entry */
    PP_CHAIN_CFRAME_SHIM, /* 3.12: _PyCFrame, and an entry frame (shim) on the C stack closes each run */
    PP_CHAIN_SHIM,        /* 3.13: thread state -> current frame; shims close the runs */
};

/* The formats of a code object's line table [cpython/code.h; Objects/locations.md since 3.11]. */
enum pp_line_table {
    PP_LINES_LNOTAB,    /* up to 3.9, co_lnotab: {bytes of code, lines}, the line changes after those bytes */
    PP_LINES_RANGES,    /* 3.10, co_linetable: {bytes of code, lines}, the line holds for those bytes */
    PP_LINES_LOCATIONS, /* 3.11 on, co_linetable: lines and columns */
};

/* What an interpreter publishes about itself: the fields of its _Py_DebugOffsets (offsets.c). */
enum pp_published {
    PP_PUBLISHED_NOTHING,
    PP_PUBLISHED_3_13,
    PP_PUBLISHED_3_14,
    PP_PUBLISHED_3_15,
};

/* enum _frameowner, `owner` of a frame [3.11–3.15: internal/pycore_frame.h, since 3.14 pycore_interpframe_structs.h] */
enum pp_frame_owner {
    PP_OWNED_BY_THREAD = 0,       /* FRAME_OWNED_BY_THREAD */
    PP_OWNED_BY_GENERATOR = 1,    /* FRAME_OWNED_BY_GENERATOR */
    PP_OWNED_BY_FRAME_OBJECT = 2, /* FRAME_OWNED_BY_FRAME_OBJECT */
    PP_OWNED_BY_SHIM = 3,         /* FRAME_OWNED_BY_CSTACK, since 3.14 FRAME_OWNED_BY_INTERPRETER */
    PP_OWNED_BY_SHIM_LAST = 4,    /* since 3.14 FRAME_OWNED_BY_CSTACK */
};

/* Bits of tp_flags, by number: the type is this class or a subclass of it, Py_TPFLAGS_HEAPTYPE and
 * Py_TPFLAGS_…_SUBCLASS [3.8–3.15: object.h] */
enum pp_class {
    PP_CLASS_HEAP = 9, /* any class that was made while the program ran, as all of Python's are */
    PP_CLASS_INT = 24,
    PP_CLASS_LIST = 25,
    PP_CLASS_TUPLE = 26,
    PP_CLASS_BYTES = 27,
    PP_CLASS_DICT = 29,
    PP_CLASS_TYPE = 31,
};

/* Bits of co_flags [3.8–3.15: cpython/code.h] */
#define PP_CO_NESTED     0x010u /* the function is defined in another one */
#define PP_CO_COROUTINES 0x380u /* CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR */

/* Offsets in bytes, from the beginning of the structure; 0: the version lacks the field (only frame.code, cframe's
 * first and those of dict_keys' values can really be at 0). */
struct pp_python_layout {
    uint8_t minor;
    bool free_threaded;
    uint8_t chain;       /* enum pp_frame_chain */
    bool torn_windows;   /* compiled code leaves the chain inconsistent at some instructions of the eval loop */
    bool unique_version; /* code objects have a version number that is never reused (co_version) */
    uint8_t code_tag;    /* 3.14+: tag bits of a frame's words (_PyStackRef) [internal/pycore_stackref.h] */
    uint8_t published;   /* enum pp_published */
    /* 3.12: what an interpreter state has differs between patch releases, of which not all were checked, and nothing is
     * published: what is read of it is compared with what it must be like. */
    bool state_varies;
    bool tss_tstate;       /* 3.12+: the attached thread state is in a TLS word, _Py_tss_tstate [Python/pystate.c] */
    bool waiters_exit;     /* up to 3.13: threads that wait for the GIL of an interpreter that ends exit
                              [Python/ceval_gil.h, later .c] */
    bool context_watchers; /* 3.14+: extensions are told when a thread's Context changes (PyContext_AddWatcher) */

    struct {                       /* _PyRuntimeState [internal/pycore_runtime.h] */
        uint16_t initialized;      /* 3.15: int, nonzero from the end of Py_Initialize to the start of Py_Finalize */
        uint16_t finalizing;       /* _finalizing: the thread state that finalizes the interpreter */
        uint16_t current;          /* 3.8–3.11: gilstate.tstate_current, the thread state that holds the GIL */
        uint16_t head_interpreter; /* interpreters.head, of the list of interpreters */
        uint16_t main_interpreter; /* 3.8–3.11: interpreters.main, the last in that list */
        uint16_t collecting;       /* 3.8: gc.collecting: int, 1 while a garbage collection runs */
        uint16_t key; /* up to 3.14: autoTSSkey, {int is_created; unsigned key} of the bound thread states; since then
                         they are in a TLS word, _Py_tss_gilstate */
    } runtime;
    struct {                       /* PyInterpreterState [internal/pycore_interp.h] */
        uint16_t collecting;       /* 3.9+: gc.collecting: int, 1 while a garbage collection runs */
        uint16_t collecting_frame; /* 3.15: gc.frame, the collecting thread's when the collection began */
        uint16_t modules;          /* sys.modules; imports.modules since 3.12 */
        uint16_t id;               /* 3.12+: int64_t, which no other interpreter has or had */
        uint16_t next, threads;    /* the next one in the list, and the head of its list of thread states */
    } interpreter;
    struct { /* PyThreadState [cpython/pystate.h] */
        uint16_t next, interp, thread_id, datastack_chunk, datastack_top;
        uint16_t top; /* frame (3.8–3.10), cframe (3.11, 3.12), current_frame */
        uint16_t root_cframe;
        uint16_t cframe;     /* 3.10, 3.11: address of the running eval loop's cframe on its stack, or of root_cframe */
        uint16_t base_frame; /* 3.15: address of the shim, in the thread state, that closes the outermost run */
        uint16_t dict;       /* 3.8–3.12: asyncio keeps the running loop in there */
        uint16_t context;    /* the Context of contextvars */
        uint16_t copy_size;  /* covers all of the above, but not what follows */
        /* of asyncio, 3.13+; _PyThreadStateImpl [internal/pycore_tstate.h] */
        uint16_t running_loop; /* asyncio_running_loop; in 3.13 it follows the PyThreadState, whose size is published */
        uint16_t running_task; /* 3.14+: asyncio_running_task */
    } thread_state;
    struct { /* 3.11, 3.12: _PyCFrame [cpython/pystate.h] */
        uint8_t current_frame, previous;
    } cframe;
    struct {           /* _PyInterpreterFrame [internal/pycore_frame.h, 3.14+ internal/pycore_interpframe_structs.h];
                          PyFrameObject up to 3.10 [3.8: frameobject.h, cpython/frameobject.h] */
        uint16_t code; /* f_code; f_executable since 3.13 */
        uint16_t previous; /* f_back up to 3.10 */
        uint16_t globals;  /* f_globals */
        uint16_t instr;    /* f_lasti up to 3.10, prev_instr, instr_ptr since 3.13 */
        uint16_t owner, is_entry;
        uint16_t object;     /* 3.11+: frame_obj, its frame object, if it has one */
        uint16_t f_frame;    /* 3.11+: of that PyFrameObject, the frame [internal/pycore_frame.h] */
        uint16_t locals;     /* localsplus, f_localsplus: the first one */
        uint16_t tlbc_index; /* 3.14t+: which copy of the bytecode `instr` points into */
        /* The end of a suspended frame's value stack is a pointer, or an int that counts words from a base on. */
        uint16_t stackpointer; /* 3.14+: stackpointer; f_stacktop in 3.8 and 3.9, NULL while the frame runs */
        uint16_t stacktop;     /* 3.11–3.13: stacktop, counts from localsplus on; f_stackdepth in 3.10 */
        uint16_t valuestack;   /* 3.10: f_valuestack, which f_stackdepth counts from */
        uint8_t awaited;       /* words from that end to what the frame awaits: 2 since 3.15 (SEND) */
        uint8_t lasti_bytes;   /* up to 3.10: bytes of code that f_lasti counts in: 1, in 3.10 2 */
        uint8_t instr_behind;  /* bytes from `instr` to the next instruction: 2 while it is the last one (until 3.12) */
        bool previous_cleared; /* 3.12+: `previous` of a generator's frame is NULL while nothing runs the generator */
        uint16_t copy_size;
    } frame;
    struct {                     /* PyGenObject, PyCoroObject, PyAsyncGenObject [genobject.h, cpython/genobject.h,
                                    3.14+ internal/pycore_interpframe_structs.h] */
        uint16_t frame;          /* 3.11+: gi_iframe, the frame embedded in it */
        uint16_t object;         /* 3.8–3.10: gi_frame, address of its frame object */
        uint16_t qualname;       /* gi_qualname: str */
        uint16_t gi_frame_state; /* 3.11+: int8_t, a PyFrameState [3.11–3.15: internal/pycore_frame.h]: */
        int8_t frame_suspended;  /* FRAME_SUSPENDED; up to 3.12 in an await, too */
        int8_t frame_suspended_yield_from; /* FRAME_SUSPENDED_YIELD_FROM; 0: the version has none (up to 3.12) */
        int8_t frame_executing;            /* FRAME_EXECUTING */
        int8_t frame_finished;             /* FRAME_COMPLETED, since 3.15 FRAME_CLEARED; so are all states above */
    } generator;
    /* Up to 3.12: which instruction is next in a frame that is suspended in an await. Of its code unit this byte, of
     * that these bits are in a range: the opcode YIELD_FROM [3.8–3.10: opcode.h], the oparg of RESUME that follows one
     * [3.11, 3.12: Python/bytecodes.c, Doc/library/dis.rst]. */
    struct {
        uint8_t byte, mask, first, last;
    } awaits;
    struct {                               /* PyCodeObject [3.8: code.h, cpython/code.h] */
        uint16_t units;                    /* 3.11+: ob_size, number of code units */
        uint16_t first_line;               /* co_firstlineno */
        uint16_t filename;                 /* co_filename */
        uint16_t qualname;                 /* co_qualname; up to 3.10 co_name: */
        bool unqualified;                  /* the class and the function around it are not in the name */
        uint8_t line_table_format;         /* enum pp_line_table */
        uint16_t line_table;               /* co_linetable; co_lnotab up to 3.9 */
        uint16_t first_traceable;          /* 3.11+: _co_firsttraceable */
        uint16_t version;                  /* 3.11+: co_version */
        uint16_t flags;                    /* co_flags */
        uint16_t consts;                   /* co_consts: functions that are defined in this one are in there */
        uint16_t local_names;              /* tuple of str, in the order of the locals: co_localsplusnames, up to 3.10
                                              co_varnames, which these follow: */
        uint16_t co_cellvars, co_freevars; /* up to 3.10: variables that are in cells */
        uint16_t instructions;             /* 3.11+: co_code_adaptive, where the code units begin */
        uint16_t bytecode;                 /* 3.8–3.10: co_code, address of the bytes object with the code units */
        uint16_t tlbc; /* 3.14t+: co_tlbc, address of {size, per-thread copies of the instructions} */
        uint16_t copy_size;
    } code;
    struct { /* PyASCIIObject, PyCompactUnicodeObject [cpython/unicodeobject.h] */
        uint16_t length, hash, state, ascii_data, compact_data;
        uint8_t kind_shift; /* of the state word: kind (3 bits), then one bit each for compact and ascii */
    } text;
    struct { /* PyBytesObject [cpython/bytesobject.h]: ob_size, ob_sval */
        uint16_t length, data;
    } bytes;
    struct {           /* PyHeapTypeObject [cpython/object.h]: a class made by Python */
        uint16_t size; /* tp_basicsize of `type`; 0: not known */
        uint16_t
            cached_keys; /* ht_cached_keys, that the instances share, after ht_qualname; 0: classes are not known */
    } heap_type;
    struct {                               /* TaskObj [Modules/_asynciomodule.c] */
        uint16_t size;                     /* tp_basicsize of _asyncio.Task; another size has another layout */
        uint16_t coroutine, name, context; /* task_coro, task_name, task_context */
    } task;
    struct { /* PyFunctionObject [funcobject.h, cpython/funcobject.h]: func_code … */
        uint16_t code, closure, dict, qualname;
    } function;
    uint8_t object_type; /* PyObject.ob_type [object.h] */
    uint8_t ob_size;     /* PyVarObject.ob_size [object.h]: of an int, a list, a tuple, a type, a node of a trie */

    struct { /* PyTypeObject [cpython/object.h] */
        uint16_t tp_name, tp_basicsize, tp_flags, tp_base, tp_dict, tp_dictoffset;
        uint8_t inline_values; /* 3.13+: Py_TPFLAGS_INLINE_VALUES, a mask of tp_flags [object.h] */
        uint8_t managed_dict;  /* 3.11+: Py_TPFLAGS_MANAGED_DICT; 0: tp_dictoffset tells where the dict is */
    } type;
    struct { /* PyDictObject [cpython/dictobject.h] */
        uint16_t ma_used, ma_keys, ma_values;
    } dict;
    struct {             /* PyDictKeysObject [Objects/dict-common.h, 3.11+ internal/pycore_dict.h] */
        uint8_t dk_size; /* up to 3.10: number of slots; since then 8-bit logarithms: */
        uint8_t dk_log2_size, dk_log2_index_bytes;
        uint8_t dk_kind; /* 3.11+: DICT_KEYS_GENERAL is 0 */
        uint8_t dk_nentries, dk_indices;
        uint8_t values; /* of PyDictValues: where the values begin, since 3.13 after a word of sizes */
    } dict_keys;
    /* An instance of a class with managed_dict: bytes before the object [internal/pycore_object.h]. */
    struct {
        uint8_t values; /* 3.11: of the address of its PyDictValues */
        uint8_t dict;   /* of the address of its dict */
        bool tagged;    /* 3.12: that is one more than the address of its PyDictValues if the lowest bit is set */
    } instance;
    struct {                   /* PyLongObject [3.8: longintrepr.h, cpython/longintrepr.h] */
        uint8_t ob_digit;      /* up to 3.11 ob_size counts the digits; since 3.12 it is lv_tag: */
        uint8_t sign_mask;     /* SIGN_MASK; 0 in there: positive, 1: zero [internal/pycore_long.h] */
        uint8_t non_size_bits; /* NON_SIZE_BITS */
    } integer;
    struct { /* PyListObject, PyTupleObject [cpython/listobject.h, cpython/tupleobject.h] */
        uint8_t list_ob_item, tuple_ob_item;
    } items;
    struct {                      /* callables */
        uint8_t im_func, im_self; /* PyMethodObject [cpython/classobject.h] */
        uint8_t m_ml, m_self;     /* PyCFunctionObject [cpython/methodobject.h]; a PyMethodDef begins with ml_name */
        uint8_t partial_fn, partial_args; /* partialobject [Modules/_functoolsmodule.c] */
    } callable;
    struct {
        uint8_t ob_ref;          /* PyCellObject [cpython/cellobject.h] */
        uint8_t md_dict;         /* PyModuleObject [internal/pycore_moduleobject.h] */
        uint8_t capsule_pointer; /* PyCapsule [Objects/capsule.c] */
        uint8_t d_member;        /* PyMemberDescrObject [descrobject.h], address of a PyMemberDef; of that: */
        uint8_t member_type, member_offset; /* type, offset [structmember.h, 3.12+ descrobject.h] */
        /* ags_gen, agt_gen [Objects/genobject.c], cw_coroutine, wrapped (anext_awaitable): what they await on a
         * coroutine's behalf */
        uint8_t wrapped;
        /* dequeobject, block [Modules/_collectionsmodule.c] */
        uint8_t leftblock, leftindex, block_data;
    } object;
    struct {                                  /* asyncio [Modules/_asynciomodule.c] */
        uint8_t fut_callback0, fut_callbacks; /* FutureObj */
        uint8_t ww_task;                      /* 3.8, 3.9: TaskWakeupMethWrapper */
        uint8_t rl_loop, rl_pid;              /* up to 3.11: PyRunningLoopHolder, in the thread state's dict */
    } asyncio;
    struct {              /* contextvars [internal/pycore_context.h] */
        uint8_t ctx_vars; /* PyContext */
        uint8_t var_hash; /* PyContextVar */
        /* [internal/pycore_hamt.h, Python/hamt.c] */
        uint8_t h_root;            /* PyHamtObject */
        uint8_t b_bitmap, b_array; /* PyHamtNode_Bitmap; a PyHamtNode_Collision has c_array there, too */
        uint8_t a_array;           /* PyHamtNode_Array */
    } contextvars;
};

#define PP_DICT_COPY_MAX 64 /* bytes from a dict's type to the end of ma_values, at most */

/* Returns NULL for an unknown minor version. */
const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded);
/* Returns the first and the last minor version that is known. */
unsigned pp_python_first_minor(void);
unsigned pp_python_last_minor(void);

enum pp_python_age {
    PP_PYTHON_TOO_OLD,
    PP_PYTHON_KNOWN,
    PP_PYTHON_TOO_NEW,
};
enum pp_python_age pp_python_age_of(unsigned major, unsigned minor);

#endif
