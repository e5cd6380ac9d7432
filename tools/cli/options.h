/* The command line, as all commands see it. */
#ifndef PT_CLI_OPTIONS_H
#define PT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../preload/common/settings.h"
#include "../base/print.h"
#include "../profile/request.h"

enum pt_exit {
    PT_EXIT_OK = 0,
    PT_EXIT_DATA = 1,
    PT_EXIT_USAGE = 2,
    PT_EXIT_CANNOT_RUN = 126,
    PT_EXIT_NO_COMMAND = 127
};

struct pt_cli {
    bool all, intervals, lines, threads, processes, gil, json, no_native, diff;
    const char *run, *output, *format, *unit;  /* NULL: not given */
    const char *pid, *thread, *focus, *ignore; /* NULL: not given */
    const char *by;                            /* of `diff`; NULL: not given */
    uint64_t from_ns, to_ns;                   /* since the run's start; to_ns UINT64_MAX: not given */
    uint64_t delay_ns;                         /* 0: not given */
    uint32_t top;                              /* 0: not given */
    uint32_t count;                            /* of screens; 0: not given */
    uint32_t hz;                               /* 0: not given */
    char **arguments;                          /* what is no option, NULL at the end */
    int argument_count;
    bool after_dashes; /* they follow "--" */
};

/* What an option's argument must be, and the type of its field. */
enum pt_value {
    PT_FLAG,   /* there is none: bool */
    PT_TEXT,   /* const char *, as are the next three */
    PT_RUN_ID, /* or its beginning */
    PT_PIDS,   /* commas between several */
    PT_REGEX,
    PT_HZ,       /* uint32_t */
    PT_NUMBER,   /* uint32_t */
    PT_TIME,     /* nanoseconds: uint64_t */
    PT_DURATION, /* not 0: uint64_t */
};

struct pt_option {
    char letter;                 /* 0: none */
    const char *name, *argument; /* argument: its name in the help; NULL: none */
    enum pt_value value;
    size_t field;        /* of struct pt_cli */
    const char *choices; /* words that the argument is one of; NULL: any */
    const char *help;
};

/* Help, manual pages and completions are made of this. */
struct pt_command {
    const char *name;
    int (*main)(const struct pt_cli *cli);
    const char *arguments, *summary;
    const struct pt_option *const *options; /* NULL at the end */
    const char *more;                       /* paragraphs of its help; NULL: none */
    const char *examples;                   /* lines of shell; NULL: none */
    bool runs_command;                      /* what follows the options is a command line */
    bool hidden;                            /* not for people */
    void (*table)(struct pt_buffer *text);  /* adds the table that its help begins with; NULL: none */
};

/* Reads the options of a command, argv[0] being its name. False when the command must not run: *status is the exit
 * status (help was asked for, or an error was printed). */
bool pt_cli_parse(const struct pt_command *command, int argc, char **argv, struct pt_cli *cli, int *status);

/* The paragraphs of its help; NULL when there are none. The caller frees. */
char *pt_command_text(const struct pt_command *command);

/* Help of one command, to stdout. */
void pt_cli_help(const struct pt_command *command);

#endif
