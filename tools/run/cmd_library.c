/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "../base/library_path.h"
#include "../base/print.h"
#include "../cli/commands.h"

int pt_cmd_library(const struct pt_cli *cli)
{
    char *path = cli->argument_count ? NULL : pt_find_library();
    if (cli->argument_count)
        pt_error("'pyprof library' takes no arguments; to profile a command: pyprof run -- %s", cli->arguments[0]);
    bool fits = path && pt_fits_preload(path);
    if (fits)
        puts(path);
    else if (path)
        pt_error("%s: LD_PRELOAD cannot hold a path with a space; use: pyprof run -- COMMAND", path);
    free(path);
    return fits ? PT_EXIT_OK : cli->argument_count ? PT_EXIT_USAGE : PT_EXIT_DATA;
}
