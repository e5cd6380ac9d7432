/* SPDX-License-Identifier: Apache-2.0 */
/* The fields are in the order of struct _Py_DebugOffsets in Include/internal/pycore_debug_offsets.h (3.14, 3.15) and
 * pycore_runtime.h (3.13): 64-bit numbers after eight bytes of cookie. The order depends on the minor version only,
 * from its release candidates on. */
#include "offsets.h"
#include <string.h>

#define COOKIE "xdebugpy" /* _Py_Debug_Cookie */

/* clang-format off */
#define HEAD(X) \
    X(cookie) X(version) X(free_threaded) X(runtime_size) X(runtime_finalizing) X(runtime_interpreters)
#define INTERPRETER_ID(X) \
    X(interpreter_size) X(interpreter_id) X(interpreter_next) X(interpreter_threads)
#define INTERPRETER(X) \
    X(interpreter_gc) X(interpreter_modules) X(interpreter_sysdict) X(interpreter_builtins) X(ceval_gil) X(gil) \
    X(gil_enabled) X(gil_locked) X(gil_holder)
#define THREAD(X) \
    X(thread_size) X(thread_previous) X(thread_next) X(thread_interp) X(thread_frame)
#define THREAD_ID(X) \
    X(thread_id) X(thread_native_id) X(thread_chunk) X(thread_status)
#define FRAME(X) \
    X(frame_size) X(frame_previous) X(frame_code) X(frame_instr) X(frame_locals) X(frame_owner)
#define CODE(X) \
    X(code_size) X(code_filename) X(code_name) X(code_qualname) X(code_line_table) X(code_first_line) \
    X(code_arguments) X(code_local_names) X(code_local_kinds) X(code_instructions)
#define TYPE(X) \
    X(object_size) X(object_type) X(type_size) X(type_name) X(type_repr) X(type_flags)
#define TUPLE_LIST(X) \
    X(tuple_size) X(tuple_items) X(tuple_length) X(list_size) X(list_items) X(list_length)
#define SET(X) \
    X(set_size) X(set_used) X(set_table) X(set_mask)
#define DICT_NUMBER(X) \
    X(dict_size) X(dict_keys) X(dict_values) X(float_size) X(float_value) X(long_size) X(long_tag) X(long_digits)
#define TEXT(X) \
    X(bytes_size) X(bytes_length) X(bytes_data) X(text_size) X(text_state) X(text_length) X(text_ascii_data)
#define GC(X) \
    X(gc_size) X(gc_collecting)
#define GENERATOR(X) \
    X(generator_size) X(generator_name) X(generator_frame) X(generator_state)
#define DEBUGGER(X) \
    X(list_next) X(list_previous) X(eval_breaker) X(remote_support) X(remote_enabled) X(remote_pending) \
    X(remote_path) X(remote_path_size)

#define WORD(name) uint64_t name;
#define NAME(name) FIELD_##name,

#define FIELDS_13(X) \
    HEAD(X) INTERPRETER_ID(X) INTERPRETER(X) THREAD(X) THREAD_ID(X) FRAME(X) CODE(X) TYPE(X) TUPLE_LIST(X) \
    DICT_NUMBER(X) TEXT(X) GC(X)
#define FIELDS_14(X) \
    HEAD(X) INTERPRETER_ID(X) X(interpreter_main_thread) INTERPRETER(X) X(code_generation) X(tlbc_generation) \
    THREAD(X) THREAD_ID(X) FRAME(X) X(frame_stack_pointer) X(frame_tlbc_index) CODE(X) X(code_tlbc) TYPE(X) \
    TUPLE_LIST(X) SET(X) DICT_NUMBER(X) TEXT(X) GC(X) GENERATOR(X) DEBUGGER(X)
