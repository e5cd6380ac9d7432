#include <stddef.h>

#include "commands.h"

#define PATHS_HELP                                                                                                     \
    "PATH is a profile (*.pyprof) or a directory with some; without one it is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY   \
    ".\nOf a directory the latest run is taken: one launch and all its descendants. Where all may write, --run or "    \
    "--all asks for runs of other users: of which no file is yours, root's or of the directory's owner."

const struct pt_command pt_commands[] = {
    {"run", "[OPTIONS] [--] COMMAND [ARGUMENT...]", "Runs a command and profiles every Python process of it",
     PT_OPTION_DIRECTORY | PT_OPTION_HZ,
     "It ends with one line: what was recorded, and what to type next. Signals go on to the command, and the exit "
     "status is the command's; 127 means that it was not found. Where the command has to keep the pid, set LD_PRELOAD "
     "instead: libpyprof(7).",
     true, pt_cmd_run,
     "pyprof run -- python app.py\n"
     "pyprof run -o /var/tmp/app.pyprof --hz 250 -- gunicorn -w 4 app:app",
     false},
    {"report", "[OPTIONS] [PATH...]", "Says in text where the CPU time went",
     PT_OPTION_TOP | PT_OPTION_LINES | PT_OPTION_THREADS | PT_OPTION_PROCESSES | PT_OPTION_JSON | PT_OPTIONS_RUNS |
         PT_OPTIONS_SELECT,
     "With --json: all functions (or --top of them), for each process and thread too with --processes and --threads.\n"
     "Times are nanoseconds of CPU; \"total\" is that of `pyprof info --json`.\n\n" PATHS_HELP,
     false, pt_cmd_report,
     "pyprof report\n"
     "pyprof report --json | jq '.python[:5]'\n"
     "pyprof report --threads --top 10 /var/tmp/app.pyprof\n"
     "pyprof report --from 10s --to 1m30s --focus 'json|orjson'",
     false},
    {"top", "[OPTIONS] [PID | PATH...]", "Shows live where the CPU time goes, while the program runs",
     PT_OPTION_DELAY | PT_OPTION_COUNT | PT_OPTION_TOP | PT_OPTION_PID | PT_OPTION_NO_NATIVE | PT_OPTIONS_RUNS,
     "The screen is about the last 10 seconds, all processes together; key h lists the keys: sort, filter by regular "
     "expression, processes, threads, since the start. It reads what the processes write each second, and does not "
     "touch them. With --count it prints text instead, for pipes and scripts; --top rows of it.\n\n"
     "PID is a process that runs under libpyprof: it and all that descends from it, wherever they write. A file "
     "whose name is a number is ./NUMBER.\n"
     "PATH is a profile (*.pyprof) or a directory with some; without one it is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nOf a directory the latest run is shown, and the next one when it has ended; what is not there yet is waited "
     "for.",
     false, pt_cmd_top,
     "pyprof top\n"
     "pyprof top 4711\n"
     "pyprof top /var/tmp/app.pyprof\n"
     "pyprof top --count 1 --no-native | head",
     false},
    {"info", "[OPTIONS] [PATH...]", "Lists processes, what became of their CPU time, and what profiling cost",
     PT_OPTION_JSON | PT_OPTION_INTERVALS | PT_OPTIONS_RUNS, PATHS_HELP, false, pt_cmd_info,
     "pyprof info\n"
     "pyprof info --intervals\n"
     "pyprof info --json | jq .total",
     false},
    {"flame", "[OPTIONS] [PATH...] | --diff BASE NEW", "Draws a flame graph: a page for the browser",
     PT_OPTION_PAGE | PT_OPTION_LINES | PT_OPTION_DIFF | PT_OPTION_BY | PT_OPTIONS_RUNS | PT_OPTIONS_SELECT,
     "The page is one file that needs no network: search, filters by process, thread and time, a table of functions. "
     "Of a very large profile it tells time and threads apart from each other, and says so: a small part of it, as by "
     "--pid "
     "or --from and --to, has both.\n"
     "With --diff its colours say what NEW spends more and less on than BASE, as shares of the CPU "
     "time or, with --by time, as CPU per second of run.\n\n" PATHS_HELP,
     false, pt_cmd_flame,
     "pyprof flame -o app.html\n"
     "pyprof flame --diff yesterday.pyprof pyprof.out",
     false},
    {"export", "-o FILE | --format NAME [OPTIONS] [PATH...]", "Writes a profile for other tools",
     PT_OPTION_OUTPUT | PT_OPTION_FORMAT | PT_OPTION_UNIT | PT_OPTION_LINES | PT_OPTION_THREADS | PT_OPTION_PROCESSES |
         PT_OPTION_GIL | PT_OPTIONS_RUNS | PT_OPTIONS_SELECT,
     PATHS_HELP, false, pt_cmd_export,
     "pyprof export -o app.pb.gz && go tool pprof -top app.pb.gz\n"
     "pyprof export -o app.speedscope.json --no-native\n"
     "pyprof export --format collapsed --pid 4711 | flamegraph.pl > app.svg",
     false},
    {"runs", "[OPTIONS] [PATH...]", "Lists the runs of a directory, the newest first", PT_OPTION_JSON | PT_OPTION_ALL,
     "PATH is a profile or a directory with some; without one it is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nOther verbs take an id, or its beginning, with --run. Where all may write, --all lists runs of other users, "
     "too: "
     "of which no file is yours, root's or of the directory's owner.",
     false, pt_cmd_runs,
     "pyprof runs\n"
     "pyprof report --run \"$(pyprof runs | awk 'NR == 3 { print $1 }')\"",
     false},
    {"diff", "[OPTIONS] [A [B]]", "Compares two profiles: what B spends more and less on than A",
     PT_OPTION_OUTPUT | PT_OPTION_DIFF_FORMAT | PT_OPTION_JSON | PT_OPTION_BY | PT_OPTION_TOP | PT_OPTION_LINES |
         PT_OPTION_ALL | PT_OPTIONS_SELECT,
     "A and B are profiles, directories, or ids of runs in PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nWithout B the latest run there is compared with A; without both, with the one before it.\n"
     "Extensions of FILE: .html, .json, .collapsed and .folded; all others are text.",
     false, pt_cmd_diff,
     "pyprof diff\n"
     "pyprof diff -o diff.html yesterday.pyprof pyprof.out\n"
     "pyprof diff --by time yesterday.pyprof pyprof.out\n"
     "pyprof diff --format collapsed A B | flamegraph.pl > diff.svg",
     false},
    {"annotate", "[OPTIONS] FILE.py [PATH...]", "Prints a source file with the CPU time of its lines beside them",
     PT_OPTIONS_RUNS | PT_OPTIONS_SELECT,
     "FILE.py is the end of a path as the profile has it: app.py, json/decoder.py, /srv/app/app.py.\n" PATHS_HELP,
     false, pt_cmd_annotate,
     "pyprof annotate app.py\n"
     "pyprof annotate json/decoder.py --thread MainThread /var/tmp/app.pyprof",
     false},
    {"merge", "-o FILE [OPTIONS] [PATH...]", "Makes one file of the profiles of many processes",
     PT_OPTION_MERGED | PT_OPTIONS_RUNS,
     "Nothing is lost: FILE is read like the files that went into it, which `cat` could have put together as "
     "well.\n\n" PATHS_HELP,
     false, pt_cmd_merge,
     "pyprof merge -o today.pyprof /var/tmp/app.pyprof\n"
     "pyprof merge -o - --all | zstd > everything.pyprof.zst",
     false},
    {"doctor", "[OPTIONS] [PID | -- COMMAND [ARGUMENT...]]",
     "Says whether profiling works, and if not, why and what to do", PT_OPTION_JSON,
     "Of a running process: whether the library is loaded, its timers armed, its profile growing, also in its "
     "children.\n"
     "Of a command: whether it could be profiled; it is not run. Without both: of what is started from here, and the "
     "latest run in PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nThe exit status is 0 if sampling works or would, 1 if not.",
     false, pt_cmd_doctor,
     "pyprof doctor\n"
     "pyprof doctor 4711\n"
     "pyprof doctor -- gunicorn -w 4 app:app",
     false},
    {"completion", "bash | zsh | fish", "Prints a script that completes pyprof's command line in a shell", 0,
     "`make install` puts the scripts where the shells look for them.", false, pt_cmd_completion,
     "source <(pyprof completion bash)\n"
     "pyprof completion fish > ~/.config/fish/completions/pyprof.fish",
     false},
    {"manpage", "[VERB]", "Prints the manual page of a verb, or of pyprof, in roff", 0, NULL, false, pt_cmd_manpage,
     NULL, true},
};
const unsigned pt_command_count = sizeof pt_commands / sizeof pt_commands[0];
