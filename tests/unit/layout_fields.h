/* Each field of struct pp_python_layout: which rows have it, as another number than 0, and what its offset is a
 * multiple of (0: it is no offset). */
#ifndef LAYOUT_FIELDS_H
#define LAYOUT_FIELDS_H

#include "preload/cpython/layout.h"

/* Sets of rows: bit N is 3.N, bit 32 + N its free-threaded build. */
#define ROW_BIT(minor, free_threaded) ((uint64_t)1 << ((minor) + 32 * (free_threaded)))
#define GIL                           0x00000000ffffffffu
#define FREE                          0xffffffff00000000u
#define SINCE(minor)                  (0xffffffffffffffffu & ~(((uint64_t)1 << 32 | 1) * (((uint64_t)1 << (minor)) - 1)))
#define UNTIL(minor)                  (~SINCE((minor) + 1))
#define ALL                           SINCE(8)
#define NONE                          0

#define LAYOUT_FIELDS(X)                                                                                               \
    X(minor, ALL, 0)                                                                                                   \
    X(free_threaded, FREE, 0)                                                                                          \
    X(chain, SINCE(11), 0)                                                                                             \
    X(torn_windows, SINCE(11) & UNTIL(12), 0)                                                                          \
    X(unique_version, SINCE(12), 0)                                                                                    \
    X(code_tag, SINCE(14), 0)                                                                                          \
    X(published, SINCE(13), 0)                                                                                         \
    X(state_varies, SINCE(12) & UNTIL(12), 0)                                                                          \
    X(tss_tstate, SINCE(12), 0)                                                                                        \
    X(waiters_exit, UNTIL(13), 0)                                                                                      \
    X(context_watchers, SINCE(14), 0)                                                                                  \
    X(runtime.initialized, SINCE(15), 4)                                                                               \
    X(runtime.finalizing, ALL, 8)                                                                                      \
    X(runtime.current, UNTIL(11), 8)                                                                                   \
    X(runtime.head_interpreter, ALL, 8)                                                                                \
    X(runtime.main_interpreter, UNTIL(11), 8)                                                                          \
    X(runtime.collecting, UNTIL(8), 4)                                                                                 \
    X(runtime.key, UNTIL(14), 4)                                                                                       \
    X(interpreter.collecting, SINCE(9) & GIL, 4)                                                                       \
    X(interpreter.collecting_frame, NONE, 8) /* as published */                                                        \
    X(interpreter.modules, ALL, 8)                                                                                     \
    X(interpreter.id, SINCE(12) & UNTIL(12), 8) /* later as published */                                               \
    X(interpreter.next, SINCE(13), 8)           /* until then the first word */                                        \
    X(interpreter.threads, ALL, 8)                                                                                     \
    X(thread_state.next, ALL, 8)                                                                                       \
    X(thread_state.interp, ALL, 8)                                                                                     \
    X(thread_state.thread_id, ALL, 8)                                                                                  \
    X(thread_state.datastack_chunk, SINCE(11), 8)                                                                      \
    X(thread_state.datastack_top, SINCE(11), 8)                                                                        \
    X(thread_state.top, ALL, 8)                                                                                        \
    X(thread_state.root_cframe, SINCE(11) & UNTIL(12), 8)                                                              \
    X(thread_state.cframe, SINCE(10) & UNTIL(11), 8)                                                                   \
    X(thread_state.base_frame, SINCE(15), 8)                                                                           \
    X(thread_state.dict, UNTIL(12), 8)                                                                                 \
    X(thread_state.context, ALL, 8)                                                                                    \
    X(thread_state.copy_size, ALL, 8)                                                                                  \
    X(thread_state.running_loop, SINCE(14), 8) /* in 3.13 as published */                                              \
    X(thread_state.running_task, SINCE(14), 8)                                                                         \
    X(cframe.current_frame, SINCE(11) & UNTIL(11), 8) /* in 3.12 the first word */                                     \
    X(cframe.previous, SINCE(11) & UNTIL(12), 8)                                                                       \
    X(frame.code, UNTIL(11), 8) /* since 3.12 the first word */                                                        \
    X(frame.previous, ALL, 8)                                                                                          \
    X(frame.globals, ALL, 8)                                                                                           \
    X(frame.instr, ALL, 4)                                                                                             \
    X(frame.owner, SINCE(11), 1)                                                                                       \
    X(frame.is_entry, SINCE(11) & UNTIL(11), 1)                                                                        \
    X(frame.object, SINCE(11), 8)                                                                                      \
    X(frame.f_frame, SINCE(11), 8)                                                                                     \
    X(frame.locals, ALL, 8)                                                                                            \
    X(frame.tlbc_index, SINCE(14) & FREE, 4)                                                                           \
    X(frame.stackpointer, UNTIL(9) | SINCE(14), 8)                                                                     \
    X(frame.stacktop, SINCE(10) & UNTIL(13), 4)                                                                        \
    X(frame.valuestack, SINCE(10) & UNTIL(10), 8)                                                                      \
    X(frame.awaited, ALL, 0)                                                                                           \
    X(frame.lasti_bytes, UNTIL(10), 0)                                                                                 \
    X(frame.instr_behind, UNTIL(12), 0)                                                                                \
    X(frame.previous_cleared, SINCE(12), 0)                                                                            \
    X(frame.copy_size, ALL, 8)                                                                                         \
    X(generator.frame, SINCE(11), 8)                                                                                   \
    X(generator.object, UNTIL(10), 8)                                                                                  \
    X(generator.qualname, ALL, 8)                                                                                      \
    X(generator.gi_frame_state, SINCE(11), 1)                                                                          \
    X(generator.frame_suspended, SINCE(11), 0)                                                                         \
    X(generator.frame_suspended_yield_from, SINCE(13), 0)                                                              \
    X(generator.frame_executing, SINCE(15), 0) /* until then 0 */                                                      \
    X(generator.frame_finished, SINCE(11), 0)                                                                          \
    X(awaits.byte, SINCE(11) & UNTIL(12), 0)                                                                           \
    X(awaits.mask, UNTIL(12), 0)                                                                                       \
    X(awaits.first, UNTIL(12), 0)                                                                                      \
    X(awaits.last, UNTIL(12), 0)                                                                                       \
    X(code.units, SINCE(11), 8)                                                                                        \
    X(code.first_line, ALL, 4)                                                                                         \
    X(code.filename, ALL, 8)                                                                                           \
    X(code.qualname, ALL, 8)                                                                                           \
    X(code.unqualified, UNTIL(10), 0)                                                                                  \
    X(code.line_table_format, SINCE(10), 0)                                                                            \
    X(code.line_table, ALL, 8)                                                                                         \
    X(code.first_traceable, SINCE(11), 4)                                                                              \
    X(code.version, SINCE(12), 4)                                                                                      \
    X(code.flags, ALL, 4)                                                                                              \
    X(code.consts, ALL, 8)                                                                                             \
    X(code.local_names, ALL, 8)                                                                                        \
    X(code.co_cellvars, UNTIL(10), 8)                                                                                  \
    X(code.co_freevars, UNTIL(10), 8)                                                                                  \
    X(code.instructions, SINCE(11), 8)                                                                                 \
    X(code.bytecode, UNTIL(10), 8)                                                                                     \
    X(code.tlbc, SINCE(14) & FREE, 8)                                                                                  \
    X(code.copy_size, ALL, 8)                                                                                          \
    X(text.length, ALL, 8)                                                                                             \
    X(text.hash, ALL, 8)                                                                                               \
    X(text.state, ALL, 4)                                                                                              \
    X(text.ascii_data, ALL, 8)                                                                                         \
    X(text.compact_data, ALL, 8)                                                                                       \
    X(text.kind_shift, ALL, 0)                                                                                         \
    X(bytes.length, ALL, 8)                                                                                            \
    X(bytes.data, ALL, 8)                                                                                              \
    X(heap_type.size, GIL, 8)                                                                                          \
    X(heap_type.cached_keys, ALL, 8)                                                                                   \
    X(task.size, ALL, 8)                                                                                               \
    X(task.coroutine, ALL, 8)                                                                                          \
    X(task.name, ALL, 8)                                                                                               \
    X(task.context, ALL, 8)                                                                                            \
    X(function.code, ALL, 8)                                                                                           \
    X(function.closure, ALL, 8)                                                                                        \
    X(function.dict, ALL, 8)                                                                                           \
    X(function.qualname, ALL, 8)                                                                                       \
    X(object_type, ALL, 8)                                                                                             \
    X(ob_size, ALL, 8)                                                                                                 \
    X(type.tp_name, ALL, 8)                                                                                            \
    X(type.tp_basicsize, ALL, 8)                                                                                       \
    X(type.tp_flags, ALL, 8)                                                                                           \
    X(type.tp_base, ALL, 8)                                                                                            \
    X(type.tp_dict, ALL, 8)                                                                                            \
    X(type.tp_dictoffset, ALL, 8)                                                                                      \
    X(type.inline_values, SINCE(13), 0)                                                                                \
    X(type.managed_dict, SINCE(11), 0)                                                                                 \
    X(dict.ma_used, ALL, 8)                                                                                            \
    X(dict.ma_keys, ALL, 8)                                                                                            \
    X(dict.ma_values, ALL, 8)                                                                                          \
    X(dict_keys.dk_size, UNTIL(10), 8)                                                                                 \
    X(dict_keys.dk_log2_size, SINCE(11), 1)                                                                            \
    X(dict_keys.dk_log2_index_bytes, SINCE(11), 1)                                                                     \
    X(dict_keys.dk_kind, SINCE(11), 1)                                                                                 \
    X(dict_keys.dk_nentries, ALL, 8)                                                                                   \
    X(dict_keys.dk_indices, ALL, 8)                                                                                    \
    X(dict_keys.values, SINCE(13), 8)                                                                                  \
    X(instance.values, SINCE(11) & UNTIL(11), 8)                                                                       \
    X(instance.dict, SINCE(11), 8)                                                                                     \
    X(instance.tagged, SINCE(12) & UNTIL(12), 0)                                                                       \
    X(integer.ob_digit, ALL, 4)                                                                                        \
    X(integer.sign_mask, SINCE(12), 0)                                                                                 \
    X(integer.non_size_bits, SINCE(12), 0)                                                                             \
    X(items.list_ob_item, ALL, 8)                                                                                      \
    X(items.tuple_ob_item, ALL, 8)                                                                                     \
    X(callable.im_func, ALL, 8)                                                                                        \
    X(callable.im_self, ALL, 8)                                                                                        \
    X(callable.m_ml, ALL, 8)                                                                                           \
    X(callable.m_self, ALL, 8)                                                                                         \
    X(callable.partial_fn, ALL, 8)                                                                                     \
    X(callable.partial_args, ALL, 8)                                                                                   \
    X(object.ob_ref, ALL, 8)                                                                                           \
    X(object.md_dict, ALL, 8)                                                                                          \
    X(object.capsule_pointer, ALL, 8)                                                                                  \
    X(object.d_member, ALL, 8)                                                                                         \
    X(object.member_type, ALL, 4)                                                                                      \
    X(object.member_offset, ALL, 8)                                                                                    \
    X(object.wrapped, ALL, 8)                                                                                          \
    X(object.leftblock, ALL, 8)                                                                                        \
    X(object.leftindex, ALL, 8)                                                                                        \
    X(object.block_data, ALL, 8)                                                                                       \
    X(asyncio.fut_callback0, ALL, 8)                                                                                   \
    X(asyncio.fut_callbacks, ALL, 8)                                                                                   \
    X(asyncio.ww_task, UNTIL(9), 8)                                                                                    \
    X(asyncio.rl_loop, UNTIL(11), 8)                                                                                   \
    X(asyncio.rl_pid, UNTIL(11), 4)                                                                                    \
    X(contextvars.ctx_vars, ALL, 8)                                                                                    \
    X(contextvars.var_hash, ALL, 8)                                                                                    \
    X(contextvars.h_root, ALL, 8)                                                                                      \
    X(contextvars.b_bitmap, ALL, 4)                                                                                    \
    X(contextvars.b_array, ALL, 8)                                                                                     \
    X(contextvars.a_array, ALL, 8)

struct layout_field {
    const char *name;
    uint64_t rows;
    unsigned at, size, multiple;
};

#define LAYOUT_FIELD(member, rows, multiple)                                                                           \
    {#member, rows, __builtin_offsetof(struct pp_python_layout, member),                                               \
     sizeof(((struct pp_python_layout *)0)->member), multiple},
static const struct layout_field layout_fields[] = {LAYOUT_FIELDS(LAYOUT_FIELD)};
#define LAYOUT_FIELD_COUNT (sizeof layout_fields / sizeof *layout_fields)

/* Returns the field of a row. */
static inline unsigned layout_field(const struct pp_python_layout *row, const struct layout_field *field)
{
    const uint8_t *bytes = (const uint8_t *)row + field->at;
    return field->size == 1 ? bytes[0] : bytes[0] | (unsigned)bytes[1] << 8;
}

#endif
