/* `pyprof report --json`. */
#include <stdio.h>

#include "../view/summary.h"
#include "report.h"
#include "sums_json.h"

/* Raised when a field changes its meaning or goes away. */
#define JSON_VERSION 1

int pt_report_json(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    json_t *root = json_object(), *total = json_object();
    uint64_t start, end;
    pt_summary_span(profile, &start, &end);
    json_object_set_new(root, "version", json_integer(JSON_VERSION));
    json_object_set_new(root, "cmdline", pt_string_json(profile, pt_summary_first_process(profile)->command_line));
    pt_set_number(root, "start_unix_ns", start);
    pt_set_number(root, "end_unix_ns", end);
    json_object_set_new(root, "python_versions", pt_versions_json(profile, PT_NONE));
    pt_set_number(root, "shown_ns", pt_profile_cpu_ns(profile));
    struct pt_report_native native = pt_report_native(profile);
    pt_set_number(root, "interpreter_ns", native.interpreter_ns);
    pt_set_number(root, "library_ns", native.library_ns);
    pt_report_functions_json(report, PT_NONE, PT_NONE, root);
    json_object_set_new(root, "hottest", pt_report_lines_json(report));
    json_object_set_new(root, "processes", pt_report_threads_json(report, false));
    json_object_set_new(root, "threads", pt_report_threads_json(report, true));
    pt_set_sums(total, profile, PT_NONE);
    json_object_set_new(root, "total", total);
    int failed = json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return failed;
}
