/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what is known of each minor version of CPython, with 64-bit words. Each row was read from DWARF or compiled
 * headers of a real build of that version and checked by walking at every instruction of a call-heavy
 * program: 3.8.18, 3.9.18, 3.10.13; 3.11.2 (Debian, static) and 3.11.7; 3.12.1; 3.13.0 and 3.13.18; 3.14.10; 3.15.2.
 * The free-threaded rows come from the headers of 3.13.18 and 3.14.10 compiled with Py_GIL_DISABLED. At start the row
 * is compared with what 3.13 and later publish (_Py_DebugOffsets).
 *
 * A new version begins as a copy of the newest row, at the end.
 */
#include "layout.h"
#include <pthread.h>
#include <stddef.h>

/* What follows the two mutexes of the GIL, in 3.8 to 3.11: an x86-64 mutex has 40 bytes. */
#define AFTER_MUTEXES(offset) ((offset) + 2 * (sizeof(pthread_mutex_t) - 40))
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
    .local_names = 72, .co_cellvars = 88, .co_freevars = 80, .unqualified = true, .copy_size = 128
/* PyThreadState of 3.13 and 3.14, the frames of 3.12 on, PyCodeObject of 3.12 on. */
#define THREAD_STATE                                                                                                   \
    .next = 8, .interp = 16, .top = 72, .thread_id = 152, .context = 208, .datastack_chunk = 232,                      \
    .datastack_top = 240, .copy_size = 248
#define FRAME .code = 0, .previous = 8, .globals = 24, .object = 48, .instr = 56
#define CODE(header, traceable, end)                                                                                   \
    .units = header, .first_line = header + 52, .filename = header + 96, .qualname = header + 112,                     \
    .line_table = header + 120, .line_table_format = PP_LINES_LOCATIONS, .version = header + 76, .flags = header + 32, \
    .consts = header + 8, .local_names = header + 80, .first_traceable = traceable, .instructions = end,               \
    .copy_size = end
/* PyFunctionObject of 3.10 on. */
#define FUNCTION(header) .code = header + 32, .closure = header + 56, .dict = header + 72, .qualname = header + 24

/* Fields that are the same in all versions. */
#define SAME(header)                                                                                                   \
    .ob_size = header, .dict = {.ma_used = header, .ma_keys = header + 16, .ma_values = header + 24},                  \
    .callable = {.im_func = header,                                                                                    \
                 .im_self = header + 8,                                                                                \
                 .m_ml = header,                                                                                       \
                 .m_self = header + 8,                                                                                 \
                 .partial_fn = header,                                                                                 \
                 .partial_args = header + 8},                                                                          \
    .object = {.ob_ref = header,                                                                                       \
               .md_dict = header,                                                                                      \
               .capsule_pointer = header,                                                                              \
               .d_member = header + 24,                                                                                \
               .member_type = 8,                                                                                       \
               .member_offset = 16,                                                                                    \
               .wrapped = header,                                                                                      \
               .leftblock = header + 8,                                                                                \
               .leftindex = header + 24,                                                                               \
               .block_data = 8}
#define TYPE(header)                                                                                                   \
    .tp_name = header + 8, .tp_basicsize = header + 16, .tp_flags = header + 152, .tp_base = header + 240,             \
    .tp_dict = header + 248, .tp_dictoffset = header + 272
#define FUTURE(header)       .fut_callback0 = header + 8, .fut_callbacks = header + 24
#define ITEMS(header, tuple) .items = {.list_ob_item = header + 8, .tuple_ob_item = tuple}
#define TASK(coroutine_at, bytes)                                                                                      \
    .size = bytes, .coroutine = coroutine_at, .name = coroutine_at + 8, .context = coroutine_at + 16
/* cached: 24 bytes that a PyContextVar has before its hash, but for free-threaded builds. */
#define CONTEXTVARS(header, cached)                                                                                    \
    .contextvars = {.ctx_vars = header + 8,                                                                            \
                    .var_hash = header + 16 + cached,                                                                  \
                    .h_root = header,                                                                                  \
                    .b_bitmap = header + 8,                                                                            \
                    .b_array = header + 16,                                                                            \
                    .a_array = header}
