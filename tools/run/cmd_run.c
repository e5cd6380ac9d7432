/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../../preload/common/settings.h"
#include "../base/library_path.h"
#include "../base/memory.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../cli/options.h"
#include "../doctor/checks.h"
#include "../load/control_file.h"
#include "../load/files.h"
#include "../load/runs.h"
#include "child.h"
#include "pusher.h"
#include "summary.h"

#define RUN_BYTES    16
#define CLOCKS_APART 60 /* seconds, of a file system elsewhere and of this machine */

int pt_cmd_library(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *path = cli->argument_count ? NULL : pt_find_library();
    if (cli->argument_count)
        pt_error("'pyprof library' takes no arguments; to profile a command: pyprof run -- %s", cli->arguments[0]);
    bool fits = path && pt_fits_preload(path);
    if (fits)
        puts(path);
    else if (path)
        pt_error("%s: LD_PRELOAD cannot hold a path with a space; use: pyprof run -- COMMAND", path);
    return fits ? PT_EXIT_OK : cli->argument_count ? PT_EXIT_USAGE : PT_EXIT_DATA;
}

/* Where the profile goes. */
struct place {
    char *directory; /* absolute, because the command may change its working directory */
    char *named;     /* the directory as commands must name it; NULL: they read it without a path */
    char *refused;   /* the directory that was asked for, if it cannot be written; otherwise NULL */
    int error;       /* why */
};

static char *absolute(const char *directory)
{
    char working[PATH_MAX];
    struct pt_buffer path = {0};
    if (*directory != '/' && getcwd(working, sizeof working))
        pt_buffer_format(&path, "%s/", working);
    pt_buffer_text(&path, directory);
    return path.data;
}

/* Chooses what the library would: the fallback directory if the one that was asked for cannot be written. */
static struct place choose_place(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *wanted = cli->output ? pt_strdup(cli->output) : pt_default_directory(),
                      *fallback = pt_fallback_directory();
    struct place place = {.directory = absolute(wanted), .named = pt_directory_to_name(cli->output)};
    place.error = pt_output_error(place.directory);
    if (place.error && *fallback == '/' && !pt_output_error(fallback)) {
        place.refused = place.directory;
        place.directory = pt_strdup(fallback);
        free(place.named);
        place.named = pt_strdup(fallback);
    }
    return place;
}

/* Why the library will not be in the command, NULL when it will as far as its file says. The caller frees. */
static char *obstacle_of(char *const *arguments)
{
    struct pt_process_info own;
    PT_AUTO(pt_findings_free) struct pt_findings findings = {0};
    struct pt_buffer text = {0};
    if (!pt_process_info_read(getpid(), &own))
        return NULL;
    pt_check_command(&own, arguments, &findings);
    const struct pt_finding *bad = pt_findings_first(&findings, PT_LEVEL_FAIL);
    if (bad)
        pt_buffer_format(&text, "%s%s%s", bad->what, bad->remedy ? "; " : "", bad->remedy ? bad->remedy : "");
    pt_process_info_free(&own);
    return text.data;
}

static void set_environment(const struct pt_cli *cli, const char *library, const char *directory)
{
    char hz[16];
    pt_preload(library);
    setenv("PYPROF_OUT", directory, 1);
    snprintf(hz, sizeof hz, "%u", cli->hz);
    if (cli->hz)
        setenv("PYPROF_HZ", hz, 1);
}

static void say_beginning(const char *command, const struct place *place, const char *obstacle)
{
    PT_AUTO_BUFFER watch = {0}, pause = {0};
    pt_buffer_text(&watch, "pyprof top");
    if (place->named) {
        pt_buffer_text(&watch, " ");
        pt_append_argument(&watch, place->named);
    }
    if (obstacle)
        pt_error("%s is not profiled: %s", command, obstacle);
    else if (place->refused)
        pt_message("cannot write to %s: %s; profile goes to %s instead; to watch it run: %s", place->refused,
                   strerror(place->error), place->directory, watch.data);
    else if (!place->error)
        pt_message("profile goes to %s; to watch it run: %s", place->directory, watch.data);
    if (!obstacle && pt_append_pause(&pause, place->directory))
        pt_message("%s", pause.data);
}

static void say_failure(char *const *arguments, int error)
{
    const char *command = arguments[0];
    PT_AUTO_FREE char *program = pt_command_path(command),
                      *without_interpreter = program && error == ENOENT ? obstacle_of(arguments) : NULL;
    struct pt_elf_facts facts;
    bool foreign = error == ENOEXEC && program && pt_elf_facts_read(program, &facts);
    bool script = pt_has_extension(command, ".py") && access(command, R_OK) == 0;
    PT_AUTO_BUFFER path = {0};
    pt_append_argument(&path, command);
    if (without_interpreter)
        pt_error("%s", without_interpreter);
    else if (foreign)
        pt_error("%s: %s: this machine does not run programs that are %s", command, strerror(error),
                 pt_elf_kind(&facts));
    else
        pt_error("%s: %s%s%s", command, error == ENOENT ? "command not found" : strerror(error),
                 script ? "; it is run by Python: pyprof run -- python3 " : "", script ? path.data : "");
}

