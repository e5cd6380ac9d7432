/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the commands, and parses the command line of each into struct pt_cli. */
#ifndef PT_CLI_OPTIONS_H
#define PT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/print.h"
#include "../model/request.h"

enum pt_exit {
    PT_EXIT_OK = 0,
    PT_EXIT_DATA = 1,
    PT_EXIT_USAGE = 2,
    PT_EXIT_CANNOT_RUN = 126,
    PT_EXIT_NO_COMMAND = 127
};

/* A word of --sort: what an endpoint uses for a request. */
#define PT_SORT_REQUEST "cpu-per-request"

struct pt_command_table;

struct pt_cli {
    const struct pt_command_table *commands; /* all that there are; set by main */
    struct pt_load_request request; /* the paths, runs and samples to read; commands copy it and set what to keep */
    bool intervals, lines, threads, processes, gil, json, ci, traces, full, no_pager;
    const char *output, *format, *unit, *by, *sort, *native, *callers, *callees; /* NULL: not given */
    const char *push_to, *service, *headers;                                     /* of push; the first also of run */
    bool once, labels, status, with_parent;                                      /* likewise */
    uint64_t window_ns;
    const char *listen, *token_file;
    uint64_t delay_ns, duration_ns;  /* 0: not given, as of the next ones */
    double fail_above;               /* per cent */
    uint32_t top, count, hz, repeat; /* rows of a table, number of screens, samples per second, runs; 0: not given */
    char **arguments;                /* the operands, NULL at the end; they point into argv */
    int argument_count;
    bool after_dashes; /* the operands follow "--" */
};

/* Says what an option's argument must be, and the type of its field in struct pt_cli. */
enum pt_value {
    PT_FLAG,   /* no argument: bool */
    PT_TEXT,   /* const char *, as are the next five */
    PT_RUN_ID, /* a run id or its beginning */
    PT_TRACE,  /* a trace id or its beginning */
    PT_PIDS,   /* pids with commas between them */
    PT_REGEX,
    PT_REGEX_OR_LABEL, /* KEY=VALUE need be no regular expression */
    PT_BY,             /* what is compared, or whose CPU it was: struct pt_cli's `by` or the request's */
    PT_HZ,             /* uint32_t */
    PT_PERCENT,        /* double, not 0 */
    PT_NUMBER,         /* uint32_t */
    PT_WHEN,           /* struct pt_when */
    PT_LAST,           /* struct pt_when: so long before the end */
    PT_DURATION,       /* uint64_t, nanoseconds, not 0 */
};

struct pt_option {
    char letter;                 /* 0: none */
    const char *name, *argument; /* argument: its name in the help; NULL: none */
    enum pt_value value;
    size_t field;        /* offset in struct pt_cli */
    const char *choices; /* the words that are allowed, with blanks between them; NULL: any text. Of "label:KEY" the
                          * part after ':' is any */
    const char *help;
};

/* Describes a command; help, manual pages and completions are generated from it. */
struct pt_command {
    const char *name;
    int (*main)(const struct pt_cli *cli);
    const char *arguments, *summary;
    const struct pt_option *const *options; /* NULL at the end */
    const char *more;                       /* further paragraphs of the help; NULL: none */
    const char *examples;                   /* lines of shell; NULL: none */
    const char *words;                      /* that the first operand may be, with blanks between them; NULL: none */
    bool runs_command;                      /* the operands are a command line with options of its own */
    bool hidden;                            /* left out of help, manual pages and completions */
    void (*table)(struct pt_buffer *text);  /* appends a table, which the help shows before `more`; NULL: none */
};

struct pt_command_table {
    const struct pt_command *items;
    unsigned count;
};

/* Returns the command of this name, NULL when there is none. */
const struct pt_command *pt_command_named(const struct pt_command_table *commands, const char *name);

/* Parses the options of a command into *cli; argv[0] is the command's name. Returns false when the command must not
 * run, because help or an error was printed: then *status is the exit status. */
bool pt_cli_parse(const struct pt_command *command, int argc, char **argv, struct pt_cli *cli, int *status);

/* Returns the table and the paragraphs of the command's help; NULL when there are none. The caller frees. */
char *pt_command_text(const struct pt_command *command);

/* Prints the command's help to stdout. */
void pt_cli_help(const struct pt_command *command);

/* The commands. Each returns its exit status (enum pt_exit). */
int pt_cmd_run(const struct pt_cli *cli);
int pt_cmd_report(const struct pt_cli *cli);
int pt_cmd_top(const struct pt_cli *cli);
int pt_cmd_info(const struct pt_cli *cli);
int pt_cmd_flame(const struct pt_cli *cli);
int pt_cmd_export(const struct pt_cli *cli);
int pt_cmd_runs(const struct pt_cli *cli);
int pt_cmd_diff(const struct pt_cli *cli);
int pt_cmd_annotate(const struct pt_cli *cli);
int pt_cmd_merge(const struct pt_cli *cli);
int pt_cmd_push(const struct pt_cli *cli);
int pt_cmd_ctl(const struct pt_cli *cli);
int pt_cmd_compact(const struct pt_cli *cli);
int pt_cmd_serve(const struct pt_cli *cli);
int pt_cmd_doctor(const struct pt_cli *cli);
int pt_cmd_library(const struct pt_cli *cli);
int pt_cmd_completion(const struct pt_cli *cli);
int pt_cmd_complete(const struct pt_cli *cli);
int pt_cmd_manpage(const struct pt_cli *cli);
int pt_cmd_debug_log(const struct pt_cli *cli);

/* All of them. Only main uses it: it hands the table in. */
extern const struct pt_command_table pt_commands;

/* Says that the first of these words is not a command, and what may have been meant. */
void pt_unknown_command(const struct pt_command_table *commands, char *const *words);

#endif