/* Of int, since 3.12. */
#define INTEGER(header) .integer = {.ob_digit = header + 8, .sign_mask = 3, .non_size_bits = 3}
/* Of dict: until 3.10, since 3.11. */
#define OBJECT_KEYS .dk_size = 8, .dk_nentries = 32, .dk_indices = 40
#define KEYS        .dk_log2_size = 8, .dk_log2_index_bytes = 9, .dk_kind = 10, .dk_nentries = 24, .dk_indices = 32
/* Of generators: gi_frame_state lies before the frame that is embedded. */
#define GENERATOR(frame_at, qualname_at) .frame = frame_at, .gi_frame_state = frame_at - 5, .qualname = qualname_at
#define STATES_3_11                      .frame_suspended = -1, .frame_finished = 1
#define STATES_3_13                      .frame_suspended = -2, .frame_suspended_yield_from = -1, .frame_finished = 1
#define STATES_3_15                      .frame_suspended = 1, .frame_suspended_yield_from = 2, .frame_executing = 4, .frame_finished = 5
#define YIELD_FROM                       .awaits = {.byte = 0, .mask = 0xff, .first = 72, .last = 72}
#define RESUME                           .awaits = {.byte = 1, .mask = 3, .first = 2, .last = 3}
/* What all rows of 3.8 to 3.10 have, and all from 3.13 on. */
#define VALUES_3_8                                                                                                     \
    YIELD_FROM, OBJECTS(16, 48, 72, 2), .type = {TYPE(16)}, .dict_keys = {OBJECT_KEYS}, .integer = {.ob_digit = 24},   \
                                        ITEMS(16, 24), CONTEXTVARS(16, 24), SAME(16)
#define VALUES_3_13(header)                                                                                            \
    .function = {FUNCTION(header)}, .type = {TYPE(header), .managed_dict = 1 << 4, .inline_values = 1 << 2},           \
    .dict_keys = {KEYS, .values = 8}, .asyncio = {FUTURE(header)}, INTEGER(header), SAME(header)

