/* `pyprof report --json`. */
#include <stdio.h>

#include "profile/summary.h"
#include "report.h"
#include "sums_json.h"

/* Raised when a field changes its meaning or goes away. */
#define JSON_VERSION 1

int pp_report_json(const struct pp_report *report)
{
    struct pp_profile *profile = report->profile;
    json_t *root = json_object(), *total = json_object();
    uint64_t start, end;
    pp_summary_span(profile, &start, &end);
    json_object_set_new(root, "version", json_integer(JSON_VERSION));
    json_object_set_new(root, "cmdline", pp_string_json(profile, pp_summary_first_process(profile)->command_line));
    pp_set_number(root, "start_unix_ns", start);
    pp_set_number(root, "end_unix_ns", end);
    json_object_set_new(root, "python_versions", pp_versions_json(profile, PP_NONE));
    pp_set_number(root, "shown_ns", pp_profile_cpu_ns(profile));
    struct pp_report_native native = pp_report_native(profile);
    pp_set_number(root, "interpreter_ns", native.interpreter_ns);
    pp_set_number(root, "library_ns", native.library_ns);
    pp_report_functions_json(report, PP_NONE, PP_NONE, root);
    json_object_set_new(root, "hottest", pp_report_lines_json(report));
    json_object_set_new(root, "processes", pp_report_threads_json(report, false));
    json_object_set_new(root, "threads", pp_report_threads_json(report, true));
    pp_set_sums(total, profile, PP_NONE);
    json_object_set_new(root, "total", total);
    int failed = json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return failed;
}
