#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd.h"
#include "library_path.h"
#include "memory.h"

#define RUN_BYTES 16

static void set_preload(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    struct pp_buffer value = {0};
    if (present && *present && !strstr(present, library))
        pp_buffer_format(&value, "%s:%s", present, library);
    else
        pp_buffer_text(&value, present && *present ? present : library);
    setenv("LD_PRELOAD", value.data, 1);
    pp_buffer_free(&value);
}

/* The directory for the profile, absolute because the command may change its own. The caller frees. */
static char *output_directory(const struct pp_cli *cli)
{
    const char *directory = cli->output ? cli->output : getenv("PYPROF_OUT");
    char working[PATH_MAX];
    struct pp_buffer path = {0};
    if (!directory || !*directory)
        directory = PP_DEFAULT_DIRECTORY;
    if (*directory != '/' && getcwd(working, sizeof working))
        pp_buffer_format(&path, "%s/", working);
    pp_buffer_text(&path, directory);
    return path.data;
}

static bool set_run(void)
{
    unsigned char bytes[RUN_BYTES];
    char text[2 * RUN_BYTES + 1];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return setenv("PYPROF_RUN", text, 1) == 0;
}

int pp_cmd_run(const struct pp_cli *cli)
{
    if (!cli->argument_count) {
        pp_error("say what to run: pyprof run -- python app.py");
        return PP_EXIT_USAGE;
    }
    char *library = pp_find_library();
    if (!library)
        return PP_EXIT_DATA;
    char *directory = output_directory(cli);
    set_preload(library);
    setenv("PYPROF_OUT", directory, 1);
    if (!set_run())
        unsetenv("PYPROF_RUN"); /* the library makes one */
    if (cli->hz) {
        char hz[16];
        snprintf(hz, sizeof hz, "%u", cli->hz);
        setenv("PYPROF_HZ", hz, 1);
    }
    const char *space = cli->output ? " " : "", *chosen = cli->output ? cli->output : "";
    pp_error("profile goes to %s; next: pyprof report%s%s, or pyprof flame -o profile.html%s%s", directory, space,
             chosen, space, chosen);
    execvp(cli->arguments[0], cli->arguments);
    int error = errno;
    pp_error("%s: %s", cli->arguments[0], error == ENOENT ? "command not found" : strerror(error));
    free(library);
    free(directory);
    return error == ENOENT ? PP_EXIT_NO_COMMAND : PP_EXIT_CANNOT_RUN;
}