static const struct pp_python_layout layouts[] = {
    {
        .minor = 8,
        .chain = PP_CHAIN_OBJECTS,
        .waiters_exit = true,
        .runtime = {.finalizing = 16,
                    .current = AFTER_MUTEXES(1368),
                    .head_interpreter = 32,
                    .main_interpreter = 40,
                    .collecting = 544,
                    .key = AFTER_MUTEXES(1392)},
        .interpreter = {.threads = 8, .modules = 56},
        .thread_state = {OBJECT_THREAD_STATE},
        .frame = {.code = 32,
                  .previous = 24,
                  .globals = 48,
                  .instr = 104,
                  .locals = 360,
                  .copy_size = 120,
                  .stackpointer = 72,
                  .awaited = 1,
                  .lasti_bytes = 1,
                  .instr_behind = 2},
        .generator = {.object = 16, .qualname = 56},
        .code = {OBJECT_CODE, .line_table_format = PP_LINES_LNOTAB},
        .heap_type = {.size = 880, .cached_keys = 872},
        .task = {TASK(112, 144)},
        .function = {.code = 16, .closure = 48, .dict = 72, .qualname = 104},
        .asyncio = {FUTURE(16), .ww_task = 16, .rl_loop = 16, .rl_pid = 24},
        VALUES_3_8,
    },
    {
        .minor = 9,
        .chain = PP_CHAIN_OBJECTS,
        .waiters_exit = true,
        .runtime = {.finalizing = 16,
                    .current = AFTER_MUTEXES(568),
                    .head_interpreter = 32,
                    .main_interpreter = 40,
                    .key = AFTER_MUTEXES(584)},
        .interpreter = {.threads = 8, .collecting = 816, .modules = 856},
        .thread_state = {OBJECT_THREAD_STATE},
        .frame = {.code = 32,
                  .previous = 24,
                  .globals = 48,
                  .instr = 104,
                  .locals = 360,
                  .copy_size = 120,
                  .stackpointer = 72,
                  .awaited = 1,
                  .lasti_bytes = 1,
                  .instr_behind = 2},
        .generator = {.object = 16, .qualname = 56},
        .code = {OBJECT_CODE, .line_table_format = PP_LINES_LNOTAB},
        .heap_type = {.size = 880, .cached_keys = 864},
        .task = {TASK(152, 184)},
        .function = {.code = 16, .closure = 48, .dict = 72, .qualname = 104},
        .asyncio = {FUTURE(16), .ww_task = 16, .rl_loop = 16, .rl_pid = 24},
        VALUES_3_8,
    },
    {
        .minor = 10,
        .chain = PP_CHAIN_OBJECTS,
        .waiters_exit = true,
        .runtime = {.finalizing = 16,
                    .current = AFTER_MUTEXES(568),
                    .head_interpreter = 32,
                    .main_interpreter = 40,
                    .key = AFTER_MUTEXES(584)},
        .interpreter = {.threads = 8, .collecting = 816, .modules = 856},
        .thread_state = {OBJECT_THREAD_STATE, .cframe = 48},
        .frame = {.code = 32,
                  .previous = 24,
                  .globals = 48,
                  .instr = 96,
                  .locals = 352,
                  .copy_size = 120,
                  .stacktop = 80,
                  .valuestack = 64,
                  .awaited = 1,
                  .lasti_bytes = 2,
                  .instr_behind = 2},
        .generator = {.object = 16, .qualname = 48},
        .code = {OBJECT_CODE, .line_table_format = PP_LINES_RANGES},
        .heap_type = {.size = 888, .cached_keys = 872},
        .task = {TASK(160, 192)},
        .function = {FUNCTION(16)},
        .asyncio = {FUTURE(16), .rl_loop = 16, .rl_pid = 24},
        VALUES_3_8,
    },
    {
        .minor = 11,
        .chain = PP_CHAIN_CFRAME_FLAG,
        .torn_windows = true,
        .waiters_exit = true,
        .runtime = {.finalizing = 24,
                    .current = AFTER_MUTEXES(576),
                    .head_interpreter = 40,
                    .main_interpreter = 48,
                    .key = AFTER_MUTEXES(592)},
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
        .cframe = {.current_frame = 8, .previous = 16},
        .frame = {.code = 32,
                  .previous = 48,
                  .globals = 8,
                  .object = 40,
                  .instr = 56,
                  .owner = 69,
                  .is_entry = 68,
                  .locals = 72,
                  .copy_size = 72,
                  .f_frame = 24,
                  .stacktop = 64,
                  .awaited = 1,
                  .instr_behind = 2},
        .generator = {GENERATOR(80, 40), STATES_3_11},
        RESUME,
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
                 .copy_size = 184,
                 .line_table_format = PP_LINES_LOCATIONS},
        OBJECTS(16, 48, 72, 2),
        .heap_type = {.size = 904, .cached_keys = 872},
        .task = {TASK(136, 176)},
        .function = {FUNCTION(16)},
        .type = {TYPE(16), .managed_dict = 1 << 4},
        .dict_keys = {KEYS},
        .instance = {.values = 32, .dict = 24},
        .integer = {.ob_digit = 24},
        ITEMS(16, 24),
        .asyncio = {FUTURE(16), .rl_loop = 16, .rl_pid = 24},
        CONTEXTVARS(16, 24),
        SAME(16),
    },
    {
        .minor = 12,
        .chain = PP_CHAIN_CFRAME_SHIM,
        .torn_windows = true,
        .unique_version = true,
        .tss_tstate = true,
        .state_varies = true,
        .waiters_exit = true,
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
        .cframe = {.current_frame = 0, .previous = 8},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72, .f_frame = 24, .stacktop = 64, .awaited = 1,
                  .instr_behind = 2, .previous_cleared = true},
        .generator = {GENERATOR(72, 32), STATES_3_11},
        RESUME,
        .code = {CODE(16, 176, 192)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 920, .cached_keys = 880},
        .task = {TASK(136, 176)},
        .function = {FUNCTION(16)},
        .type = {TYPE(16), .managed_dict = 1 << 4},
        .dict_keys = {KEYS},
        .instance = {.dict = 24, .tagged = true},
        INTEGER(16),
        ITEMS(16, 24),
        .asyncio = {FUTURE(16)},
        CONTEXTVARS(16, 24),
        SAME(16),
    },
    {
        .minor = 13,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .tss_tstate = true,
        .waiters_exit = true,
        .published = PP_PUBLISHED_3_13,
        .runtime = {.finalizing = 608, .head_interpreter = 632, .key = 2160},
        .interpreter = {.next = 7264, .threads = 7344, .collecting = 7600, .modules = 7656},
        .thread_state = {THREAD_STATE},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72, .f_frame = 24, .stacktop = 64, .awaited = 1,
                  .previous_cleared = true},
        .generator = {GENERATOR(72, 32), STATES_3_13},
        .code = {CODE(16, 184, 200)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 928, .cached_keys = 880},
        .task = {TASK(120, 144)},
        .instance = {.dict = 24},
        ITEMS(16, 24),
        CONTEXTVARS(16, 24),
        VALUES_3_13(16),
    },
    {
        .minor = 13,
        .free_threaded = true,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .tss_tstate = true,
        .waiters_exit = true,
        .published = PP_PUBLISHED_3_13,
        .runtime = {.finalizing = 608, .head_interpreter = 632, .key = 2160},
        .interpreter = {.next = 7264, .threads = 7344, .modules = 7664},
        .thread_state = {THREAD_STATE},
        .frame = {FRAME, .owner = 70, .locals = 72, .copy_size = 72, .f_frame = 40, .stacktop = 64, .awaited = 1,
                  .previous_cleared = true},
        .generator = {GENERATOR(88, 48), STATES_3_13},
        .code = {CODE(32, 200, 216)},
        OBJECTS(32, 56, 72, 2),
        .heap_type = {.cached_keys = 896},
        .task = {TASK(136, 160)},
        .instance = {.dict = 8},
        ITEMS(32, 40),
        CONTEXTVARS(32, 0),
        VALUES_3_13(32),
    },
    {
        .minor = 14,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .tss_tstate = true,
        .context_watchers = true,
        .published = PP_PUBLISHED_3_14,
        .runtime = {.finalizing = 784, .head_interpreter = 808, .key = 2336},
        .interpreter = {.next = 7272, .threads = 7344, .collecting = 7600, .modules = 7688},
        .thread_state = {THREAD_STATE, .running_loop = 864, .running_task = 872},
        .frame = {FRAME, .owner = 74, .locals = 80, .copy_size = 80, .f_frame = 24, .stackpointer = 64, .awaited = 1,
                  .previous_cleared = true},
        .generator = {GENERATOR(72, 32), STATES_3_13},
        .code = {CODE(16, 192, 208)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 936, .cached_keys = 880},
        .task = {TASK(128, 168)},
        .instance = {.dict = 24},
        ITEMS(16, 32),
        CONTEXTVARS(16, 24),
        VALUES_3_13(16),
    },
    {
        .minor = 14,
        .free_threaded = true,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .tss_tstate = true,
        .context_watchers = true,
        .published = PP_PUBLISHED_3_14,
        .runtime = {.finalizing = 784, .head_interpreter = 808, .key = 2336},
        .interpreter = {.next = 7272, .threads = 7344, .modules = 7712},
        .thread_state = {THREAD_STATE, .running_loop = 864, .running_task = 872},
        .frame = {FRAME, .owner = 78, .tlbc_index = 72, .locals = 80, .copy_size = 80, .f_frame = 40,
                  .stackpointer = 64, .awaited = 1, .previous_cleared = true},
        .generator = {GENERATOR(88, 48), STATES_3_13},
        .code = {CODE(32, 208, 232), .tlbc = 224},
        OBJECTS(32, 56, 72, 8),
        .heap_type = {.cached_keys = 896},
        .task = {TASK(144, 184)},
        .instance = {.dict = 8},
        ITEMS(32, 48),
        CONTEXTVARS(32, 0),
        VALUES_3_13(32),
    },
    {
        .minor = 15,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .code_tag = 3,
        .tss_tstate = true,
        .context_watchers = true,
        .published = PP_PUBLISHED_3_15,
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
                         .running_loop = 1024,
                         .running_task = 1032,
                         .copy_size = 272},
        .frame = {FRAME, .owner = 74, .locals = 80, .copy_size = 80, .f_frame = 24, .stackpointer = 64, .awaited = 2,
                  .previous_cleared = true},
        .generator = {GENERATOR(72, 32), STATES_3_15},
        .code = {CODE(16, 192, 208)},
        OBJECTS(16, 40, 56, 2),
        .heap_type = {.size = 944, .cached_keys = 888},
        .task = {TASK(128, 168)},
        .instance = {.dict = 24},
        ITEMS(16, 32),
        CONTEXTVARS(16, 24),
        VALUES_3_13(16),
    },
};

const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor && layouts[i].free_threaded == free_threaded)
            return &layouts[i];
    return NULL;
}

unsigned pp_python_first_minor(void)
{
    return layouts[0].minor;
}

unsigned pp_python_last_minor(void)
{
    return layouts[sizeof layouts / sizeof *layouts - 1].minor;
}

enum pp_python_age pp_python_age_of(unsigned major, unsigned minor)
{
    if (major != 3)
        return major < 3 ? PP_PYTHON_TOO_OLD : PP_PYTHON_TOO_NEW;
    if (minor < pp_python_first_minor())
        return PP_PYTHON_TOO_OLD;
    return minor > pp_python_last_minor() ? PP_PYTHON_TOO_NEW : PP_PYTHON_KNOWN;
}