#define FIELDS_15(X) \
    HEAD(X) INTERPRETER_ID(X) X(interpreter_main_thread) INTERPRETER(X) X(code_generation) X(tlbc_generation) \
    THREAD(X) X(thread_base_frame) X(thread_profiled) X(thread_profiled_count) THREAD_ID(X) X(thread_holds_gil) \
    X(thread_wants_gil) X(thread_exception) X(thread_exc_state) X(exc_item_value) \
    FRAME(X) X(frame_stack_pointer) X(frame_tlbc_index) CODE(X) X(code_tlbc) \
    TYPE(X) X(type_basic_size) X(type_dict) X(heap_type_size) X(heap_type_keys) \
    TUPLE_LIST(X) SET(X) DICT_NUMBER(X) TEXT(X) X(text_compact_data) \
    GC(X) X(gc_frame) X(gc_statistics_size) X(gc_statistics) GENERATOR(X) DEBUGGER(X)

/* What publishes other fields needs their list above, and here a struct, a macro, a row of `versions` and a constant of
 * enum pp_published. */
struct offsets_13 { FIELDS_13(WORD) };
struct offsets_14 { FIELDS_14(WORD) };
struct offsets_15 { FIELDS_15(WORD) };
#define IN_13(name) [FIELD_##name] = offsetof(struct offsets_13, name) / sizeof(uint64_t),
#define IN_14(name) [FIELD_##name] = offsetof(struct offsets_14, name) / sizeof(uint64_t),
#define IN_15(name) [FIELD_##name] = offsetof(struct offsets_15, name) / sizeof(uint64_t),
/* The newest version has all names; a name that it drops must be added here. */
enum field_name { FIELDS_15(NAME) FIELD_COUNT };

static const struct version {
    size_t size;
    uint16_t at[FIELD_COUNT]; /* index of each field's word; 0, the cookie: not published */
} versions[] = {
    [PP_PUBLISHED_3_13] = {sizeof(struct offsets_13), {FIELDS_13(IN_13)}},
    [PP_PUBLISHED_3_14] = {sizeof(struct offsets_14), {FIELDS_14(IN_14)}},
    [PP_PUBLISHED_3_15] = {sizeof(struct offsets_15), {FIELDS_15(IN_15)}},
};
/* clang-format on */
/* As compiled from the headers of each version. */
_Static_assert(sizeof(struct offsets_13) == 584 && sizeof(struct offsets_14) == 760 && sizeof(struct offsets_15) == 888,
               "a field too many or too few");

/* A field of the row; `wrong`: the message if it differs from the published one, NULL if it may differ. */
struct field {
    uint16_t name, member; /* enum field_name; offset in struct pp_python_layout */
    bool free_threaded_only;
    const char *wrong;
};

#define ROW(member) offsetof(struct pp_python_layout, member)
#define FRAMES      "its frames are laid out in a way that this pyprof does not know"
#define CODES       "its code objects are laid out in a way that this pyprof does not know"
#define TEXTS       "its strings are laid out in a way that this pyprof does not know"
#define OBJECTS     "its objects are laid out in a way that this pyprof does not know"
#define STATES      "its thread states are laid out in a way that this pyprof does not know"

