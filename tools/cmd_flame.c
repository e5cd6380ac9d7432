#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "flame/flame.h"
#include "output.h"
#include "profile/load.h"

#define DEFAULT_OUTPUT "pyprof.html"

static void write_page(void *context, FILE *out)
{
    pp_flame_write(context, out);
}

/* Of a comparison each side is a path of its own. */
static struct pp_profile *load_side(const struct pp_cli *cli, unsigned side)
{
    struct pp_cli one = *cli;
    one.keep_intervals = true;
    if (cli->diff) {
        one.arguments = cli->arguments + side;
        one.argument_count = 1;
    }
    return pp_load(&one);
}

int pp_cmd_flame(const struct pp_cli *cli)
{
    const char *path = cli->output ? cli->output : DEFAULT_OUTPUT;
    bool to_stdout = strcmp(path, "-") == 0;
    if (cli->diff && cli->argument_count != 2) {
        pp_error("--diff takes two profiles: pyprof flame --diff BASE NEW");
        return PP_EXIT_USAGE;
    }
    if (cli->by && (!cli->diff || strcmp(cli->by, "none") == 0)) {
        pp_error(cli->diff ? "the page compares shares of the CPU or CPU per second: --by cpu or --by time"
                           : "--by is for --diff: pyprof flame --diff --by time BASE NEW");
        return PP_EXIT_USAGE;
    }
    if (to_stdout && isatty(STDOUT_FILENO)) {
        pp_error("stdout is a terminal: use -o FILE.html");
        return PP_EXIT_USAGE;
    }
    unsigned count = cli->diff ? 2 : 1;
    struct pp_profile *sides[2] = {NULL, NULL};
    int status = PP_EXIT_OK;
    for (unsigned i = 0; i < count && status == PP_EXIT_OK; i++)
        if (!(sides[i] = load_side(cli, i)))
            status = PP_EXIT_DATA;
    if (status == PP_EXIT_OK) {
        struct pp_flame *flame = pp_flame_new(sides, count, cli->lines);
        flame->by_time = cli->by && strcmp(cli->by, "time") == 0;
        if (to_stdout)
            pp_flame_write(flame, stdout);
        else if (!pp_write_file(path, write_page, flame))
            status = PP_EXIT_DATA;
        else if (isatty(STDERR_FILENO))
            pp_error("wrote %s; open it in a browser", path);
        pp_flame_free(flame);
    }
    pp_profile_free(sides[0]);
    pp_profile_free(sides[1]);
    return status;
}
