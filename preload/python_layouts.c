/*
 * Offsets per CPython minor version, GIL builds, x86-64. Each row was read from DWARF or compiled headers of a real
 * build of that version and checked by walking at every instruction of a call-heavy program. 3.11: 3.11.2 (Debian,
 * static) and 3.11.7; 3.12: 3.12.1; 3.13: 3.13.0 and 3.13.18 (their _Py_DebugOffsets agree).
 */
#include "python_find.h"
#include <stddef.h>

static const struct pp_python_layout layouts[] = {
    {
        .minor = 11,
        .chain = PP_CHAIN_CFRAME_FLAG,
        .torn_windows = true,
        .thread_state = {.interp = 16,
                         .top = 56,
                         .root_cframe = 336,
                         .thread_id = 152,
                         .native_thread_id = 160,
                         .datastack_chunk = 296,
                         .datastack_top = 304,
                         .copy_size = 360},
        .frame = {.code = 32, .previous = 48, .instr = 56, .owner = 69, .is_entry = 68, .copy_size = 72},
        .generator = {.frame = 80, .executing = 0},
        .code = {.units = 16,
                 .first_line = 72,
                 .filename = 112,
                 .qualname = 128,
                 .line_table = 136,
                 .first_traceable = 168,
                 .instructions = 184,
                 .copy_size = 184},
        .text = {.length = 16, .hash = 24, .state = 32, .ascii_data = 48, .compact_data = 72},
        .bytes = {.length = 16, .data = 32},
    },
    {
        .minor = 12,
        .chain = PP_CHAIN_CFRAME_SHIM,
        .torn_windows = true,
        .unique_version = true,
        .thread_state = {.interp = 16,
                         .top = 56,
                         .root_cframe = 272,
                         .thread_id = 136,
                         .native_thread_id = 144,
                         .datastack_chunk = 232,
                         .datastack_top = 240,
                         .copy_size = 288},
        .frame = {.code = 0, .previous = 8, .instr = 56, .owner = 70, .copy_size = 72},
        .generator = {.frame = 72, .executing = 0},
        .code = {.units = 16,
                 .first_line = 68,
                 .filename = 112,
                 .qualname = 128,
                 .line_table = 136,
                 .first_traceable = 176,
                 .version = 92,
                 .instructions = 192,
                 .copy_size = 192},
        .text = {.length = 16, .hash = 24, .state = 32, .ascii_data = 40, .compact_data = 56},
        .bytes = {.length = 16, .data = 32},
    },
    {
        .minor = 13,
        .chain = PP_CHAIN_SHIM,
        .unique_version = true,
        .thread_state = {.interp = 16,
                         .top = 72,
                         .thread_id = 152,
                         .native_thread_id = 160,
                         .datastack_chunk = 232,
                         .datastack_top = 240,
                         .copy_size = 248},
        .frame = {.code = 0, .previous = 8, .instr = 56, .owner = 70, .copy_size = 72},
        .generator = {.frame = 72, .executing = 0},
        .code = {.units = 16,
                 .first_line = 68,
                 .filename = 112,
                 .qualname = 128,
                 .line_table = 136,
                 .first_traceable = 184,
                 .version = 92,
                 .instructions = 200,
                 .copy_size = 200},
        .text = {.length = 16, .hash = 24, .state = 32, .ascii_data = 40, .compact_data = 56},
        .bytes = {.length = 16, .data = 32},
    },
};

const struct pp_python_layout *pp_python_layout_of(unsigned minor)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}