static const struct field fields[] = {
    {FIELD_runtime_finalizing, ROW(runtime.finalizing), false, NULL},
    {FIELD_runtime_interpreters, ROW(runtime.head_interpreter), false, NULL},
    {FIELD_interpreter_next, ROW(interpreter.next), false, NULL},
    {FIELD_interpreter_threads, ROW(interpreter.threads), false, NULL},
    {FIELD_thread_next, ROW(thread_state.next), false, NULL},
    {FIELD_interpreter_modules, ROW(interpreter.modules), false, NULL},
    {FIELD_interpreter_id, ROW(interpreter.id), false, NULL},
    {FIELD_heap_type_keys, ROW(heap_type.cached_keys), false, NULL},
    {FIELD_thread_interp, ROW(thread_state.interp), false, NULL},
    {FIELD_thread_frame, ROW(thread_state.top), false, NULL},
    {FIELD_thread_id, ROW(thread_state.thread_id), false, NULL},
    {FIELD_thread_base_frame, ROW(thread_state.base_frame), false, NULL},
    {FIELD_frame_previous, ROW(frame.previous), false, FRAMES},
    {FIELD_frame_code, ROW(frame.code), false, FRAMES},
    {FIELD_frame_instr, ROW(frame.instr), false, FRAMES},
    {FIELD_frame_owner, ROW(frame.owner), false, FRAMES},
    {FIELD_frame_locals, ROW(frame.copy_size), false, FRAMES},
    {FIELD_frame_locals, ROW(frame.locals), false, FRAMES},
    {FIELD_frame_tlbc_index, ROW(frame.tlbc_index), true, FRAMES},
    {FIELD_code_filename, ROW(code.filename), false, CODES},
    {FIELD_code_qualname, ROW(code.qualname), false, CODES},
    {FIELD_code_line_table, ROW(code.line_table), false, CODES},
    {FIELD_code_first_line, ROW(code.first_line), false, CODES},
    {FIELD_code_local_names, ROW(code.local_names), false, NULL},
    {FIELD_code_instructions, ROW(code.instructions), false, CODES},
    {FIELD_code_tlbc, ROW(code.tlbc), true, CODES},
    {FIELD_text_length, ROW(text.length), false, TEXTS},
    {FIELD_text_state, ROW(text.state), false, TEXTS},
    {FIELD_text_ascii_data, ROW(text.ascii_data), false, TEXTS},
    {FIELD_text_compact_data, ROW(text.compact_data), false, TEXTS},
    {FIELD_bytes_length, ROW(bytes.length), false, TEXTS},
    {FIELD_bytes_data, ROW(bytes.data), false, TEXTS},
    {FIELD_generator_frame, ROW(generator.frame), false, OBJECTS},
};

#define HAS(field)        versions[layout->published].at[FIELD_##field]
#define PUBLISHED(field)  words[HAS(field)]
#define FIRST(field)      versions[PP_PUBLISHED_3_13].at[FIELD_##field] /* at the same index in all versions */
#define MINOR_OF(version) ((version) >> 16 & 0xff)

#define STATE_MAX (PP_THREAD_STATE_MAX - sizeof(uint64_t)) /* largest offset of a field that we read */

size_t pp_python_offsets_size(const struct pp_python_layout *layout)
{
    return versions[layout->published].size;
}

bool pp_python_offsets_free_threaded(const void *published, uint32_t version)
{
    const uint64_t *words = published;
    return memcmp(words, COOKIE, sizeof *words) == 0 && words[FIRST(version)] == version &&
           words[FIRST(free_threaded)] == 1;
}

/* Sets how much of a thread state is copied: up to the last field that we read. */
static bool fit_thread_state(struct pp_python_layout *layout, const uint64_t *words)
{
    uint64_t chunk = PUBLISHED(thread_chunk), last = 0;
    if (chunk > STATE_MAX)
        return false;
    /* datastack_top follows (struct _ts, "datastack_chunk; datastack_top; datastack_limit") */
    layout->thread_state.datastack_top = (uint16_t)(chunk + sizeof(uint64_t));
    layout->thread_state.datastack_chunk = (uint16_t)chunk;
    if (layout->published == PP_PUBLISHED_3_13 && PUBLISHED(thread_size) <= UINT16_MAX)
        layout->thread_state.running_loop = (uint16_t)PUBLISHED(thread_size); /* asyncio_running_loop follows */
    const uint16_t used[] = {
        layout->thread_state.next,      layout->thread_state.interp,          layout->thread_state.top,
        layout->thread_state.thread_id, layout->thread_state.datastack_chunk, layout->thread_state.datastack_top,
        layout->thread_state.base_frame};
    for (unsigned i = 0; i < sizeof used / sizeof *used; i++) {
        if (used[i] % sizeof(uint64_t) != 0 || used[i] > STATE_MAX)
            return false;
        last = used[i] > last ? used[i] : last;
    }
    layout->thread_state.copy_size = (uint16_t)(last + sizeof(uint64_t));
    return PUBLISHED(thread_size) >= layout->thread_state.copy_size;
}

