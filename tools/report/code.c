/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/print.h"
#include "../view/summary.h"
#include "report.h"
#include "rows.h"

static const char *pseudo_text(const struct pt_profile *profile, uint32_t frame)
{
    const struct pt_frame *item = &profile->frames.items[frame];
    return item->kind == PP_FRAME_PSEUDO ? pt_string(profile, item->subject) : NULL;
}

bool pt_is_nameless_code(const struct pt_profile *profile, uint32_t frame)
{
    const char *text = pseudo_text(profile, frame);
    return text && (strcmp(text, PP_PSEUDO_JIT) == 0 || strcmp(text, PP_PSEUDO_JIT_OR_UNLOADED) == 0);
}

struct pt_report_code pt_report_code_of(const struct pt_profile *profile)
{
    struct pt_report_code code = {0};
    for (uint32_t i = 0; i < profile->innermost_count; i++) {
        if (!profile->innermost_ns[i] || profile->frames.items[i].kind == PP_FRAME_PSEUDO)
            continue;
        enum pt_kind kind = pt_kind_of(profile, &profile->frames.items[i]);
        *(kind == PT_KIND_INTERPRETER ? &code.interpreter_ns
          : kind == PT_KIND_NATIVE    ? &code.library_ns
                                      : &code.python_ns) += profile->innermost_ns[i];
    }
    return code;
}

/* Returns the pseudo-frame that follows `last` in the order of CPU time, PT_NONE after the last; PT_NONE has the first.
 */
static uint32_t next_pseudo(const struct pt_profile *profile, uint32_t last, bool nameless_code)
{
    uint32_t next = PT_NONE;
    for (uint32_t i = 0; i < profile->innermost_count; i++) {
        uint64_t ns = profile->innermost_ns[i];
        bool is_after =
            last == PT_NONE || ns < profile->innermost_ns[last] || (ns == profile->innermost_ns[last] && i > last);
        if (is_after && pseudo_text(profile, i) && (!nameless_code || pt_is_nameless_code(profile, i)) &&
            (next == PT_NONE || ns > profile->innermost_ns[next]))
            next = i;
    }
    return next;
}

void pt_report_append_pseudo(struct pt_buffer *text, const struct pt_report *report, bool nameless_code)
{
    const struct pt_profile *profile = report->profile;
    for (uint32_t i = PT_NONE; (i = next_pseudo(profile, i, nameless_code)) != PT_NONE;) {
        double percent = pt_percent(profile->innermost_ns[i], report->whole_ns);
        if (percent < PT_HIDDEN_BELOW)
            break;
        pt_buffer_format(text, ", %s %.1f %%", pseudo_text(profile, i), percent);
    }
}

void pt_report_code(const struct pt_report *report)
{
    struct pt_report_code code = pt_report_code_of(report->profile);
    PT_AUTO_BUFFER text = {0};
    if (!code.interpreter_ns && !code.library_ns)
        return;
    pt_buffer_format(&text, "CPU: Python code %.1f %%, Python's own C code %.1f %%, native libraries %.1f %%",
                     pt_percent(code.python_ns, report->whole_ns), pt_percent(code.interpreter_ns, report->whole_ns),
                     pt_percent(code.library_ns, report->whole_ns));
    pt_report_append_pseudo(&text, report, false);
    pt_print_paragraph(0, 2, "%s", text.data);
}
