/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "export/export.h"
#include "query/group.h"

#define OPTION(letter, name, argument, value, field, choices, help)                                                    \
    {                                                                                                                  \
        letter, name, argument, value, offsetof(struct pt_cli, field), choices, help                                   \
    }
#define FLAG(letter, name, field, help) OPTION(letter, name, NULL, PT_FLAG, field, NULL, help)
#define WORD(name, ...)                 name " "

static const struct pt_option
    all = FLAG('a', "all", request.all, "all runs of a directory, merged"),
    by = OPTION(0, "by", "WHAT", PT_BY, by, "function " PT_GROUPS_AND_TRACES,
                "whose CPU it was, not only in which function (default): endpoint, task, test, greenlet, thread, span, "
                "trace, package, line (of the application, with what it calls elsewhere), or label:KEY for a label of "
                "the program"),
    by_on_page =
        OPTION(0, "by", "WHAT", PT_BY, by, "function " PT_GROUPS_ON_PAGE,
               "whose CPU it was, not only in which function (default): endpoint, task, test, greenlet, thread, "
               "span, trace, package, or label:KEY for a label of the program"),
    by_now =
        OPTION(0, "by", "WHAT", PT_BY, by, "function " PT_GROUPS,
               "whose CPU it was, not only in which function (default): endpoint, task, test, greenlet, thread, span, "
               "package, line, or label:KEY for a label of the program"),
    compare =
        OPTION(0, "by", "WHAT", PT_BY, by, "share cpu time " PT_GROUPS,
               "compare CPU of a run (cpu), CPU per second of run (time), or shares of the CPU (share); of functions, "
               "or of endpoint, task, test, greenlet, thread, span, package, line or label:KEY (default: as A and B "
               "are, below)"),
    callees = OPTION(0, "callees", "REGEX", PT_REGEX, callees, NULL,
                     "what the functions that match call, which have all of their CPU in sum, and themselves"),
    callers = OPTION(0, "callers", "REGEX", PT_REGEX, callers, NULL,
                     "what calls the functions that match: what of their CPU each caller has"),
    ci = FLAG(0, "ci", ci, "how sure shares are: the range that holds the true share in 95 of 100 runs"),
    count = OPTION('c', "count", "N", PT_NUMBER, count, NULL, "print N screens as plain text, and end"),
    delay = OPTION('d', "delay", "TIME", PT_DURATION, delay_ns, NULL, "time between two screens (default: 1s)"),
    diff_format = OPTION('f', "format", "NAME", PT_TEXT, format, "text json html collapsed",
                         "text (default), json, html (a flame graph), or collapsed (stacks with both weights)"),
    directory = OPTION('o', "output", "DIR", PT_TEXT, output, NULL,
                       "directory for the profile (default: " PT_DEFAULT_DIRECTORY ")"),
    fail_above = OPTION(0, "fail-above", "PCT", PT_PERCENT, fail_above, NULL,
                        "end with status 1 if something is slower in B by more than this part of A's CPU, below"),
    duration = OPTION(0, "for", "TIME", PT_DURATION, duration_ns, NULL,
                      "pause or resume for this long, then the contrary: 30s, 5m"),
    focus = OPTION(0, "focus", "REGEX", PT_REGEX_OR_LABEL, request.select.focus, NULL,
                   "only stacks with a frame that matches, or of a context that does: 'endpoint=/cart', 'task=.*poll'; "
                   "'endpoint=(none)': of none"),
    fold_recursion = FLAG(0, "fold-recursion", request.select.fold_recursion,
                          "recursion is in a stack once: f, not f;f;f; totals stay what they are"),
    format = OPTION('f', "format", "NAME", PT_TEXT, format, PT_FORMATS(WORD),
                    "the format, below; to stdout unless -o is given"),
    from = OPTION(0, "from", "TIME", PT_WHEN, request.select.from, NULL,
                  "only what ran from this time on, of the run: 90, 1m30s, 250ms; -5m: before its end, or before "
                  "now while it runs; ready: what each process ran from its first request, job or test on, or where "
                  "it has none, its first code outside of imports: from the log's interval on, of a second mostly, and "
                  "without its imports; of day: 14:05, 14:05:30; of a date: 2026-11-27, '2026-11-27 14:05', "
                  "2026-11-27T14:05:00Z, yesterday"),
    full = FLAG(0, "full", full, "all tables, instead of the answer on one screen"),
    gil = FLAG('g', "gil", gil, "tell CPU time with the GIL apart from that without it"),
    headers = OPTION(0, "headers", "FILE", PT_TEXT, headers, NULL,
                     "headers of each request, a line each: Authorization: Bearer TOKEN; the file is read each time"),
    hide = OPTION(0, "hide", "REGEX", PT_REGEX, request.select.hide, NULL,
                  "stacks without the frames that match, as 'starlette/' or '^_wrap': their CPU goes to what "
                  "calls them"),
    hz = OPTION(0, "hz", "N", PT_HZ, hz, NULL, "samples per second of CPU time (default: 100)"),
    ignore = OPTION(0, "ignore", "REGEX", PT_REGEX_OR_LABEL, request.select.ignore, NULL,
                    "only stacks without a frame or context that matches"),
    intervals = FLAG('i', "intervals", intervals, "second by second: CPU, cores busy, switches, page faults"),
    json = FLAG('j', "json", json, "JSON, for programs"),
    last = OPTION(0, "last", "TIME", PT_LAST, request.select.from, NULL,
                  "only the last 5m, 30s, 2h of it: short for --from -5m"),
    labels = FLAG(0, "labels", labels,
                  "tell endpoints and the program's own labels apart: each value is a series of the server"),
    listen = OPTION(0, "listen", "ADDR:PORT", PT_TEXT, listen, NULL,
                    "the address and port to listen on (default: 127.0.0.1:4040)"),
    lines = FLAG('l', "lines", lines, "tell lines apart, not only functions"),
    merged = OPTION('o', "output", "FILE", PT_TEXT, output, NULL, "file to write"),
    native = OPTION(0, "native", "WHAT", PT_TEXT, native, "none libraries all",
                    "native functions to show: those of extensions and libraries (libraries, default), none, or all, "
                    "with Python's own C code; the others count for the Python function that runs them"),
    join_pools = FLAG(0, "join-pools", request.select.join_pools,
                      "put the CPU of threads without Python (polars, OpenBLAS, OpenMP) under what the main thread "
                      "waited in meanwhile"),
    no_pager = FLAG(0, "no-pager", no_pager, "long output goes to the terminal itself, not through $PAGER"),
    no_awaiters = FLAG(0, "no-awaiters", request.select.no_awaiters,
                       "stacks without the tasks that await the one that ran (asyncio)"),
    not_thread = OPTION(0, "not-thread", "ID", PT_REGEX, request.select.not_thread, NULL,
                        "only threads without this id, or with a name that does not match"),
    once = FLAG(0, "once", once, "send what there is, and end"),
    output = OPTION('o', "output", "FILE", PT_TEXT, output, NULL,
                    "file to write, '-' for stdout; its extension chooses the format"),
    page = OPTION('o', "output", "FILE", PT_TEXT, output, NULL,
                  "page to write, or picture: .svg; '-' for stdout (default: pyprof.html)"),
    pid = OPTION(0, "pid", "PID", PT_PIDS, request.select.pid, NULL, "only these processes; commas between several"),
    processes = FLAG('p', "processes", processes, "tell processes apart"),
    repeat = OPTION(0, "repeat", "N", PT_NUMBER, repeat, NULL,
                    "run the command N times, one after the other: what runs differ by is known then"),
    push_to = OPTION(0, "push", "URL", PT_TEXT, push_to, NULL,
                     "send the profile to a server meanwhile, as 'pyprof push' does"),
    request_timeout =
        OPTION(0, "timeout", "TIME", PT_DURATION, duration_ns, NULL, "how long a request may take (default: 10s)"),
    run = OPTION('r', "run", "ID", PT_RUN_ID, request.run, NULL,
                 "the run with this id (or its beginning) instead of the latest"),
    thread = OPTION(0, "thread", "NAME", PT_REGEX, request.select.thread, NULL,
                    "only threads with this id, or with a name that matches this pattern"),
    status = FLAG(0, "status", status, "print what was sent from DIR, what was lost, and what pushes now"),
    threads = FLAG('t', "threads", threads, "tell threads apart"),
    to = OPTION(0, "to", "TIME", PT_WHEN, request.select.to, NULL,
                "only what ran before this time, as --from takes it; ready: only start-up"),
    rows = OPTION('n', "top", "N", PT_NUMBER, top, NULL, "rows of each table (default: 10)"),
    service = OPTION(0, "service", "NAME", PT_TEXT, service, NULL,
                     "name of the service, for all processes (default: OTEL_SERVICE_NAME, else the script's name)"),
    sort = OPTION(0, "sort", "WHAT", PT_TEXT, sort, "self total " PT_SORT_REQUEST,
                  "order of all tables: self or total time; cpu-per-request: that of endpoints, where requests are "
                  "counted"),
    target = OPTION(0, "to", "URL", PT_TEXT, push_to, NULL, "the server, below"),
    token_file = OPTION(0, "token-file", "FILE", PT_TEXT, token_file, NULL,
                        "answer only requests that have the token in this file, as Authorization: Bearer TOKEN"),
    top = OPTION('n', "top", "N", PT_NUMBER, top, NULL, "functions to list (default: 20)"),
    trace = OPTION(0, "trace", "ID", PT_TRACE, request.select.trace, NULL,
                   "only the trace with this id (or its beginning), of those that PYPROF_TRACES kept"),
    traces = FLAG(0, "traces", traces, "only the traces that PYPROF_TRACES kept, sample by sample"),
    unit = OPTION('u', "unit", "UNIT", PT_TEXT, unit, "ns samples",
                  "weight of a stack: ns (CPU time, default) or samples"),
    with_parent = FLAG(0, "with-parent", with_parent, "end, after the last window, when what started it is killed"),
    window = OPTION(0, "window", "TIME", PT_DURATION, window_ns, NULL, "length of a profile (default: 15s)");

