/*
 * The merge. The handler has paired each run of Python frames with the native frame that executes it (the run's entry
 * marker lies inside that frame), so from the root on: a paired native frame is replaced by its run, any other is shown
 * as it is. Native eval frames without a run are on their way into or out of a Python function when they are the
 * innermost ones, and say so by not being shown; anywhere else they mean that the pairing failed.
 */
#include "stacks.h"
#include "../capture/capture.h"
#include "../log_format.h"
#include "codes.h"
#include "line_table.h"
#include <string.h>

#define HIDDEN_FRAME UINT32_MAX /* in a cache: ours, not to be shown */

static const char *const reason_texts[] = {
#define X(name, text) "[" text "]",
    PP_REASONS(X)
#undef X
};

struct view {
    const struct pp_record_sample *head;
    const uint64_t *native;
    const struct pp_record_run *runs;
    const struct pp_record_frame *python;
};

static struct view view_of(const struct pp_record_sample *sample)
{
    struct view view = {.head = sample, .native = (const uint64_t *)(sample + 1)};
    const uint8_t *runs = (const uint8_t *)(view.native + sample->native_frames);
    view.runs = (const struct pp_record_run *)runs;
    view.python =
        (const struct pp_record_frame *)(runs + ((sample->runs * sizeof(struct pp_record_run) + 7) & ~(size_t)7));
    return view;
}

/* Code of the greenlet extension, if it is loaded. */
static uintptr_t greenlet_start, greenlet_end;

static void look_for_greenlet(struct pp_module *module, void *argument)
{
    (void)argument;
    const char *name = strrchr(module->path, '/');
    if (name && strncmp(name, "/_greenlet.", 11) == 0) {
        greenlet_start = module->start;
        greenlet_end = module->end;
    }
}

void pp_stacks_modules_changed(struct pp_tables *tables)
{
    pp_arena_reset(&tables->native_arena);
    pp_intern_init(&tables->native_frames, &tables->native_arena);
    greenlet_start = greenlet_end = 0;
    pp_modules_each(look_for_greenlet, NULL);
}

/* Where the native stack of a sample ends. A greenlet's Python frames end at its first function, but the C stack goes
 * on into whatever other greenlets left there: beyond the outermost run, greenlet's own code is the end. */
static unsigned native_end(const struct view *view, bool *at_greenlet)
{
    unsigned runs = view->head->runs, native = view->head->native_frames;
    *at_greenlet = false;
    if (greenlet_start == greenlet_end || runs == 0 || view->runs[runs - 1].native == PP_RUN_UNPAIRED)
        return native;
    for (unsigned i = view->runs[runs - 1].native + 1u; i < native; i++)
        if (view->native[i] >= greenlet_start && view->native[i] < greenlet_end) {
            *at_greenlet = true;
            return i;
        }
    return native;
}

static bool is_ours(uintptr_t address)
{
    static uintptr_t start, end;
    if (!start) {
        const struct pp_module *self = pp_module_find((uintptr_t)pp_handle_signal);
        if (self) {
            end = self->end;
            start = self->start;
        }
    }
    return address >= start && address < end;
}

static uint32_t native_frame(struct pp_tables *tables, uintptr_t address)
{
    bool fresh;
    uint32_t id = pp_intern(&tables->native_frames, &address, sizeof address, &fresh);
    if (!id)
        return 0;
    if (!fresh)
        return (uint32_t)pp_intern_entry(&tables->native_frames, id)->value[0];
    uint32_t frame = HIDDEN_FRAME;
    if (!is_ours(address)) {
        struct pp_module *module = pp_module_find(address);
        uintptr_t start = address, end;
        const char *symbol = module ? pp_module_symbol(module, address, &start) : NULL;
        /* a function without a name is still one function: it goes by where it begins */
        if (!symbol && (!module || !pp_module_function_range(module, address, &start, &end)))
            start = address;
        frame = pp_frame_native(tables, module ? pp_module_id(tables, module) : 0, address,
                                symbol ? pp_string_id(tables, symbol, strlen(symbol)) : 0, address - start);
    }
    pp_intern_entry(&tables->native_frames, id)->value[0] = frame;
    return frame;
}

static bool in_eval(uintptr_t address)
{
    uint32_t count = atomic_load(&pp_capture.eval_range_count);
    for (uint32_t i = 0; i < count; i++)
        if (address >= pp_capture.eval_ranges[i].start && address < pp_capture.eval_ranges[i].end)
            return true;
    return false;
}

static void add_eval_range(const struct pp_module *module, uintptr_t address)
{
    uint32_t count = atomic_load(&pp_capture.eval_range_count);
    uintptr_t start, end;
    if (in_eval(address) || count == PP_EVAL_RANGES || !module ||
        !pp_module_function_range(module, address, &start, &end))
        return;
    pp_capture.eval_ranges[count].start = start;
    pp_capture.eval_ranges[count].end = end;
    atomic_store_explicit(&pp_capture.eval_range_count, count + 1, memory_order_release);
}

