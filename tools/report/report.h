/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of `pyprof report`. Each prints to stdout, an empty line before it; those that are data are also there
 * as JSON. */
#ifndef PT_REPORT_H
#define PT_REPORT_H

#include "../base/json.h"
#include "../cli/options.h"
#include "../model/model.h"
#include "../view/call_tree.h"
#include "../view/uncertainty.h"

struct pt_report {
    struct pt_profile *profile;
    const struct pt_cli *cli;
    struct pt_accounting sum; /* of all processes */
    uint64_t program_ns;      /* CPU time of the program, without the profiler's own */
    uint64_t whole_ns;        /* what percentages are of: of that, what is selected */
    struct pt_draws draws;    /* the samples that shares come from */
    uint32_t top;             /* rows of a table */
    bool screen;              /* it is the answer on one screen, not a table or all of them */
};

/* CPU time by the innermost frame: Python code, native code of the interpreter itself, of other files, of JITs. */
struct pt_report_code {
    uint64_t python_ns, interpreter_ns, library_ns, jit_ns;
};
struct pt_report_code pt_report_code_of(const struct pt_profile *profile);

/* Appends ", [unsampled] 12.3 %" for each other pseudo-frame that is the innermost, most first; native: of native code.
 */
void pt_report_append_pseudo(struct pt_buffer *text, const struct pt_report *report, bool native);

/* Prints in which code the CPU was, innermost: shares that add up to all of it. */
void pt_report_code(const struct pt_report *report);

/* Prints what ran, for how long, and how much of it was native code or held the GIL. */
void pt_report_header(const struct pt_report *report);

/* Prints that in two lines, without code and GIL. */
void pt_report_what_ran(const struct pt_report *report);

/* Returns the share of the run's time, in per cent, in which the program waited; 0: it is not worth a word. */
double pt_report_waited(const struct pt_report *report);
#define PT_SPINS_FROM 5.0 /* per cent of the CPU time in threads that wait in a loop: worth a word */

/* Commands that answer what a reader may ask next. pt_next_free ends it. */
struct pt_next {
    struct pt_next_command {
        const char *command;
        char *operand; /* NULL: none */
        const char *purpose;
    } items[6];
    uint32_t count;
};
struct pt_next pt_report_next(const struct pt_report *report);
void pt_next_print(const struct pt_report *report, const struct pt_next *next);
void pt_next_free(struct pt_next *next);

/* Prints the answer on one screen: where the CPU time went, what to know of it, and what to type next. */
#define PT_SCREEN_COLUMNS 80 /* where there is no terminal */
#define PT_SCREEN         22 /* lines: of a terminal with 24, less ends by itself, and the shell's prompt follows */
#define PT_MORE_IN_FULL   " (pyprof report --full)"
void pt_report_screen(const struct pt_report *report);

/* Returns whether an endpoint is known, by its route or as a counted request. */
bool pt_has_endpoints(struct pt_profile *profile);
/* Returns the CPU time of requests without a route. */
uint64_t pt_unknown_route_ns(struct pt_profile *profile);

struct pt_unread {
    const char *package; /* the framework's, or the server's; NULL: there are no requests, or an endpoint is read */
    const char *wrapper; /* what names its requests: "asgi" or "wsgi" */
};
struct pt_unread pt_unread_endpoints(struct pt_profile *profile);

/* Prints what a reader should know before believing that the tables answer the question: the program waited, threads
 * of libraries spin. */
void pt_report_hints(const struct pt_report *report);

/* Says which libraries lack names, if many native functions do. */
void pt_report_nameless(const struct pt_report *report);

/* The row of what is in no Python function. */
#define PT_REPORT_NO_PYTHON "(no Python function)"

/* The tables by function, or what --by asks for; of one process or thread only, unless PT_NONE. */
void pt_report_tables(const struct pt_report *report, uint32_t process, uint32_t thread);

