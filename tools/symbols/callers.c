/* SPDX-License-Identifier: Apache-2.0 */
#include "callers.h"

#include <stdlib.h>

#include "../model/frame_text.h"

struct function {
    uint32_t module;
    uint64_t start;
    uint64_t ns, most_ns; /* most_ns: of `caller` */
    uint32_t caller;      /* string: symbol */
    bool several;
};

struct call {
    uint32_t function, caller;
    uint64_t ns;
};

struct callers {
    PT_TABLE_OF(struct function) functions;
    PT_TABLE_OF(struct call) calls;
};

PT_DEFINE_ADD(static uint32_t add_function, struct callers, functions, struct function, item->module, item->start)
PT_DEFINE_ADD(static uint32_t add_call, struct callers, calls, struct call, item->function, item->caller)

static bool is_nameless(const struct pt_frame *frame)
{
    return frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE && !frame->symbol;
}

static uint32_t function_of(struct callers *callers, const struct pt_frame *frame)
{
    const struct function function = {.module = frame->subject, .start = frame->address - frame->symbol_offset};
    return add_function(callers, &function);
}

/* Returns CPU time by node, with that of the nodes above it. The caller frees. */
static uint64_t *totals_of(const struct pt_profile *profile)
{
    uint64_t *ns = pt_alloc(profile->nodes.count, sizeof *ns);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        ns[profile->samples.items[i].node] += profile->samples.items[i].cpu_ns;
    for (uint32_t i = profile->nodes.count; i-- > 1;)
        ns[profile->nodes.items[i].parent] += ns[i];
    return ns;
}

static void add_calls(struct callers *callers, const struct pt_profile *profile)
{
    PT_AUTO_FREE uint64_t *ns = totals_of(profile);
    uint32_t *symbols = pt_alloc(profile->nodes.count, sizeof *symbols); /* of the nearest frame with a name */
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        const struct pt_frame *frame = &profile->frames.items[node->frame];
        symbols[i] = frame->kind == PP_FRAME_NATIVE ? frame->symbol : 0;
        if (!is_nameless(frame))
            continue;
        if (node->parent) {
            const struct pt_frame *parent = &profile->frames.items[profile->nodes.items[node->parent].frame];
            bool same = parent->kind == PP_FRAME_NATIVE && parent->subject == frame->subject;
            symbols[i] = same ? symbols[node->parent] : 0;
        }
        const struct call call = {.function = function_of(callers, frame), .caller = symbols[i]};
        uint32_t number = add_call(callers, &call);
        callers->calls.items[number].ns += ns[i];
    }
    free(symbols);
}

static void choose_callers(struct callers *callers)
{
    for (PT_EACH(const struct call, call, &callers->calls)) {
        struct function *function = &callers->functions.items[call->function];
        function->several |= function->ns > 0;
        function->ns += call->ns;
        if (call->ns <= function->most_ns)
            continue;
        function->most_ns = call->ns;
        function->caller = call->caller;
    }
}

void pt_symbols_name_callers(struct pt_profile *profile)
{
    struct callers callers = {0};
    PT_AUTO_BUFFER text = {0};
    add_calls(&callers, profile);
    choose_callers(&callers);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        if (!is_nameless(&profile->frames.items[i]))
            continue;
        uint32_t number = function_of(&callers, &profile->frames.items[i]);
        const struct function *function = &callers.functions.items[number];
        if (!function->caller || function->most_ns < function->ns - function->most_ns)
            continue;
        pt_buffer_clear(&text);
        pt_symbol_text(&text, pt_string(profile, function->caller));
        if (function->several)
            pt_buffer_text(&text, ", …");
        profile->frames.items[i].caller = pt_intern_text(profile, text.data);
    }
    PT_FREE_TABLE(&callers.functions);
    PT_FREE_TABLE(&callers.calls);
}
