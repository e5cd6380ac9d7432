/* The sections of `pyprof report`. Each prints to stdout, an empty line before it; those that are data are also there
 * as JSON. */
#ifndef PT_REPORT_H
#define PT_REPORT_H

#include "../base/json.h"
#include "../cli/options.h"
#include "../profile/model.h"

struct pt_report {
    struct pt_profile *profile;
    const struct pt_cli *cli;
    struct pt_accounting sum; /* of all processes */
    uint64_t whole_ns;        /* what percentages are of */
    uint32_t top;             /* rows of a table */
};

/* CPU time at whose leaf is native code: of the interpreter itself, and of all else. */
struct pt_report_native {
    uint64_t interpreter_ns, library_ns;
};
struct pt_report_native pt_report_native(const struct pt_profile *profile);

/* Functions by self time, and Python functions with the native code that they call; of one process or thread only,
 * unless PT_NONE. */
void pt_report_functions(const struct pt_report *report, uint32_t process, uint32_t thread);
void pt_report_functions_json(const struct pt_report *report, uint32_t process, uint32_t thread, struct pt_json *json);

/* Prints which debug symbols would help, if much of the time went to functions without a name. */
void pt_report_nameless(const struct pt_report *report);

/* Prints the lines of the Python function that took most, native code that it calls included. */
void pt_report_lines(const struct pt_report *report);
void pt_report_lines_json(const struct pt_report *report, struct pt_json *json);

/* CPU time of processes and threads. As JSON with the functions of each, where the options ask for that. */
void pt_report_threads(const struct pt_report *report);
void pt_report_threads_json(const struct pt_report *report, bool threads, struct pt_json *json);

/* Prints a table of functions for each process or thread, most CPU time first. */
void pt_report_split(const struct pt_report *report, bool threads);

/* Prints the whole report as JSON. Returns false if it could not be written. */
bool pt_report_json(const struct pt_report *report);

#endif
