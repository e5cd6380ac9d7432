/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/print.h"
#include "../view/summary.h"
#include "report.h"
#include "rows.h"

static const char *text_of(const struct pt_profile *profile, uint32_t frame)
{
    return pt_string(profile, profile->frames.items[frame].subject);
}

/* Returns whether it is a pseudo-frame that is no code. */
static bool is_other(const struct pt_profile *profile, uint32_t frame)
{
    return profile->frames.items[frame].kind == PP_FRAME_PSEUDO && strcmp(text_of(profile, frame), PP_PSEUDO_JIT) != 0;
}

/* Returns where its CPU time is added. */
static uint64_t *kind_of(struct pt_report_code *code, const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return &code->python_ns;
    if (frame->kind == PP_FRAME_PSEUDO || frame->subject == PT_NONE)
        return &code->jit_ns;
    return pt_kind_of(profile, frame) == PT_KIND_INTERPRETER ? &code->interpreter_ns : &code->library_ns;
}

struct pt_report_code pt_report_code_of(const struct pt_profile *profile)
{
    struct pt_report_code code = {0};
    for (uint32_t i = 0; i < profile->innermost_count; i++)
        if (!is_other(profile, i))
            *kind_of(&code, profile, &profile->frames.items[i]) += profile->innermost_ns[i];
    return code;
}

/* Returns the pseudo-frame after `last` by CPU time, PT_NONE if that was the last; the first after PT_NONE. */
static uint32_t next_pseudo(const struct pt_profile *profile, uint32_t last, bool native)
{
    uint32_t next = PT_NONE;
    for (uint32_t i = 0; i < profile->innermost_count; i++) {
        uint64_t ns = profile->innermost_ns[i], last_ns = last == PT_NONE ? UINT64_MAX : profile->innermost_ns[last];
        bool is_after = ns < last_ns || (ns == last_ns && i > last);
        if (is_after && is_other(profile, i) && (!native || pt_is_nameless_code(profile, &profile->frames.items[i])) &&
            (next == PT_NONE || ns > profile->innermost_ns[next]))
            next = i;
    }
    return next;
}

void pt_report_append_pseudo(struct pt_buffer *text, const struct pt_report *report, bool native)
{
    const struct pt_profile *profile = report->profile;
    for (uint32_t i = PT_NONE; (i = next_pseudo(profile, i, native)) != PT_NONE;) {
        double percent = pt_percent(profile->innermost_ns[i], report->whole_ns);
        if (percent < PT_HIDDEN_BELOW)
            break;
        pt_buffer_format(text, ", %s %.1f %%", text_of(profile, i), percent);
    }
}

void pt_report_code(const struct pt_report *report)
{
    struct pt_report_code code = pt_report_code_of(report->profile);
    PT_AUTO_BUFFER text = {0};
    if (!code.interpreter_ns && !code.library_ns && !code.jit_ns)
        return;
    pt_buffer_format(&text, "CPU: Python code %.1f %%, Python's own C code %.1f %%, native libraries %.1f %%",
                     pt_percent(code.python_ns, report->whole_ns), pt_percent(code.interpreter_ns, report->whole_ns),
                     pt_percent(code.library_ns, report->whole_ns));
    if (code.jit_ns)
        pt_buffer_format(&text, ", code of JITs %.1f %%", pt_percent(code.jit_ns, report->whole_ns));
    pt_report_append_pseudo(&text, report, false);
    pt_print_paragraph(0, 2, "%s", text.data);
}
