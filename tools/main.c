#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

#define PATHS_HELP                                                                                                     \
    "PATH is a profile (*.pyprof) or a directory with some; without one it is PYPROF_OUT or ./" PP_DEFAULT_DIRECTORY   \
    ".\nOf a directory the latest run is taken: one launch and all its descendants."

static const struct pp_verb verbs[] = {
    {"run", "[OPTIONS] [--] COMMAND [ARGUMENT...]", "Runs a command and profiles every Python process of it",
     PP_OPTION_DIRECTORY | PP_OPTION_HZ,
     "The command keeps its pid, its signals and its exit status; 127 means that it was not found.", true, pp_cmd_run},
    {"report", "[OPTIONS] [PATH...]", "Says in text where the CPU time went",
     PP_OPTION_TOP | PP_OPTION_LINES | PP_OPTION_THREADS | PP_OPTION_PROCESSES | PP_OPTIONS_RUNS | PP_OPTIONS_SELECT,
     PATHS_HELP, false, pp_cmd_report},
    {"info", "[OPTIONS] [PATH...]", "Lists processes, what became of their CPU time, and what profiling cost",
     PP_OPTION_JSON | PP_OPTIONS_RUNS, PATHS_HELP, false, pp_cmd_info},
    {"flame", "[OPTIONS] [PATH...] | --diff BASE NEW", "Draws a flame graph: a page for the browser",
     PP_OPTION_PAGE | PP_OPTION_LINES | PP_OPTION_DIFF | PP_OPTIONS_RUNS | PP_OPTIONS_SELECT,
     "The page is one file that needs no network: search, filters by process, thread and time, a table of functions.\n"
     "With --diff its colours say what NEW spends more and less on than BASE, as shares of the CPU "
     "time.\n\n" PATHS_HELP,
     false, pp_cmd_flame},
    {"export", "-o FILE | --format NAME [OPTIONS] [PATH...]", "Writes a profile for other tools",
     PP_OPTION_OUTPUT | PP_OPTION_FORMAT | PP_OPTION_UNIT | PP_OPTION_LINES | PP_OPTION_THREADS | PP_OPTION_PROCESSES |
         PP_OPTION_GIL | PP_OPTIONS_RUNS | PP_OPTIONS_SELECT,
     "Formats, by extension or --format:\n"
     "  collapsed   .collapsed .folded .txt   flamegraph.pl, speedscope, inferno\n"
     "  pprof       .pb.gz .pprof             go tool pprof, Pyroscope, Parca; lines, threads, processes and\n"
     "                                        GIL are always in it\n"
     "  speedscope  .speedscope.json          speedscope.app\n"
     "  firefox     .firefox.json             profiler.firefox.com; when it ran is in it\n"
     "  pstats      .pstats .prof             Python's pstats, snakeviz, gprof2dot; \"ncalls\" are samples\n"
     "  callgrind   .callgrind                kcachegrind, callgrind_annotate\n"
     "  perf        .perf                     what reads the output of perf script\n"
     "  otlp        .otlp                     OpenTelemetry: ProfilesData, profiles/v1development\n\n" PATHS_HELP,
     false, pp_cmd_export},
    {"runs", "[OPTIONS] [PATH...]", "Lists the runs of a directory, the newest first", PP_OPTION_JSON,
     "PATH is a profile or a directory with some; without one it is PYPROF_OUT or ./" PP_DEFAULT_DIRECTORY
     ".\nOther verbs take an id, or its beginning, with --run.",
     false, pp_cmd_runs},
    {"diff", "[OPTIONS] [A [B]]", "Compares two profiles: what B spends more and less on than A",
     PP_OPTION_OUTPUT | PP_OPTION_DIFF_FORMAT | PP_OPTION_JSON | PP_OPTION_BY | PP_OPTION_TOP | PP_OPTION_LINES |
         PP_OPTION_ALL | PP_OPTIONS_SELECT,
     "A and B are profiles, directories, or ids of runs in PYPROF_OUT or ./" PP_DEFAULT_DIRECTORY
     ".\nWithout B the latest run there is compared with A; without both, with the one before it.",
     false, pp_cmd_diff},
    {"annotate", "[OPTIONS] FILE.py [PATH...]", "Prints a source file with the CPU time of its lines beside them",
     PP_OPTIONS_RUNS | PP_OPTIONS_SELECT,
     "FILE.py is the end of a path as the profile has it: app.py, json/decoder.py, /srv/app/app.py.\n" PATHS_HELP,
     false, pp_cmd_annotate},
    {"merge", "-o FILE [OPTIONS] [PATH...]", "Makes one file of the profiles of many processes",
     PP_OPTION_MERGED | PP_OPTIONS_RUNS,
     "Nothing is lost: FILE is read like the files that went into it, which `cat` could have put together as "
     "well.\n\n" PATHS_HELP,
     false, pp_cmd_merge},
};
#define VERBS (sizeof verbs / sizeof verbs[0])

static void print_help(void)
{
    puts("Usage: pyprof VERB [OPTIONS] [ARGUMENTS]\n"
         "Where the CPU time of a Python program goes: Python and native code, every thread, every process.\n");
    for (size_t i = 0; i < VERBS; i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
    puts("\n'pyprof VERB --help' says more about one. To begin:\n"
         "  pyprof run -- python app.py\n"
         "  pyprof report");
}

/* Output to a full disk or a closed pipe must not look like success. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        pp_error("cannot write to stdout: %s", strerror(errno));
    return status ? status : PP_EXIT_DATA;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        pp_error("say what to do: 'pyprof --help' lists the verbs");
        return PP_EXIT_USAGE;
    }
    bool help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (help && argc < 3) {
        print_help();
        return finish(PP_EXIT_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("pyprof " PYPROF_VERSION);
        return finish(PP_EXIT_OK);
    }
    if (help)
        name = argv[2];
    for (size_t i = 0; i < VERBS; i++) {
        struct pp_cli cli;
        int status;
        if (strcmp(name, verbs[i].name) != 0)
            continue;
        if (help) {
            pp_cli_help(&verbs[i]);
            return finish(PP_EXIT_OK);
        }
        if (!pp_cli_parse(&verbs[i], argc - 1, argv + 1, &cli, &status))
            return finish(status);
        return finish(verbs[i].main(&cli));
    }
    pp_error("no such verb '%s': 'pyprof --help' lists them", name);
    return PP_EXIT_USAGE;
}
