/* SPDX-License-Identifier: Apache-2.0 */
/* Has what the handler knows of an interpreter: where it is, and how its version lays out what is read. */
#ifndef PP_CAPTURE_PYTHON_H
#define PP_CAPTURE_PYTHON_H

#include "../cpython/layout.h"
#include "tls_word.h"
#include <stdint.h>

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
    uintptr_t hash_secret;   /* _Py_HashSecret: the key of the hashes of str; 0: not exported */
    uintptr_t eval_function; /* entry of _PyEval_EvalFrameDefault; its loop may be in a .cold part elsewhere */
    uintptr_t module_start, module_end; /* of the object that holds the interpreter */
    char version[16];                   /* "3.11.2" */
};

#endif
