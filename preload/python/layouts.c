/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the offsets of each minor version of CPython, x86-64. Each row was read from DWARF or compiled headers of a
 * real build of that version and checked by walking at every instruction of a call-heavy
 * program: 3.8.18, 3.9.18, 3.10.13; 3.11.2 (Debian, static) and 3.11.7; 3.12.1; 3.13.0 and 3.13.18; 3.14.10; 3.15.2.
 * The free-threaded rows come from the headers of 3.13.18 and 3.14.10 compiled with Py_GIL_DISABLED. At start the row
 * is compared with what 3.13 and later publish
 * (_Py_DebugOffsets). */
#include "find.h"
#include <stddef.h>

/* str, bytes and object. header: size of a PyObject, 32 in free-threaded builds. Until 3.11 str had one more field. */
#define OBJECTS(header, ascii, compact, kind)                                                                          \
    .text = {.length = header,                                                                                         \
             .hash = header + 8,                                                                                       \
             .state = header + 16,                                                                                     \
             .ascii_data = ascii,                                                                                      \
             .compact_data = compact,                                                                                  \
             .kind_shift = kind},                                                                                      \
    .bytes = {.length = header, .data = header + 16}, .object_type = header - 8

/* PyThreadState and PyCodeObject of 3.8 to 3.10. */
#define OBJECT_THREAD_STATE                                                                                            \
    .next = 8, .interp = 16, .top = 24, .thread_id = 176, .dict = 152, .context = 240, .copy_size = 272
#define OBJECT_CODE                                                                                                    \
    .first_line = 40, .filename = 104, .qualname = 112, .line_table = 120, .bytecode = 48, .flags = 36, .consts = 56,  \
    .local_names = 72, .copy_size = 128
/* PyThreadState of 3.13 and 3.14, the frames of 3.12 on, PyCodeObject of 3.12 on. */
#define THREAD_STATE                                                                                                   \
    .next = 8, .interp = 16, .top = 72, .thread_id = 152, .context = 208, .datastack_chunk = 232,                      \
    .datastack_top = 240, .copy_size = 248
#define FRAME .code = 0, .previous = 8, .object = 48, .instr = 56
#define CODE(header, traceable, end)                                                                                   \
    .units = header, .first_line = header + 52, .filename = header + 96, .qualname = header + 112,                     \
    .line_table = header + 120, .version = header + 76, .flags = header + 32, .consts = header + 8,                    \
    .local_names = header + 80, .first_traceable = traceable, .instructions = end, .copy_size = end
/* PyFunctionObject of 3.10 on. */
#define FUNCTION(header) .code = header + 32, .closure = header + 56, .dict = header + 72, .qualname = header + 24

