/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_frames.h"
#include "../capture/capture.h"
#include "../common/log_format.h"
#include "../handler/handler.h"
#include "../python/line_table.h"
#include "code_objects.h"
#include "stack_path.h"
#include <string.h>

static const char *const reason_texts[] = {
#define X(name, text) "[" text "]",
    PP_REASONS(X)
#undef X
};

uint32_t pp_stack_reason_frame(struct pp_tables *tables, unsigned reason)
{
    return pp_frame_pseudo(tables, reason_texts[reason]);
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

uint32_t pp_stack_native_frame(struct pp_tables *tables, uintptr_t address)
{
    bool fresh;
    uint32_t id = pp_intern(&tables->native_frames, &address, sizeof address, &fresh);
    if (!id)
        return 0;
    if (!fresh)
        return (uint32_t)pp_intern_entry(&tables->native_frames, id)->value[0];
    uint32_t frame = PP_HIDDEN_FRAME;
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

/* Returns the frame of a place in the code. */
static uint32_t frame_of(struct pp_tables *tables, struct pp_code *code, int32_t unit)
{
    bool fresh;
    uint32_t key[] = {code->serial, (uint32_t)unit};
    uint32_t id = pp_intern(&tables->python_frames, key, sizeof key, &fresh);
    if (!id)
        return 0;
    if (!fresh)
        return (uint32_t)pp_intern_entry(&tables->python_frames, id)->value[0];
    if (!code->log_id || code->log_segment != tables->segment) {
        uint32_t qualname = pp_string_id(tables, code->qualname, code->qualname_length);
        uint32_t file = pp_string_id(tables, code->filename, code->filename_length);
        uint32_t line = pp_template_line(&code->template_lines, code->first_line);
        code->log_id = qualname && file ? pp_code_id(tables, qualname, file, line) : 0;
        code->log_segment = tables->segment;
    }
    struct pp_position position = pp_position_of(code->line_table_format, code->line_table, code->line_table_bytes,
                                                 code->first_line, unit < (int32_t)code->first_traceable ? -1 : unit);
    if (code->template_lines.text) /* columns are those of Jinja's code */
        position = (struct pp_position){.line = pp_template_line(&code->template_lines, position.line)};
    uint32_t result = code->log_id ? pp_frame_python(tables, code->log_id, &position) : 0;
    pp_intern_entry(&tables->python_frames, id)->value[0] = result;
    return result;
}

uint32_t pp_stack_python_frame(struct pp_tables *tables, struct pp_slot *slot, uint32_t epoch,
                               const struct pp_record_frame *frame, bool innermost)
{
    uint32_t number;
    struct pp_code *code = pp_codes_find(slot, epoch, frame->entry, &number);
    if (!code)
        return pp_stack_reason_frame(tables, PP_REASON_PYTHON_TORN);
    /* before its first RESUME a frame that is not the innermost one only prepares its cells: CPython hides it too */
    if (code->is_init_cleanup || (!innermost && frame->unit < (int32_t)code->first_traceable))
        return PP_HIDDEN_FRAME;
    return frame_of(tables, code, frame->unit);
}

uint32_t pp_stack_place_frame(struct pp_tables *tables, struct pp_code_place place)
{
    struct pp_code *code = pp_codes_at(place.epoch, place.number);
    return code ? frame_of(tables, code, place.unit) : pp_stack_reason_frame(tables, PP_REASON_PYTHON_TOO_DEEP);
}
