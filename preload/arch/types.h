/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what the functions of every processor take and return. */
#ifndef PP_ARCH_TYPES_H
#define PP_ARCH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pp_tls_kind {
    PP_TLS_NONE,
    PP_TLS_FIXED,   /* at thread pointer + offset in every thread: static TLS */
    PP_TLS_DYNAMIC, /* at offset in block `module` of the thread's DTV (glibc's dtv_t: {block, to_free}) */
    PP_TLS_KEY,     /* under the pthread key of the Py_tss_t {int is_created; unsigned key} at address `offset` */
};

struct pp_tls_word {
    uint8_t kind; /* enum pp_tls_kind */
    uint64_t module;
    int64_t offset;
};

/* The object whose code is decoded. module: its dlpi_tls_modid. */
struct pp_tls_object {
    uint64_t module;
    /* Copies bytes; false if they cannot be read. in_object: only from the object's own readable memory. */
    bool (*read)(const void *context, uintptr_t address, void *to, size_t size, bool in_object);
    const void *context;
};

/* Reads a tls_index {module, offset}, which must be of the object's own module. */
static inline bool pp_tls_index(const struct pp_tls_object *object, uintptr_t address, bool in_object, int64_t *offset)
{
    uint64_t index[2];
    if (!object->read(object->context, address, index, sizeof index, in_object) || !index[0] ||
        index[0] != object->module)
        return false;
    *offset = (int64_t)index[1];
    return true;
}

/* An instruction of a function's epilogue. */
struct pp_epilogue_step {
    enum pp_epilogue_kind {
        PP_EPILOGUE_NONE, /* any other instruction */
        PP_EPILOGUE_RETURN,
        PP_EPILOGUE_ADD,       /* adds `value` to the stack pointer */
        PP_EPILOGUE_POP,       /* pops register `value` */
        PP_EPILOGUE_POP_FRAME, /* loads frame pointer and return address from the stack, then does what ADD does */
    } kind;
    uint8_t value, size;
};

/* Code [start, end) that has no unwind information, but is known by its instructions. */
struct pp_undescribed {
    enum pp_undescribed_kind {
        PP_CODE_OTHER,
        PP_CODE_STUB,       /* leaves the stack and the return address as they are */
        PP_CODE_FIRST_STUB, /* so does a PLT's first entry, once it has pushed PP_PLT_UNDESCRIBED_PUSH bytes */
        PP_CODE_RESTORER,   /* what a signal's handler returns to, at the kernel's signal frame */
    } kind;
    uintptr_t start, end;
};

#endif
