/* The sections of `pyprof report`. Each prints to stdout, an empty line before it; those that are data are also there
 * as JSON. */
#ifndef PP_TOOLS_REPORT_H
#define PP_TOOLS_REPORT_H

#include <jansson.h>

#include "cli.h"
#include "profile/model.h"

struct pp_report {
    struct pp_profile *profile;
    const struct pp_cli *cli;
    struct pp_accounting sum; /* of all processes */
    uint64_t whole_ns;        /* what percentages are of */
    uint32_t top;             /* rows of a table */
};

/* CPU time at whose leaf is native code: of the interpreter itself, and of all else. */
struct pp_report_native {
    uint64_t interpreter_ns, library_ns;
};
struct pp_report_native pp_report_native(const struct pp_profile *profile);

/* Functions by self time, and Python functions with the native code that they call; of one process or thread only,
 * unless PP_NONE. */
void pp_report_functions(const struct pp_report *report, uint32_t process, uint32_t thread);
void pp_report_functions_json(const struct pp_report *report, uint32_t process, uint32_t thread, json_t *object);

/* Which debug symbols would help, if much of the time went to functions that have no name. */
void pp_report_nameless(const struct pp_report *report);

/* Where in the Python function that took most (its own code and the native code that it calls) the time went. */
void pp_report_lines(const struct pp_report *report);
json_t *pp_report_lines_json(const struct pp_report *report);

/* CPU time of processes and threads. As JSON with the functions of each, where the options ask for that. */
void pp_report_threads(const struct pp_report *report);
json_t *pp_report_threads_json(const struct pp_report *report, bool threads);

/* Accounting, what is not complete and why, warnings. */
void pp_report_accounting(const struct pp_report *report);

/* A table of functions for each process or thread, the ones that burned most first. */
void pp_report_split(const struct pp_report *report, bool threads);

/* All of the report for programs. Not 0 when it could not be written. */
int pp_report_json(const struct pp_report *report);

#endif
