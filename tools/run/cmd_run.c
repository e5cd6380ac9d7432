#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../base/library_path.h"
#include "../base/memory.h"
#include "../base/output.h"
#include "../cli/commands.h"
#include "../doctor/checks.h"
#include "child.h"
#include "summary.h"

#define RUN_BYTES    16
#define CLOCKS_APART 60 /* seconds, of a file system elsewhere and of this machine */

static void set_preload(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    struct pt_buffer value = {0};
    if (present && *present && !strstr(present, library))
        pt_buffer_format(&value, "%s:%s", present, library);
    else
        pt_buffer_text(&value, present && *present ? present : library);
    setenv("LD_PRELOAD", value.data, 1);
    pt_buffer_free(&value);
}

/* Returns the directory for the profile, absolute because the command may change its own. The caller frees. */
static char *output_directory(const struct pt_cli *cli)
{
    const char *directory = cli->output ? cli->output : getenv("PYPROF_OUT");
    char working[PATH_MAX];
    struct pt_buffer path = {0};
    if (!directory || !*directory)
        directory = PT_DEFAULT_DIRECTORY;
    if (*directory != '/' && getcwd(working, sizeof working))
        pt_buffer_format(&path, "%s/", working);
    pt_buffer_text(&path, directory);
    return path.data;
}

/* Returns a new run id; NULL with errno if the kernel has no random numbers. The caller frees. */
static char *make_run(void)
{
    unsigned char bytes[RUN_BYTES];
    return getrandom(bytes, sizeof bytes, 0) == sizeof bytes ? pt_hex(bytes, sizeof bytes) : NULL;
}

/* Why the library will not be in the command, NULL when it will as far as its file says. The caller frees. */
static char *obstacle_of(const char *command)
{
    struct pt_process_info own;
    struct pt_findings findings = {0};
    struct pt_buffer text = {0};
    if (!pt_process_info_read(getpid(), &own))
        return NULL;
    pt_check_command(&own, command, &findings);
    const struct pt_finding *bad = pt_findings_first(&findings, PT_LEVEL_FAIL);
    if (bad)
        pt_buffer_format(&text, "%s%s%s", bad->what, bad->remedy ? "; " : "", bad->remedy ? bad->remedy : "");
    pt_findings_free(&findings);
    pt_process_info_free(&own);
    return text.data;
}

static void set_environment(const struct pt_cli *cli, const char *library, const char *directory, const char *run)
{
    char hz[16];
    set_preload(library);
    setenv("PYPROF_OUT", directory, 1);
    setenv("PYPROF_RUN", run, 1);
    snprintf(hz, sizeof hz, "%u", cli->hz);
    if (cli->hz)
        setenv("PYPROF_HZ", hz, 1);
}

static void say_beginning(const struct pt_cli *cli, const char *directory, const char *obstacle)
{
    struct pt_buffer watch = {0};
    pt_buffer_text(&watch, "pyprof top");
    if (cli->output) {
        pt_buffer_text(&watch, " ");
        pt_append_argument(&watch, cli->output);
    }
    if (obstacle)
        pt_error("%s is not profiled: %s", cli->arguments[0], obstacle);
    else
        pt_message("profile goes to %s; to watch it run: %s", directory, watch.data);
    pt_buffer_free(&watch);
}

static void say_failure(const char *command, int error)
{
    bool script = pt_has_extension(command, ".py") && access(command, R_OK) == 0;
    struct pt_buffer path = {0};
    pt_append_argument(&path, command);
    pt_error("%s: %s%s%s", command, error == ENOENT ? "command not found" : strerror(error),
             script ? "; it is run by Python: pyprof run -- python3 " : "", script ? path.data : "");
    pt_buffer_free(&path);
}

int pt_cmd_run(const struct pt_cli *cli)
{
    if (!cli->argument_count) {
        pt_error("missing command: pyprof run -- python app.py");
        return PT_EXIT_USAGE;
    }
    char *library = pt_find_library();
    if (!library)
        return PT_EXIT_DATA;
    char *run = make_run();
    if (!run) {
        pt_error("no random numbers from the kernel: %s", strerror(errno));
        free(library);
        return PT_EXIT_DATA;
    }
    char *directory = output_directory(cli);
    set_environment(cli, library, directory, run);
    time_t since = time(NULL) - CLOCKS_APART;
    pid_t command = pt_command_start(cli->arguments);
    int status = errno == ENOENT ? PT_EXIT_NO_COMMAND : PT_EXIT_CANNOT_RUN;
    if (command < 0) {
        say_failure(cli->arguments[0], errno);
    } else {
        char *obstacle = obstacle_of(cli->arguments[0]);
        say_beginning(cli, directory, obstacle);
        int wait_status = pt_command_wait(command);
        pt_run_summary(run, since, directory, cli->output, obstacle, cli->arguments[0]);
        free(obstacle);
        status = pt_command_status(wait_status);
    }
    free(library);
    free(run);
    free(directory);
    return status;
}