/* A frame that holds an entry marker is an eval frame: its function's range is one for the handlers to know. The
 * interpreter's module only: greenlet keeps a _PyCFrame of its own in one of its frames. The entry of the function,
 * where no marker stands yet, comes first, since handlers take the ranges for complete as soon as there is one. */
static void learn_eval(uintptr_t address)
{
    const struct pp_python *python = pp_python_of_code(address);
    const struct pp_module *module = pp_module_find(address);
    if (in_eval(address) || !module || !python)
        return;
    add_eval_range(pp_module_find(python->eval_function), python->eval_function);
    add_eval_range(module, address);
}

/* HIDDEN_FRAME for what is not to be shown, 0 without memory. */
static uint32_t python_frame(struct pp_tables *tables, struct pp_slot *slot, uint32_t epoch,
                             const struct pp_record_frame *frame, bool innermost)
{
    uint32_t number;
    struct pp_code *code = pp_codes_find(slot, epoch, frame->entry, &number);
    if (!code)
        return pp_frame_pseudo(tables, reason_texts[PP_REASON_PYTHON_TORN]);
    /* before its first RESUME a frame that is not the innermost one only prepares its cells: CPython hides it too */
    if (code->is_init_cleanup || (!innermost && frame->unit < (int32_t)code->first_traceable))
        return HIDDEN_FRAME;
    bool fresh;
    uint32_t key[] = {epoch, number, (uint32_t)frame->unit};
    uint32_t id = pp_intern(&tables->python_frames, key, sizeof key, &fresh);
    if (!id)
        return 0;
    if (!fresh)
        return (uint32_t)pp_intern_entry(&tables->python_frames, id)->value[0];
    if (!code->log_id || code->log_segment != tables->segment) {
        uint32_t qualname = pp_string_id(tables, code->qualname, code->qualname_length);
        uint32_t file = pp_string_id(tables, code->filename, code->filename_length);
        code->log_id = qualname && file ? pp_code_id(tables, qualname, file, code->first_line) : 0;
        code->log_segment = tables->segment;
    }
    int32_t unit = frame->unit < (int32_t)code->first_traceable ? -1 : frame->unit;
    struct pp_position position =
        pp_position_of(code->minor, code->line_table, code->line_table_bytes, code->first_line, unit);
    uint32_t result = code->log_id ? pp_frame_python(tables, code->log_id, &position) : 0;
    pp_intern_entry(&tables->python_frames, id)->value[0] = result;
    return result;
}

/* The tree is walked from the root; a step without memory makes the whole stack 0. */
struct path {
    struct pp_tables *tables;
    uint32_t node;
    bool failed;
};

static void step(struct path *path, uint32_t frame)
{
    if (frame == HIDDEN_FRAME || path->failed)
        return;
    path->node = frame ? pp_node_id(path->tables, path->node, frame) : 0;
    path->failed = path->node == 0;
}

static void step_reason(struct path *path, unsigned reason, uint64_t reasons[PP_REASON_COUNT])
{
    reasons[reason]++;
    step(path, pp_frame_pseudo(path->tables, reason_texts[reason]));
}

/* A run's frames, outermost first. `first` is the index of its innermost one. */
static void step_run(struct path *path, struct pp_slot *slot, const struct view *view, unsigned first, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        step(path, python_frame(path->tables, slot, view->head->epoch, &view->python[first + i], first + i == 0));
}

uint32_t pp_stack_node(struct pp_tables *tables, struct pp_slot *slot, const struct pp_record_sample *sample,
                       uint64_t reasons[PP_REASON_COUNT])
{
    struct view view = view_of(sample);
    struct path path = {.tables = tables};
    unsigned run = sample->runs, frames_left = sample->python_frames;
    bool unpaired = false, at_greenlet;
    unsigned native = native_end(&view, &at_greenlet);

    if (sample->python_reason != PP_REASON_NONE)
        step_reason(&path, sample->python_reason, reasons);
    /* runs that the native walk did not reach are further out than all that it saw */
    while (run && view.runs[run - 1].native == PP_RUN_UNPAIRED) {
        run--;
        frames_left -= view.runs[run].frames;
        unpaired = sample->native_reason == PP_REASON_NONE;
        step_run(&path, slot, &view, frames_left, view.runs[run].frames);
    }
    if (sample->native_reason != PP_REASON_NONE && !at_greenlet)
        step_reason(&path, sample->native_reason, reasons);
    for (unsigned i = native; i-- > 0;) {
        if (run && view.runs[run - 1].native == i) {
            learn_eval(view.native[i]);
            run--;
            frames_left -= view.runs[run].frames;
            step_run(&path, slot, &view, frames_left, view.runs[run].frames);
        } else if (in_eval(view.native[i])) {
            unpaired |= run != 0 && sample->python_reason == PP_REASON_NONE;
        } else {
            step(&path, native_frame(tables, view.native[i]));
        }
    }
    if (unpaired || run)
        reasons[PP_REASON_PYTHON_UNPAIRED]++;
    if (!path.node && !path.failed)
        step_reason(&path, PP_REASON_NATIVE_NO_MODULE, reasons);
    return path.failed ? 0 : path.node;
}