#define OPTIONS(...) ((const struct pt_option *const[]){__VA_ARGS__, NULL})
#define NO_OPTIONS   ((const struct pt_option *const[]){NULL})
/* Which files are read, and which of their samples (query/select.h): of each command that loads and shows samples. */
#define RUNS   &run, &all
#define SELECT &from, &to, &last, &pid, &thread, &not_thread, &focus, &ignore, &hide, &native, &no_awaiters, &join_pools

#define PATHS_HELP                                                                                                     \
    "PATH is a profile (*.pyprof) or a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY    \
    ".\nOf a directory the latest run is taken: one launch and all its descendants. In a directory that all may "      \
    "write to, runs of other users (no file of theirs is yours, root's or the directory owner's) are taken only with " \
    "--run or --all."

#define COMMAND(command) .name = #command, .main = pt_cmd_##command

static const struct pt_command commands[] = {
    {COMMAND(run), "[OPTIONS] [--] COMMAND [ARGUMENT...]", "Runs a command and profiles all its Python processes",
     OPTIONS(&directory, &hz, &repeat, &push_to),
     "At the end one line says what was recorded and what to type next; on a terminal the report follows. Signals are "
     "passed on to the command, and the "
     "exit status is the command's; 127 means that it was not found. Where the command has to keep the pid, set "
     "LD_PRELOAD instead: libpyprof(7).\n\n"
     "--repeat is for short commands, and for diff: the runs are shown as one, with an interval for the CPU of a run, "
     "and "
     "their ids begin alike, so that --run takes all of them. They end with the first run that fails. Stdin is the "
     "first "
     "one's.\n\n"
     "Other settings are variables of the environment, which libpyprof(7) describes. PYPROF_CLOCK chooses what takes "
     "the samples: tick, the kernel's clock ticks; perf, perf events, which see work between two ticks too; or auto, "
     "perf events for threads that wait often (default). Perf events need the kernel's permission: 'pyprof doctor'. "
     "PYPROF_MAX_OVERHEAD (1 %) limits what samples cost, PYPROF_MAX_DISK (1G) what profiles take.",
     "pyprof run -- python app.py\n"
     "pyprof run -o /var/tmp/app.pyprof --hz 250 -- gunicorn -w 4 app:app\n"
     "pyprof run --repeat 5 -- python app.py\n"
     "PYPROF_CLOCK=perf pyprof run -- python app.py",
     .runs_command = true},
    {COMMAND(report), "[OPTIONS] [TABLE] [PATH...]", "Shows where the CPU time went, as text",
     OPTIONS(&full, &json, &rows, &sort, &by, &ci, &lines, &threads, &processes, &callers, &callees, RUNS, SELECT,
             &fold_recursion, &trace, &no_pager),
     "Without options and TABLE it answers on one screen, of a service by its endpoints, tasks or greenlets, of pytest "
     "by tests, of other "
     "programs by the application's own functions, those of native code beside them (Cython, C, C++, Rust) included: "
     "SELF+LIBRARIES is the CPU of a function with all that it calls "
     "outside "
     "of the application, and has all CPU in sum; TOTAL also what it calls in the application; [imports] are apart. "
     "The "
     "line below a row is the hottest of it, by the first of these measures, and the piece of that line which most is "
     "in "
     "is marked. --full has all tables, and TABLE one of them: own, functions, lines, native, imports, threads, "
     "packages, "
     "endpoints, tasks, tests, greenlets, spans.\n"
     "On a terminal long output goes through $PAGER, or less; with --no-pager, or where PAGER is cat or empty, it does "
     "not.\n\n"
     "MOST OF IT IN names, in the application's own table, what a function calls outside of it; in the others the "
     "application's function that most of a row's CPU is in, with what that calls outside of the application, after "
     "the "
     "function that led to it. What middleware calls, which is around several endpoints, counts for the package "
     "instead: \"in starlette\". A line like \"40 % of it awaited at app.py:34 in cart: task prices\" says "
     "of the two costliest "
     "endpoints that await something in which task, thread or coroutine most is, and which line awaits it.\n\n"
     "With --json: all functions (or --top of them), for each process and thread too with --processes and --threads.\n"
     "With --json --by: \"by\" has the CPU and the samples of each value, and of null, the rest; of endpoints also the "
     "requests, where they are counted, and \"awaited\", of each.\n"
     "Times are nanoseconds of CPU; \"total\" is that of `pyprof info --json`.\n\n"
     "--by endpoint, task, test, greenlet and span need a program that has them: Flask, Django, Starlette, FastAPI, "
     "aiohttp, "
     "Bottle, Quart, Litestar, Falcon, Pyramid, Sanic, Tornado or gRPC; asyncio or trio, or what runs jobs: Celery, "
     "RQ, "
     "Dramatiq, Huey, APScheduler, Prefect, cells of IPython, operations of Strawberry; pytest; gevent, eventlet or "
     "greenlet; "
     "OpenTelemetry, Sentry or ddtrace. To a task of asyncio counts "
     "also what it gave to a thread. More than 20 names of tasks, or greenlets, that differ in their numbers only are "
     "one row, \"audit-* (499 names)\", but for what takes a twentieth of their CPU or more; --json and the other "
     "commands have each.\n"
     "Requests are counted by the Python module libpyprof (its functions wsgi, asgi and request): CPU/REQ is the CPU "
     "of an endpoint, in all threads, divided by its requests, p50 and p99 what its own thread used for a request, of "
     "asgi in the request's own task.\n\n"
     "--by trace and --trace ID show samples of the traces that the program was started to keep: PYPROF_TRACES in "
     "libpyprof(7).\n\n" PATHS_HELP,
     "pyprof report\n"
     "pyprof report --full\n"
     "pyprof report lines /var/tmp/app.pyprof\n"
     "pyprof report imports\n"
     "pyprof report --callers 'dumps \\(json'\n"
     "pyprof report endpoints --sort cpu-per-request\n"
     "pyprof report --json | jq '.python[:5]'\n"
     "pyprof report --trace 4bf92f35\n"
     "pyprof report --threads --top 10 /var/tmp/app.pyprof\n"
     "pyprof report --from 10s --to 1m30s --focus 'json|orjson'",
     .words = "own functions lines native imports threads packages endpoints tasks tests greenlets spans"},
    {COMMAND(top), "[OPTIONS] [PID | PATH...]", "Shows live where the CPU time goes",
     OPTIONS(&delay, &count, &top, &by_now, RUNS, &pid, &native, &no_awaiters, &join_pools),
     "The screen shows the last 10 seconds of all processes together; key h lists the keys: sort, filter by regular "
     "expression, processes, threads, endpoints and the like, since the start. It reads what the processes write each "
     "second, and does not "
     "touch them. With --count it prints text instead, for pipes and scripts; --top limits its rows.\n\n"
     "PID is a process that runs under libpyprof: it and all its descendants are shown, wherever they write. A file "
     "whose name is a number is ./NUMBER.\n"
     "PATH is a profile (*.pyprof) or a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nOf a directory the latest run is shown, and the next one when it has ended. A PATH that does not exist yet is "
     "waited for.",
     "pyprof top\n"
     "pyprof top 4711\n"
     "pyprof top /var/tmp/app.pyprof\n"
     "pyprof top --by endpoint\n"
     "pyprof top --count 1 --native=none | head"},
    {COMMAND(info), "[OPTIONS] [PATH...]", "Lists processes, what became of their CPU time, and what profiling cost",
     OPTIONS(&json, &intervals, RUNS, &no_pager), PATHS_HELP,
     "pyprof info\n"
     "pyprof info --intervals\n"
     "pyprof info --json | jq .total"},
    {COMMAND(flame), "[OPTIONS] [PATH...]", "Draws a flame graph: a page for the browser, or a picture",
     OPTIONS(&page, &lines, RUNS, &by_on_page, SELECT, &fold_recursion, &trace),
     "The page is one file that needs no network: search, filters by process, thread and time, a table of functions. "
     "For a very large profile it shows times and threads apart from each other, and says so; a part of the profile, "
     "as by --pid or --from and --to, has both.\n"
     "It has the source lines of the hottest functions, as far as the source is here and is what ran. "
     "'pyprof diff -o FILE.html' makes a page that compares two profiles.\n"
     "Without --by the page first groups by endpoint, if there are any; it can group by all others, too. Its "
     "button 'Own code' leaves the application's functions and tasks: which endpoint, which task, which "
     "await.\n\n" PATHS_HELP,
     "pyprof flame -o app.html\n"
     "pyprof flame -o app.svg\n"
     "pyprof flame --by endpoint"},
    {COMMAND(export), "-o FILE | --format NAME [OPTIONS] [PATH...]", "Writes a profile for other tools",
     OPTIONS(&output, &format, &unit, &lines, &threads, &processes, &gil, &by, RUNS, SELECT, &fold_recursion, &trace,
             &traces),
     "With --by the first frame of each stack is the endpoint or task that it ran for. pprof and otlp have all of "
     "them as labels, too: go tool pprof -tagfocus endpoint=/cart.\n"
     "Traces that PYPROF_TRACES kept: otlp has their samples with time and link, and all else as without them. "
     "otel-logs has them as snapshot, and all CPU as continuous (not after PYPROF_TRACES=...,only); it can be posted "
     "to /v1/logs of an OpenTelemetry collector. --traces and --trace ID write nothing else, in any format; pprof "
     "then has labels trace_id, span_id and source.event.time (ms).\n"
     "Without --native pprof and firefox have all native functions, and pstats has none.\n"
     "The stacks hold the CPU time of the program: \"shown\" in the accounting that is in each file. \"own\" is what "
     "profiling cost beside it (the signal handlers and the library's thread) and is in no stack.\n\n" PATHS_HELP,
     "pyprof export -o app.pb.gz && go tool pprof -top app.pb.gz\n"
     "pyprof export -o app.speedscope.json --native=none\n"
     "pyprof export --traces -o t.pb.gz && go tool pprof -tags t.pb.gz\n"
     "pyprof export --format collapsed --pid 4711 | flamegraph.pl > app.svg",
     .table = pt_formats_table},
    {COMMAND(runs), "[OPTIONS] [PATH...]", "Lists the runs of a directory, the newest first", OPTIONS(&json, &all),
     "PATH is a profile or a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nOther commands take an id, or its beginning, with --run. In a directory that all may write to, files of "
     "other users than you, root and the directory's owner are left out; --all lists their runs, too.",
     "pyprof runs\n"
     "pyprof report --run \"$(pyprof runs | awk 'NR == 3 { print $1 }')\""},
    {COMMAND(diff), "[OPTIONS] [A [B]]", "Compares two profiles: what B spends more and less on than A",
     OPTIONS(&full, &output, &diff_format, &json, &top, &lines, &all, &compare, &fail_above, SELECT, &no_pager),
     "A and B are profiles, directories, or ids of runs in PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nWithout A and B the two latest runs there are compared; without B those of A, where A is a directory that "
     "has two, else A and the latest run there.\n"
     "Extensions of FILE: .html, .json, .collapsed and .folded; all others are text.\n\n"
     "The first line says whether B is faster or slower, by how much, and how sure that is. Of a service whose "
     "requests "
     "both sides have counted (see report) CPU per request is compared, of one that has not counted them shares of the "
     "CPU (in text those of endpoints, if both sides have any), and of other programs the CPU of a run: --by says "
     "otherwise. JSON has functions unless --by names something "
     "else.\n\n"
     "Marked with * is what changed by more than chance: what two profiles of the same program would show in one of "
     "20 comparisons at most, in any function, so few are the samples. Only these rows are listed, as many as fit a "
     "screen (--full: all, and files), unless --top is given. What differs from run to run for other reasons than "
     "sampling, as the load of the machine, one run of each does not tell: with several on both sides (run --repeat; "
     "or --all, all runs of two directories, at best made in turn) a change must also be larger than what runs differ "
     "by among themselves.\n\n"
     "Of requests the mean of what they took by their own clock is compared, too, where at least 30 on each side were "
     "measured. It is the surer the more requests there are, but equal runs are taken to differ by some 5 %, so that "
     "it marks no change below 13 %. More requests are no change, and what an endpoint uses more for each is one.\n\n"
     "--fail-above 3% judges each function (self and total) and each file or endpoint and, of CPU and time, also the "
     "CPU of all, if A and B have several runs. What is marked, and uses more CPU in B than in A by more than 3 % of "
     "A's CPU, is slower. The exit status is 0 if nothing is slower, 1 if something is, and 2 if there was nothing to "
     "compare, or the CPU of all grew so much in one run each.",
     "pyprof diff\n"
     "pyprof diff -o diff.html yesterday.pyprof pyprof.out\n"
     "pyprof diff --by endpoint --by cpu yesterday.pyprof pyprof.out\n"
     "pyprof diff --by time yesterday.pyprof pyprof.out\n"
     "pyprof diff --all --fail-above 3% base.pyprof new.pyprof\n"
     "pyprof diff --format collapsed A B | flamegraph.pl > diff.svg"},
    {COMMAND(annotate), "[OPTIONS] FILE [PATH...]", "Prints a source file with the CPU time of its lines",
     OPTIONS(&ci, RUNS, SELECT, &trace, &no_pager),
     "FILE is the end of a path as the profile has it: app.py, json/decoder.py, /srv/app/app.py; or the source of "
     "native code (fast.pyx, fast.c, src/lib.rs), whose library has debug information (-g) here or at debuginfod's "
     "servers. That of the interpreter itself needs --native=all. Of what Cython has made the lines are those of its "
     "source, where the C file is still there.\n" PATHS_HELP,
     "pyprof annotate app.py\n"
     "pyprof annotate fast.pyx\n"
     "pyprof annotate app.py --focus endpoint=/cart\n"
     "pyprof annotate json/decoder.py --thread MainThread /var/tmp/app.pyprof"},
    {COMMAND(merge), "-o FILE [OPTIONS] [PATH...]", "Makes one file of the profiles of many processes",
     OPTIONS(&merged, RUNS),
     "Nothing is lost: FILE is read like the files that went into it, which `cat` could have put together as "
     "well.\n\n" PATHS_HELP,
     "pyprof merge -o today.pyprof /var/tmp/app.pyprof\n"
     "pyprof merge -o - --all | zstd > everything.pyprof.zst"},
    {COMMAND(push), "--to URL [OPTIONS] [DIR | FILE...]",
     "Sends profiles to Pyroscope, an OpenTelemetry collector or Parca, all the time",
     OPTIONS(&target, &once, &window, &service, &labels, &headers, &native, &no_awaiters, &run, &request_timeout,
             &with_parent, &status, &json),
     "URL is pyroscope+https://HOST[:PORT], otlp+https://HOST[:PORT] (OTLP/HTTP, the alpha of profiles that collector "
     "v0.159 takes) or parca+https://HOST[:PORT], or the same with http. Pyroscope should be reached directly, not "
     "through a collector, which it refuses.\n"
     "DIR is a directory of profiles, of all runs in it; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY ".\n\n"
     "Each window of 15 seconds is a profile of CPU time for each service, merged over its threads and processes. "
     "The logs are the spool: a file push-*.state in DIR says what the server has, so that nothing is lost and nothing "
     "sent twice when the server or this program is away for hours; at most the window that was on its way when this "
     "program was killed, under the same id. Pyroscope takes nothing older than an hour: such windows are counted as "
     "lost. PYPROF_MAX_DISK holds for the logs, sent or not: --status counts those that were removed before they were "
     "sent, "
     "if a pusher had seen them; pyprof info has all that were removed. What a process that is killed had used since "
     "the last samples of its threads is not sent; report has it as "
     "unsampled. It ends by SIGTERM, after the last window, within ten seconds.\n"
     "While it runs it also compacts what was sent and is older than an hour (pyprof compact), at the lowest priority. "
     "What the server does not have stays as it is for as long as push-*.state is there: of a URL that was mistyped "
     "--status says what to remove.\n\n"
     "service.name is --service, else OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES of the process, else of this "
     "program, else the name of the script. Other attributes of OTEL_RESOURCE_ATTRIBUTES are sent, and of Kubernetes "
     "POD_NAMESPACE, POD_NAME, CONTAINER_NAME and NODE_NAME, else the host's name.\n"
     "Tokens are in the file of --headers, or in PYPROF_PUSH_HEADERS (of otlp also OTEL_EXPORTER_OTLP_HEADERS): "
     "NAME=VALUE,NAME=VALUE.\n"
     "It needs the program curl, whose variables name a proxy (https_proxy) and the authorities of certificates "
     "(CURL_CA_BUNDLE).",
     "pyprof push --to pyroscope+http://pyroscope:4040 /var/tmp/app.pyprof\n"
     "PYPROF_PUSH_HEADERS=X-Key=KEY pyprof push --to otlp+https://otel:4318\n"
     "pyprof push --once --to parca+http://parca:7070\n"
     "pyprof push --status"},
    {COMMAND(ctl), "[OPTIONS] [DIR | PID] pause|resume|rate HZ|flush|status",
     "Switches sampling off and on, and sets its rate, in processes that run", OPTIONS(&duration, &json),
     "An order holds for all processes that write to the directory, now and later, until another order; one with a PID "
     "for that process alone. It is a file there, \"control\", which each process reads once a second while it uses "
     "CPU "
     "time, and each ten seconds while it rests. A process that was started paused obeys, too, before it has written "
     "anything. The file must belong to root or to the process's user. --for counts from the order on, not from when a "
     "process obeys.\n"
     "While a process is paused it has no timers and no samples; what it uses is shown as [paused]. "
     "PYPROF_START=paused "
     "has a program start so: libpyprof(7). rate default: what PYPROF_HZ says. flush has all samples so far written. "
     "status lists the orders, and what each process that runs does.\n"
     "DIR is a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY ".",
     "pyprof ctl pause\n"
     "pyprof ctl /var/lib/pyprof resume --for 30s\n"
     "pyprof ctl 4711 rate 500\n"
     "pyprof ctl status"},
    {COMMAND(compact), "[DIR]",
     "Makes profiles smaller that are no longer written to, without losing any of their sums", NO_OPTIONS,
     "Profiles that were last written an hour ago get intervals of a minute, those of the day before intervals of an "
     "hour, and "
     "both are deflated: the CPU time of each function, endpoint, process and label stays what it is to the "
     "nanosecond, only "
     "when it was used is known less well. Where --from or --to cuts such an interval, that is said. Run it each hour, "
     "by a "
     "timer, as the user of the profiles (contrib/systemd): a month of eight workers of a web server then takes some "
     "hundred "
     "megabytes. A file is replaced as a whole; commands may read it meanwhile, and what is interrupted has changed "
     "nothing. Files of "
     "other users, renamed and damaged ones stay as they are, and so does what 'pyprof push' has yet to send, for as "
     "long as its push-*.state is there and even if it cannot be read: remove that, and its .before, of a pusher that "
     "is gone for good. It compacts itself what it has sent: a timer is for directories without it.\n"
     "DIR is a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY ".",
     "pyprof compact /var/lib/pyprof"},
    {COMMAND(serve), "[OPTIONS] [DIR]", "Serves a directory of profiles by HTTP: a live page, pprof, Prometheus, JSON",
     OPTIONS(&listen, &token_file),
     "  /                                what runs now, and its flame graph\n"
     "  /debug/pprof/profile?seconds=30  for pprof, Parca and Grafana Alloy\n"
     "  /metrics                         for Prometheus\n"
     "  /flame?from=-5m&by=endpoint      the page of pyprof flame\n"
     "  /api/report.json?last=5m         what pyprof report --json prints\n"
     "  /api/runs.json /api/status.json  the runs; what runs now\n\n"
     "/metrics has the CPU time of processes and endpoints, requests, samples, losses, what profiling costs and what "
     "'pyprof push' has sent. serve reads what the processes write, and does not touch them. The profile is of exactly "
     "the seconds after the "
     "request, over all processes, and comes at most two seconds after them; it takes native, as the others do. /flame "
     "and the report take from, to, last, by, focus, ignore, pid, thread, native, hide, run and all, like the commands "
     "of "
     "these names.\n"
     "Counters of endpoints begin when serve does, at most 100 endpoints have their own; a restart is a restart of the "
     "counters, which Prometheus knows.\n\n"
     "Profiles have names and source lines of the program. Without a token it therefore listens on this machine only, "
     "and answers only requests to an address or localhost, which no page elsewhere can make a browser read. It has "
     "no TLS: put a proxy with TLS before it where it must be reached from elsewhere.\n\n"
     "Parca asks for other profiles, too, which are not here:\n"
     "  scrape_configs:\n"
     "  - job_name: python\n"
     "    scrape_interval: 15s\n"
     "    scrape_timeout: 20s\n"
     "    static_configs: [{targets: ['127.0.0.1:4040']}]\n"
     "    profiling_config:\n"
     "      pprof_config:\n"
     "        process_cpu:\n"
     "          enabled: true\n"
     "          delta: true\n"
     "          path: /debug/pprof/profile\n"
     "        memory: {enabled: false}\n"
     "        block: {enabled: false}\n"
     "        goroutine: {enabled: false}\n"
     "        mutex: {enabled: false}\n\n"
     "Grafana Alloy:\n"
     "  pyroscope.scrape \"python\" {\n"
     "    targets = [\n"
     "      {__address__ = \"127.0.0.1:4040\", service_name = \"app\"},\n"
     "    ]\n"
     "    forward_to = [pyroscope.write.default.receiver]\n"
     "    profiling_config {\n"
     "      profile.memory { enabled = false }\n"
     "      profile.block { enabled = false }\n"
     "      profile.goroutine { enabled = false }\n"
     "      profile.mutex { enabled = false }\n"
     "    }\n"
     "  }\n\n"
     "Prometheus:\n"
     "  scrape_configs:\n"
     "    - job_name: pyprof\n"
     "      static_configs: [{targets: ['127.0.0.1:4040']}]\n\n"
     "DIR is a directory of profiles; the default is PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ", which need not be there yet.",
     "pyprof serve /var/lib/pyprof\n"
     "go tool pprof -top 'http://127.0.0.1:4040/debug/pprof/profile?seconds=10'\n"
     "curl -s 127.0.0.1:4040/metrics\n"
     "pyprof serve --listen 0.0.0.0:4040 --token-file /etc/pyprof/token"},
    {COMMAND(doctor), "[OPTIONS] [PID | -- COMMAND [ARGUMENT...]]",
     "Checks whether profiling works, and if not, says why and what to do", OPTIONS(&json),
     "Of a running process: whether the library is loaded, its timers armed, its profile growing, also in its "
     "children.\n"
     "Of a command: whether it could be profiled; it is not run. Without both: of what is started from here, and the "
     "latest run in PYPROF_OUT or ./" PT_DEFAULT_DIRECTORY
     ".\nThe exit status is 0 if sampling works, would, or is paused, 1 if not.",
     "pyprof doctor\n"
     "pyprof doctor 4711\n"
     "pyprof doctor -- gunicorn -w 4 app:app"},
    {COMMAND(library), "", "Prints the path of the library, for LD_PRELOAD", NO_OPTIONS,
     "For scripts, Procfiles and unit files, where `pyprof run` is not wanted.",
     "LD_PRELOAD=$(pyprof library) python app.py"},
    {COMMAND(completion), "bash | zsh | fish", "Prints a script that completes pyprof's command line in a shell",
     NO_OPTIONS, "`make install` puts the scripts where the shells find them.",
     "source <(pyprof completion bash)\n"
     "pyprof completion fish > ~/.config/fish/completions/pyprof.fish"},
    {COMMAND(complete), "-- WORD...", "Prints what the last word of a command line may become", NO_OPTIONS, NULL, NULL,
     .hidden = true},
    {COMMAND(manpage), "[COMMAND]", "Prints the manual page of a command, or of pyprof, in roff", NO_OPTIONS, NULL,
     NULL, .hidden = true},
    {.name = "debug-log",
     .main = pt_cmd_debug_log,
     "FILE",
     "Prints every block of a log",
     NO_OPTIONS,
     NULL,
     NULL,
     .hidden = true},
};
const struct pt_command_table pt_commands = {commands, sizeof commands / sizeof commands[0]};
