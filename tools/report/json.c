/* SPDX-License-Identifier: Apache-2.0 */
/* `pyprof report --json`. */
#include <stdio.h>

#include "../view/summary.h"
#include "report.h"
#include "sums_json.h"

bool pt_report_json(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct pt_json json = pt_json_document(stdout);
    struct pt_report_native native = pt_report_native(profile);
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_json_string(&json, "cmdline", profile, pt_summary_first_process(profile)->command_line);
    pt_json_number(&json, "start_unix_ns", start);
    pt_json_number(&json, "end_unix_ns", end);
    pt_json_versions(&json, profile, PT_NONE);
    pt_json_number(&json, "program_ns", report->program_ns);
    pt_json_number(&json, "shown_ns", pt_profile_cpu_ns(profile));
    pt_json_number(&json, "interpreter_ns", native.interpreter_ns);
    pt_json_number(&json, "library_ns", native.library_ns);
    if (profile->request->select.trace)
        pt_report_trace_json(report, &json);
    pt_report_functions_json(report, PT_NONE, PT_NONE, &json);
    if (report->cli->request.by)
        pt_report_values_json(report, &json);
    pt_report_packages_json(report, &json);
    pt_report_lines_json(report, &json);
    pt_report_threads_json(report, false, &json);
    pt_report_threads_json(report, true, &json);
    pt_json_begin(&json, "total", '{');
    pt_json_sums(&json, profile, PT_NONE);
    pt_json_end(&json, '}');
    return pt_json_end_document(&json);
}
