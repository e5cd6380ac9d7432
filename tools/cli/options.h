/* The command line, as all verbs see it. */
#ifndef PT_TOOLS_CLI_H
#define PT_TOOLS_CLI_H

#include <stdbool.h>
#include <stdint.h>

#define PT_DEFAULT_DIRECTORY "pyprof.out"

enum pt_exit {
    PT_EXIT_OK = 0,
    PT_EXIT_DATA = 1,
    PT_EXIT_USAGE = 2,
    PT_EXIT_CANNOT_RUN = 126,
    PT_EXIT_NO_COMMAND = 127
};

struct pt_cli {
    bool all, intervals, lines, threads, processes, gil, json, no_native, diff;
    bool keep_intervals;                       /* no option: set by verbs that ask the profile for time */
    bool no_names;                             /* no option: set by verbs that show no functions */
    bool stacks_only;                          /* no option: set by verbs that do not ask which thread had a stack */
    bool plain;                                /* no option: set by verbs that show neither labels nor the GIL */
    bool merge_intervals;                      /* no option: as the next one, which is of profiles with intervals: */
    uint32_t most_samples;                     /* see profile/model.h */
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
    bool after_dashes; /* they stand behind "--" */
};

/* Options that a verb can take: the bits of pt_command.options. */
enum pt_option {
    PT_OPTION_OUTPUT = 1 << 0,
    PT_OPTION_FORMAT = 1 << 1,
    PT_OPTION_UNIT = 1 << 2,
    PT_OPTION_JSON = 1 << 3,
    PT_OPTION_TOP = 1 << 4,
    PT_OPTION_LINES = 1 << 5,
    PT_OPTION_THREADS = 1 << 6,
    PT_OPTION_PROCESSES = 1 << 7,
    PT_OPTION_RUN = 1 << 8,
    PT_OPTION_ALL = 1 << 9,
    PT_OPTION_HZ = 1 << 10,
    PT_OPTION_DIRECTORY = 1 << 11, /* -o of `run` */
    PT_OPTION_GIL = 1 << 12,
    PT_OPTION_FROM = 1 << 13,
    PT_OPTION_TO = 1 << 14,
    PT_OPTION_PID = 1 << 15,
    PT_OPTION_THREAD = 1 << 16,
    PT_OPTION_FOCUS = 1 << 17,
    PT_OPTION_IGNORE = 1 << 18,
    PT_OPTION_NO_NATIVE = 1 << 19,
    PT_OPTION_PAGE = 1 << 20, /* -o of `flame` */
    PT_OPTION_DIFF = 1 << 21,
    PT_OPTION_BY = 1 << 22,
    PT_OPTION_MERGED = 1 << 23,      /* -o of `merge` */
    PT_OPTION_DIFF_FORMAT = 1 << 24, /* -f of `diff` */
    PT_OPTION_DELAY = 1 << 25,
    PT_OPTION_COUNT = 1 << 26,
    PT_OPTION_INTERVALS = 1 << 27,
};

/* Which files are read, and which samples of them are looked at (profile/select.h): for every verb that calls pt_load
 * and shows samples. */
#define PT_OPTIONS_RUNS (PT_OPTION_RUN | PT_OPTION_ALL)
#define PT_OPTIONS_SELECT                                                                                              \
    (PT_OPTION_FROM | PT_OPTION_TO | PT_OPTION_PID | PT_OPTION_THREAD | PT_OPTION_FOCUS | PT_OPTION_IGNORE |           \
     PT_OPTION_NO_NATIVE)

struct pt_command {
    const char *name, *arguments, *summary;
    unsigned options; /* enum pt_option */
    const char *more; /* paragraphs of its help */
    bool command;     /* what follows the options is a command of its own */
    int (*main)(const struct pt_cli *cli);
    const char *examples; /* lines of shell */
    bool hidden;          /* not for people */
};

/* The one table that help, manual pages and completions come from. */
struct pt_option_row {
    enum pt_option option;
    char letter;
    const char *name, *argument, *help, *choices; /* choices: words with spaces between; NULL: anything */
};
extern const struct pt_option_row pt_options[];
extern const unsigned pt_option_count;

/* Reads the options of a verb, argv[0] being its name. False when the verb must not run: *status is the exit status
 * (help was asked for, or an error was printed). */
bool pt_cli_parse(const struct pt_command *verb, int argc, char **argv, struct pt_cli *cli, int *status);

/* The paragraphs of its help; NULL when there are none. The caller frees. */
char *pt_command_text(const struct pt_command *verb);

/* Help of one verb, to stdout. */
void pt_cli_help(const struct pt_command *verb);

/* One line on stderr, "pyprof: " before it. */
void pt_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
