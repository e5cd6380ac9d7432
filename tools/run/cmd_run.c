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
#include "../load/files.h"
#include "child.h"
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
    struct pt_findings findings = {0};
    struct pt_buffer text = {0};
    if (!pt_process_info_read(getpid(), &own))
        return NULL;
    pt_check_command(&own, arguments, &findings);
    const struct pt_finding *bad = pt_findings_first(&findings, PT_LEVEL_FAIL);
    if (bad)
        pt_buffer_format(&text, "%s%s%s", bad->what, bad->remedy ? "; " : "", bad->remedy ? bad->remedy : "");
    pt_findings_free(&findings);
    pt_process_info_free(&own);
    return text.data;
}

static void set_environment(const struct pt_cli *cli, const char *library, const char *directory, const char *run)
{
    char hz[16], new_run[1 + 2 * RUN_BYTES + 1];
    pt_preload(library);
    setenv("PYPROF_OUT", directory, 1);
    snprintf(new_run, sizeof new_run, "%c%s", PP_RUN_IS_NEW, run);
    setenv("PYPROF_RUN", new_run, 1);
    snprintf(hz, sizeof hz, "%u", cli->hz);
    if (cli->hz)
        setenv("PYPROF_HZ", hz, 1);
}

static void say_beginning(const char *command, const struct place *place, const char *obstacle)
{
    PT_AUTO_BUFFER watch = {0};
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
}

static void say_failure(const char *command, int error)
{
    bool script = pt_has_extension(command, ".py") && access(command, R_OK) == 0;
    PT_AUTO_BUFFER path = {0};
    pt_append_argument(&path, command);
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

int pt_cmd_run(const struct pt_cli *cli)
{
    if (!cli->argument_count) {
        pt_error("missing command: pyprof run -- python app.py");
        return PT_EXIT_USAGE;
    }
    if (cli->output && !*cli->output) {
        pt_error("-o takes a directory for the profile, not ''");
        return PT_EXIT_USAGE;
    }
    char *library = pt_find_library();
    if (!library)
        return PT_EXIT_DATA;
    unsigned char bytes[RUN_BYTES];
    char *run = getrandom(bytes, sizeof bytes, 0) == sizeof bytes ? pt_hex(bytes, sizeof bytes) : NULL;
    if (!run) {
        pt_error("no random numbers from the kernel: %s", strerror(errno));
        free(library);
        return PT_EXIT_DATA;
    }
    struct place place = choose_place(cli);
    const char *set = getenv("PYPROF_OUT");
    PT_AUTO_FREE char *before = set ? pt_strdup(set) : NULL;
    set_environment(cli, library, place.directory, run);
    time_t since = time(NULL) - CLOCKS_APART;
    uint64_t since_ns = pt_clock_ns(CLOCK_MONOTONIC);
    pid_t command = pt_command_start(cli->arguments);
    int status = errno == ENOENT ? PT_EXIT_NO_COMMAND : PT_EXIT_CANNOT_RUN;
    if (command < 0) {
        say_failure(cli->arguments[0], errno);
    } else {
        char *obstacle = obstacle_of(cli->arguments);
        say_beginning(cli->arguments[0], &place, obstacle);
        struct pt_ended ended = pt_command_wait(command, since_ns);
        PT_AUTO_FREE char *found =
            pt_run_summary(run, since, &ended, place.directory, place.named, cli->hz, obstacle, cli->arguments[0]);
        free(obstacle);
        if (before) /* as commands that are typed next will have it */
            setenv("PYPROF_OUT", before, 1);
        else
            unsetenv("PYPROF_OUT");
        if (found && isatty(STDERR_FILENO))
            show_report(cli->commands, found);
        status = pt_command_status(ended.wait_status);
    }
    free(library);
    free(run);
    free(place.directory);
    free(place.named);
    free(place.refused);
    return status;
}
