/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "../base/print.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "access.h"
#include "counters.h"
#include "routes.h"
#include "server.h"

/* Returns the directory as a path that no command takes for something else. The caller frees. */
static char *directory_of(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *name = cli->argument_count ? pt_strdup(cli->arguments[0]) : pt_default_directory();
    PT_AUTO_BUFFER path = pt_formatted(*name == '/' ? "%s" : "./%s", name);
    return pt_strdup(path.data);
}

int pt_cmd_serve(const struct pt_cli *cli)
{
    struct pt_access access;
    struct stat status;
    char name[INET6_ADDRSTRLEN + 8];
    if (cli->argument_count > 1)
        return pt_exit_with(PT_EXIT_USAGE, "serve takes one directory: pyprof serve %s", cli->arguments[0]);
    PT_AUTO_FREE char *directory = directory_of(cli);
    if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
        return pt_exit_with(PT_EXIT_USAGE, "%s is no directory: serve shows what the processes of a directory do",
                            directory);
    if (!pt_can_list(directory))
        return PT_EXIT_DATA;
    if (!pt_access_parse(&access, cli->listen, cli->token_file))
        return PT_EXIT_USAGE;
    int listening = pt_access_listen(&access);
    if (listening < 0)
        return PT_EXIT_DATA;
    static struct pt_counters counters;
    pt_counters_begin(&counters, directory, 0);
    pt_counters_read(&counters);
    pt_access_name(&access, name);
    int logs = pt_each_log(directory, NULL, NULL);
    bool empty = !logs || (logs < 0 && errno == ENOENT);
    pt_message("http://%s/ shows %s%s", name, directory,
               empty ? ", where nothing is yet: programs that write to it appear by themselves" : "");
    const struct pt_service service = {cli->commands, directory, &counters};
    pt_serve(&service, &access, listening);
}
