/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../model/frame_text.h"
#include "../view/summary.h"
#include "awaited.h"
#include "sums_json.h"

#define INDENTATION 12
#define NAME_WIDTH  24 /* columns of what awaits, on a terminal; the end of the line is cut where there is no room */

void pt_print_awaited(const struct pt_profile *profile, const struct pt_awaited *awaited, uint64_t whole_ns)
{
    const struct pt_function *function = &profile->functions.items[awaited->function];
    struct pt_buffer text = {0};
    pt_buffer_format(&text, "%*s%.0f %% of it awaited at %s:%" PRIu32 " in %s", INDENTATION, "",
                     pt_percent(awaited->ns, whole_ns), pt_base_name(pt_string(profile, function->short_file)),
                     awaited->line, awaited->outside_task ? "task " : "");
    pt_fit_text(&text, pt_string(profile, awaited->outside_task ?: function->name),
                pt_print_columns(stdout) ? NAME_WIDTH : 0);
    pt_buffer_format(&text, ": %s%s",
                     awaited->what == PT_AWAITED_TASK     ? "task "
                     : awaited->what == PT_AWAITED_THREAD ? "a thread"
                                                          : "",
                     pt_string(profile, awaited->name));
    pt_print_text(stdout, text.data, 0, PT_STYLE_PLAIN);
    pt_buffer_free(&text);
}

void pt_json_awaited(struct pt_json *json, const struct pt_profile *profile, const struct pt_awaited *awaited)
{
    static const char *const words[] = {"task", "thread", "coroutine"};
    const struct pt_function *function = &profile->functions.items[awaited->function];
    pt_json_begin(json, "awaited", '{');
    pt_json_text(json, "kind", words[awaited->what]);
    pt_json_string(json, "name", profile, awaited->name);
    pt_json_number(json, "cpu_ns", awaited->ns);
    pt_json_string(json, "function", profile, function->name);
    pt_json_string(json, "file", profile, function->file);
    pt_json_number(json, "line", awaited->line);
    pt_json_string(json, "in_task", profile, awaited->outside_task);
    pt_json_end(json, '}');
}