/* CPU time by the values that --by asks for; without it a short table of endpoints, tasks or greenlets, which
 * pt_report_context returns, NULL if there are none; in so many lines, if they are not UINT32_MAX. */
void pt_report_by(const struct pt_report *report, uint32_t process, uint32_t thread);
void pt_report_by_unasked(const struct pt_report *report, uint32_t lines);
const char *pt_report_context(const struct pt_report *report);

/* Returns whether --focus leaves one value of it: its functions say more than its row. */
bool pt_report_is_one_value(const struct pt_report *report);

/* Returns a pattern for --focus that the endpoint with most CPU time matches; NULL without endpoints, if only a part is
 * selected, or if its name is long or no plain text. The caller frees. */
char *pt_report_hot_endpoint(const struct pt_report *report);
void pt_report_by_json(const struct pt_report *report, struct pt_json *json);

/* The trace that --trace asks for: when and where it ran, CPU time by span. */
void pt_report_trace(const struct pt_report *report);
void pt_report_trace_json(const struct pt_report *report, struct pt_json *json);
/* Returns, by string of an id, what the trace was about as far as samples say: its endpoint, without one the first span
 * that has a sample; 0: neither is known. Of a profile that has samples of traces only. The caller frees. */
uint32_t *pt_report_trace_names(struct pt_profile *profile);

/* Functions: Python functions by self time, native code that they call included, and what is not Python; the
 * application's own functions by total time; native functions. */
enum { PT_FUNCTIONS = 1, PT_NATIVE_FUNCTIONS = 2 };
void pt_report_functions(const struct pt_report *report, uint32_t process, uint32_t thread, unsigned which);
void pt_report_functions_json(const struct pt_report *report, uint32_t process, uint32_t thread, struct pt_json *json);

/* Returns a row for each Python function and for all that is not Python, which together have all CPU time of the view.
 * *count rows, in no order; the caller frees. */
struct pt_total *pt_report_python_rows(struct pt_profile *profile, const struct pt_view *view,
                                       const struct pt_total *totals, uint32_t total_count, uint32_t *count);

/* Prints what --callers and --callees ask for. */
void pt_report_neighbours(const struct pt_report *report);
void pt_report_neighbours_json(const struct pt_report *report, struct pt_json *json);

/* Prints what imports cost, as a tree of modules. */
void pt_report_imports(const struct pt_report *report);

/* CPU time by package (package.h): in two lines the packages that matter. */
void pt_report_package_sums(const struct pt_report *report);
void pt_report_packages_json(const struct pt_report *report, struct pt_json *json);

/* Prints the hottest lines of the application. As JSON those of the function that has the hottest. */
void pt_report_lines(const struct pt_report *report);
void pt_report_lines_json(const struct pt_report *report, struct pt_json *json);
/* Returns the file of the hottest, as annotate takes it; NULL if there is none. */
const char *pt_report_hot_file(const struct pt_report *report);

/* CPU time of processes and threads, where there are several. As JSON with the functions of each, where the options ask
 * for that. */
void pt_report_threads(const struct pt_report *report);
void pt_report_threads_json(const struct pt_report *report, bool threads, struct pt_json *json);

/* Prints the tables of functions for each process or thread, most CPU time first. */
void pt_report_split(const struct pt_report *report, bool threads);

/* Returns how much of the kernel's figure is accounted for, in per cent. */
double pt_report_accounted(const struct pt_report *report);
/* Appends how much ran while sampling was paused; nothing if that is none. */
void pt_report_append_paused(struct pt_buffer *text, const struct pt_report *report);
/* Calls each with every warning, a sentence without a full stop. */
void pt_report_warnings(const struct pt_report *report, void (*each)(void *data, const char *text), void *data);
/* Prints how much of the kernel's figure is accounted for, where the rest went if it is not all of it, and warnings. */
void pt_report_accounting(const struct pt_report *report);

#endif