/* Sets where an interpreter's collector says that it runs. */
static bool fit_collector(struct pp_python_layout *layout, const uint64_t *words)
{
    uint64_t gc = PUBLISHED(interpreter_gc), size = PUBLISHED(gc_size);
    uint64_t collecting = PUBLISHED(gc_collecting), frame = PUBLISHED(gc_frame);
    if (gc > UINT16_MAX || size > UINT16_MAX || gc + size > UINT16_MAX || gc + size > PUBLISHED(interpreter_size) ||
        collecting > size - sizeof(int32_t))
        return false;
    if (layout->interpreter.collecting)
        layout->interpreter.collecting = (uint16_t)(gc + collecting);
    if (!HAS(gc_frame))
        return true;
    layout->interpreter.collecting_frame = (uint16_t)(gc + frame);
    return frame <= size - sizeof(uint64_t);
}

const char *pp_python_offsets_apply(struct pp_python_layout *layout, const void *published, uint32_t version)
{
    const uint64_t *words = published;
    if (!layout->published || MINOR_OF(version) != layout->minor || memcmp(words, COOKIE, sizeof *words) != 0 ||
        words[FIRST(version)] != version || words[FIRST(free_threaded)] != layout->free_threaded)
        return "what it says about its own layout is not for its version";
    for (const struct field *field = fields; field < fields + sizeof fields / sizeof *fields; field++) {
        uint16_t at = versions[layout->published].at[field->name];
        if (!at || (field->free_threaded_only && !layout->free_threaded))
            continue;
        uint16_t *ours = (uint16_t *)((char *)layout + field->member);
        if (field->wrong ? words[at] != *ours : words[at] > UINT16_MAX)
            return field->wrong ? field->wrong : STATES;
        *ours = (uint16_t)words[at];
    }
    if (PUBLISHED(object_type) != layout->object_type)
        return OBJECTS;
    if (HAS(generator_state) && PUBLISHED(generator_state) != layout->generator.gi_frame_state)
        return OBJECTS;
    if (PUBLISHED(frame_size) < layout->frame.copy_size)
        return FRAMES;
    if (PUBLISHED(code_size) < layout->code.copy_size)
        return CODES;
    if (!fit_thread_state(layout, words) || !fit_collector(layout, words) ||
        layout->runtime.finalizing % sizeof(uint64_t) != 0 ||
        PUBLISHED(runtime_size) < layout->runtime.finalizing + sizeof(uint64_t) ||
        layout->runtime.finalizing < pp_python_offsets_size(layout))
        return STATES;
    return NULL;
}

bool pp_python_offsets_fit_collector(const struct pp_python_layout *layout, const void *runtime, size_t size)
{
    /* struct _gc_runtime_state has three generations {head: 2 words, threshold, count}, a pointer, a fourth generation
     * and three times 3 words of statistics, then `collecting`; thresholds are initially 700, 10, 10. The third word of
     * struct _is, id_refcount, is initially -1 (_PyRuntimeState_INIT and _PyInterpreterState_INIT). */
    enum { GENERATION = 24, GENERATIONS = 3 * GENERATION, TO_COLLECTING = GENERATIONS + 8 + GENERATION + GENERATIONS };
    static const uint32_t thresholds[] = {700, 10, 10};
    const char *bytes = runtime;
    size_t to_threshold = layout->interpreter.collecting - TO_COLLECTING + 16;
    if (layout->interpreter.collecting < TO_COLLECTING || size < to_threshold - 16 + GENERATIONS)
        return false;
    const char *end = bytes + size - GENERATIONS + 16 + 1;
    /* the first byte of 700 is rare there */
    for (const char *at = bytes + to_threshold; (at = memchr(at, thresholds[0] & 0xff, (size_t)(end - at))); at++) {
        size_t interpreter = (size_t)(at - bytes) - to_threshold;
        int64_t references;
        unsigned same = 0;
        if (interpreter % sizeof(uint64_t) != 0)
            continue;
        memcpy(&references, bytes + interpreter + 16, sizeof references);
        for (unsigned i = 0; references == -1 && i < 3; i++)
            same += memcmp(at + i * GENERATION, &thresholds[i], sizeof *thresholds) == 0;
        if (same == 3)
            return true;
    }
    return false;
}
