/* The command line, as all verbs see it. */
#ifndef PP_TOOLS_CLI_H
#define PP_TOOLS_CLI_H

#include <stdbool.h>
#include <stdint.h>

#ifndef PYPROF_VERSION
#ifdef PP_VERSION
#define PYPROF_VERSION PP_VERSION
#else
#define PYPROF_VERSION "0.1.0"
#endif
#endif

#define PP_DEFAULT_DIRECTORY "pyprof.out"

enum pp_exit {
    PP_EXIT_OK = 0,
    PP_EXIT_DATA = 1,
    PP_EXIT_USAGE = 2,
    PP_EXIT_CANNOT_RUN = 126,
    PP_EXIT_NO_COMMAND = 127
};

struct pp_cli {
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

/* Options that a verb can take: the bits of pp_verb.options. */
enum pp_option {
    PP_OPTION_OUTPUT = 1 << 0,
    PP_OPTION_FORMAT = 1 << 1,
    PP_OPTION_UNIT = 1 << 2,
    PP_OPTION_JSON = 1 << 3,
    PP_OPTION_TOP = 1 << 4,
    PP_OPTION_LINES = 1 << 5,
    PP_OPTION_THREADS = 1 << 6,
    PP_OPTION_PROCESSES = 1 << 7,
    PP_OPTION_RUN = 1 << 8,
    PP_OPTION_ALL = 1 << 9,
    PP_OPTION_HZ = 1 << 10,
    PP_OPTION_DIRECTORY = 1 << 11, /* -o of `run` */
    PP_OPTION_GIL = 1 << 12,
    PP_OPTION_FROM = 1 << 13,
    PP_OPTION_TO = 1 << 14,
    PP_OPTION_PID = 1 << 15,
    PP_OPTION_THREAD = 1 << 16,
    PP_OPTION_FOCUS = 1 << 17,
    PP_OPTION_IGNORE = 1 << 18,
    PP_OPTION_NO_NATIVE = 1 << 19,
    PP_OPTION_PAGE = 1 << 20, /* -o of `flame` */
    PP_OPTION_DIFF = 1 << 21,
    PP_OPTION_BY = 1 << 22,
    PP_OPTION_MERGED = 1 << 23,      /* -o of `merge` */
    PP_OPTION_DIFF_FORMAT = 1 << 24, /* -f of `diff` */
    PP_OPTION_DELAY = 1 << 25,
    PP_OPTION_COUNT = 1 << 26,
    PP_OPTION_INTERVALS = 1 << 27,
};

/* Which files are read, and which samples of them are looked at (profile/select.h): for every verb that calls pp_load
 * and shows samples. */
#define PP_OPTIONS_RUNS (PP_OPTION_RUN | PP_OPTION_ALL)
#define PP_OPTIONS_SELECT                                                                                              \
    (PP_OPTION_FROM | PP_OPTION_TO | PP_OPTION_PID | PP_OPTION_THREAD | PP_OPTION_FOCUS | PP_OPTION_IGNORE |           \
     PP_OPTION_NO_NATIVE)

struct pp_verb {
    const char *name, *arguments, *summary;
    unsigned options; /* enum pp_option */
    const char *more; /* paragraphs of its help */
    bool command;     /* what follows the options is a command of its own */
    int (*main)(const struct pp_cli *cli);
    const char *examples; /* lines of shell */
    bool hidden;          /* not for people */
};

/* The one table that help, manual pages and completions come from. */
struct pp_option_row {
    enum pp_option option;
    char letter;
    const char *name, *argument, *help, *choices; /* choices: words with spaces between; NULL: anything */
};
extern const struct pp_option_row pp_options[];
extern const unsigned pp_option_count;

/* Reads the options of a verb, argv[0] being its name. False when the verb must not run: *status is the exit status
 * (help was asked for, or an error was printed). */
bool pp_cli_parse(const struct pp_verb *verb, int argc, char **argv, struct pp_cli *cli, int *status);

/* The paragraphs of its help; NULL when there are none. The caller frees. */
char *pp_verb_text(const struct pp_verb *verb);

/* Help of one verb, to stdout. */
void pp_cli_help(const struct pp_verb *verb);

/* One line on stderr, "pyprof: " before it. */
void pp_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