/* Prints the report of the run to stderr, where messages go: stdout is the command's. directory: "" without a path. */
static void show_report(const struct pt_command_table *commands, char *directory)
{
    const struct pt_command *report = pt_command_named(commands, "report");
    char name[] = "report", no_pager[] = "--no-pager", *words[] = {name, no_pager, *directory ? directory : NULL, NULL};
    struct pt_cli cli;
    int status;
    fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (!pt_cli_parse(report, *directory ? 3 : 2, words, &cli, &status))
        return;
    cli.commands = commands;
    cli.request.messages = NULL; /* that there are other runs is no news now */
    putchar('\n');
    report->main(&cli);
}

/* One launch of the command after the other, as often as --repeat says. */
struct launches {
    const struct pt_cli *cli;
    const struct place *place;
    char run[2 * RUN_BYTES + 1]; /* id of the last one */
    time_t since;
    struct pt_ended ended; /* of all; the status is that of the last one */
    uint32_t wanted, done;
    char *obstacle;
    int error; /* errno of one that could not be started */
    struct pt_pusher *pusher;
};

/* Runs of one command have ids that differ in their number only: PT_REPEATED_LENGTH. */
static void set_run(struct launches *launches)
{
    char variable[1 + sizeof launches->run];
    if (launches->wanted > 1)
        snprintf(launches->run + PT_REPEATED_LENGTH, sizeof launches->run - PT_REPEATED_LENGTH, "%08x",
                 launches->done + 1);
    snprintf(variable, sizeof variable, "%c%s", PP_RUN_IS_NEW, launches->run);
    setenv("PYPROF_RUN", variable, 1);
}

/* Returns whether the command ended well. */
static bool launch(struct launches *launches)
{
    const struct pt_cli *cli = launches->cli;
    uint64_t since_ns = pt_clock_ns(CLOCK_MONOTONIC);
    set_run(launches);
    pid_t command = pt_command_start(cli->arguments, launches->done + 1 == launches->wanted);
    if (command < 0) {
        launches->error = errno;
        return false;
    }
    if (!launches->done++) {
        launches->obstacle = obstacle_of(cli->arguments);
        say_beginning(cli->arguments[0], launches->place, launches->obstacle);
    }
    struct pt_ended ended = pt_command_wait(command, since_ns);
    pt_run_add_bill(launches->run, launches->since, ended.billed_ns, launches->place->directory);
    launches->ended.wait_status = ended.wait_status;
    launches->ended.billed_ns += ended.billed_ns;
    launches->ended.ran_ns += ended.ran_ns;
    return !ended.wait_status;
}

/* Sums up what was run, and returns the exit status. before: PYPROF_OUT as it was. */
static int finish(struct launches *launches, const char *before)
{
    const struct pt_cli *cli = launches->cli;
    const struct place *place = launches->place;
    if (launches->done < launches->wanted)
        pt_message("the command failed in run %u of %u", launches->done, launches->wanted);
    if (launches->wanted > 1)
        launches->run[PT_REPEATED_LENGTH] = '\0';
    PT_AUTO_FREE char *found = pt_run_summary(launches->run, launches->since, &launches->ended, place->directory,
                                              place->named, cli->hz, launches->obstacle, cli->arguments[0]);
    pt_pusher_end(launches->pusher);
    if (before) /* as commands that are typed next will have it */
        setenv("PYPROF_OUT", before, 1);
    else
        unsetenv("PYPROF_OUT");
    if (found && isatty(STDERR_FILENO))
        show_report(cli->commands, found);
    return pt_command_status(launches->ended.wait_status);
}

int pt_cmd_run(const struct pt_cli *cli)
{
    if (!cli->argument_count)
        return pt_exit_with(PT_EXIT_USAGE, "missing command: pyprof run -- python app.py");
    if (cli->output && !*cli->output)
        return pt_exit_with(PT_EXIT_USAGE, "-o takes a directory for the profile, not ''");
    if (cli->push_to && !pt_pusher_check(cli->push_to))
        return PT_EXIT_USAGE;
    PT_AUTO_FREE char *library = pt_find_library();
    if (!library)
        return PT_EXIT_DATA;
    unsigned char bytes[RUN_BYTES];
    PT_AUTO_FREE char *run = getrandom(bytes, sizeof bytes, 0) == sizeof bytes ? pt_hex(bytes, sizeof bytes) : NULL;
    if (!run)
        return pt_exit_with(PT_EXIT_DATA, "no random numbers from the kernel: %s", strerror(errno));
    struct place place = choose_place(cli);
    const char *set = getenv("PYPROF_OUT");
    PT_AUTO_FREE char *before = set ? pt_strdup(set) : NULL;
    struct launches launches = {.cli = cli, .place = &place, .wanted = cli->repeat ? cli->repeat : 1};
    snprintf(launches.run, sizeof launches.run, "%s", run);
    struct pt_pusher pusher = {.process = -1};
    if (launches.wanted > 1)
        run[PT_REPEATED_LENGTH] = '\0';
    if (cli->push_to)
        pt_pusher_start(&pusher, cli->push_to, place.directory, run);
    launches.pusher = &pusher;
    set_environment(cli, library, place.directory);
    launches.since = time(NULL) - CLOCKS_APART;
    while (launches.done < launches.wanted && launch(&launches))
        continue;
    if (launches.error) {
        say_failure(cli->arguments, launches.error);
        pt_pusher_end(&pusher);
    }
    int status =
        launches.error ? launches.error == ENOENT ? PT_EXIT_NO_COMMAND : PT_EXIT_CANNOT_RUN : finish(&launches, before);
    free(launches.obstacle);
    free(place.directory);
    free(place.named);
    free(place.refused);
    return status;
}