static const struct pp_python_layout layouts[] = {
    {
        .minor = 8,
        .chain = PP_CHAIN_OBJECTS,
        .runtime = {.finalizing = 16,
                    .current = 1368,
                    .head_interpreter = 32,
                    .main_interpreter = 40,
                    .collecting = 544,
                    .key = 1392},
        .interpreter = {.threads = 8, .modules = 56},
        .thread_state = {OBJECT_THREAD_STATE},
        .frame = {.code = 32, .previous = 24, .instr = 104, .locals = 360, .copy_size = 120},
        .generator = {.object = 16, .qualname = 56},
        .code = {OBJECT_CODE},
        OBJECTS(16, 48, 72, 2),
        .heap_type = {.size = 880, .cached_keys = 872},
        .task = {.size = 144, .coroutine = 112, .name = 120},
        .function = {.code = 16, .closure = 48, .dict = 72, .qualname = 104},
    },
    {
        .minor = 9,
        .chain = PP_CHAIN_OBJECTS,
        .runtime = {.finalizing = 16, .current = 568, .head_interpreter = 32, .main_interpreter = 40, .key = 584},
        .interpreter = {.threads = 8, .collecting = 816, .modules = 856},
        .thread_state = {OBJECT_THREAD_STATE},
        .frame = {.code = 32, .previous = 24, .instr = 104, .locals = 360, .copy_size = 120},
        .generator = {.object = 16, .qualname = 56},
        .code = {OBJECT_CODE},
        OBJECTS(16, 48, 72, 2),
        .heap_type = {.size = 880, .cached_keys = 864},
        .task = {.size = 184, .coroutine = 152, .name = 160},
        .function = {.code = 16, .closure = 48, .dict = 72, .qualname = 104},
    },
    {
        .minor = 10,
        .chain = PP_CHAIN_OBJECTS,
        .runtime = {.finalizing = 16, .current = 568, .head_interpreter = 32, .main_interpreter = 40, .key = 584},
        .interpreter = {.threads = 8, .collecting = 816, .modules = 856},
        .thread_state = {OBJECT_THREAD_STATE, .cframe = 48},
        .frame = {.code = 32, .previous = 24, .instr = 96, .locals = 352, .copy_size = 120},
        .generator = {.object = 16, .qualname = 48},
        .code = {OBJECT_CODE},
        OBJECTS(16, 48, 72, 2),
        .heap_type = {.size = 888, .cached_keys = 872},
        .task = {.size = 192, .coroutine = 160, .name = 168},
        .function = {FUNCTION(16)},
    },
    {
        .minor = 11,
        .chain = PP_CHAIN_CFRAME_FLAG,
        .torn_windows = true,
        .runtime = {.finalizing = 24, .current = 576, .head_interpreter = 40, .main_interpreter = 48, .key = 592},
        .interpreter = {.threads = 16, .collecting = 848, .modules = 888},
        .thread_state = {.next = 8,
                         .interp = 16,
                         .top = 56,
                         .root_cframe = 336,
                         .cframe = 56,
                         .thread_id = 152,
                         .dict = 128,
                         .context = 224,
                         .datastack_chunk = 296,
                         .datastack_top = 304,
                         .copy_size = 360},
        .frame = {.code = 32,
                  .previous = 48,
                  .object = 40,
                  .instr = 56,
                  .owner = 69,
                  .is_entry = 68,
                  .locals = 72,
                  .copy_size = 72},
        .generator = {.frame = 80, .qualname = 40},
        .code = {.units = 16,
                 .flags = 48,
                 .consts = 24,
                 .first_line = 72,
                 .filename = 112,
                 .qualname = 128,
                 .line_table = 136,
                 .local_names = 96,
                 .first_traceable = 168,
                 .instructions = 184,
                 .copy_size = 184},
        OBJECTS(16, 48, 72, 2),
        .heap_type = {.size = 904, .cached_keys = 872},
        .task = {.size = 176, .coroutine = 136, .name = 144},
        .function = {FUNCTION(16)},
    },
    {
        .minor = 12,
        .chain = PP_CHAIN_CFRAME_SHIM,
        .torn_windows = true,
        .unique_version = true,
        .runtime = {.finalizing = 24, .head_interpreter = 40, .key = 1544},
        .interpreter = {.threads = 72, .collecting = 312, .modules = 944, .id = 8},
        .thread_state = {.next = 8,
                         .interp = 16,
                         .top = 56,
                         .root_cframe = 272,
                         .thread_id = 136,
                         .dict = 112,
                         .context = 208,
                         .datastack_chunk = 232,
                         .datastack_top = 240,
                         .copy_size = 288},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72},
        .generator = {.frame = 72, .qualname = 32},
        .code = {CODE(16, 176, 192)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 920, .cached_keys = 880},
        .task = {.size = 176, .coroutine = 136, .name = 144},
        .function = {FUNCTION(16)},
    },
    {
        .minor = 13,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .runtime = {.finalizing = 608, .head_interpreter = 632, .key = 2160},
        .interpreter = {.next = 7264, .threads = 7344, .collecting = 7600, .modules = 7656},
        .thread_state = {THREAD_STATE},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72},
        .generator = {.frame = 72, .qualname = 32},
        .code = {CODE(16, 184, 200)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 928, .cached_keys = 880},
        .task = {.size = 144, .coroutine = 120, .name = 128},
        .function = {FUNCTION(16)},
    },
    {
        .minor = 13,
        .free_threaded = true,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .runtime = {.finalizing = 608, .head_interpreter = 632, .key = 2160},
        .interpreter = {.next = 7264, .threads = 7344, .modules = 7664},
        .thread_state = {THREAD_STATE},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72},
        .generator = {.frame = 88, .qualname = 48},
        .code = {CODE(32, 200, 216)},
        OBJECTS(32, 56, 72, 2),
        .heap_type = {.cached_keys = 896},
        .task = {.size = 160, .coroutine = 136, .name = 144},
        .function = {FUNCTION(32)},
    },
    {
        .minor = 14,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .runtime = {.finalizing = 784, .head_interpreter = 808, .key = 2336},
        .interpreter = {.next = 7272, .threads = 7344, .collecting = 7600, .modules = 7688},
        .thread_state = {THREAD_STATE, .running_task = 872},
        .frame = {FRAME, .owner = 74, .locals = 80, .copy_size = 80},
        .generator = {.frame = 72, .qualname = 32},
        .code = {CODE(16, 192, 208)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 936, .cached_keys = 880},
        .task = {.size = 168, .coroutine = 128, .name = 136},
        .function = {FUNCTION(16)},
    },
    {
        .minor = 14,
        .free_threaded = true,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .runtime = {.finalizing = 784, .head_interpreter = 808, .key = 2336},
        .interpreter = {.next = 7272, .threads = 7344, .modules = 7712},
        .thread_state = {THREAD_STATE, .running_task = 872},
        .frame = {FRAME, .owner = 78, .tlbc_index = 72, .locals = 80, .copy_size = 80},
        .generator = {.frame = 88, .qualname = 48},
        .code = {CODE(32, 208, 232), .tlbc = 224},
        OBJECTS(32, 56, 72, 8),
        .heap_type = {.cached_keys = 896},
        .task = {.size = 184, .coroutine = 144, .name = 152},
        .function = {FUNCTION(32)},
    },
    {
        .minor = 15,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .runtime = {.initialized = 904, .finalizing = 912, .head_interpreter = 936},
        .interpreter = {.next = 7264, .threads = 7336, .collecting = 7512, .modules = 7592},
        .thread_state = {.next = 8,
                         .interp = 16,
                         .top = 72,
                         .thread_id = 176,
                         .context = 232,
                         .datastack_chunk = 256,
                         .datastack_top = 264,
                         .base_frame = 80,
                         .running_task = 1032,
                         .copy_size = 272},
        .frame = {FRAME, .owner = 74, .locals = 80, .copy_size = 80},
        .generator = {.frame = 72, .qualname = 32, .executing = 4},
        .code = {CODE(16, 192, 208)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 944, .cached_keys = 888},
        .task = {.size = 168, .coroutine = 128, .name = 136},
        .function = {FUNCTION(16)},
    },
};

const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor && layouts[i].free_threaded == free_threaded)
            return &layouts[i];
    return NULL;
}
