/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pager.h"
#include "base/print.h"
#include "cli/options.h"
#include "symbols/debug_files.h"

#define SUMMARY_COLUMN 13

static void print_help(void)
{
    puts("Usage: pyprof COMMAND [OPTIONS] [ARGUMENTS]\n"
         "Shows where the CPU time of a Python program goes: Python and native code, every\n"
         "thread, every process.\n");
    for (size_t i = 0; i < pt_commands.count; i++)
        if (!pt_commands.items[i].hidden)
            pt_print_paragraph((uint32_t)printf("  %-10s ", pt_commands.items[i].name), SUMMARY_COLUMN, "%s",
                               pt_commands.items[i].summary);
    puts("\n'pyprof COMMAND --help' describes a command. To begin:\n"
         "  pyprof run -- python app.py\n"
         "  pyprof report");
}

/* Output to a full disk or a closed pipe must not pass for success. */
static int finish(int status)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written && errno != EPIPE)
        pt_error("cannot write to stdout: %s", strerror(errno));
    pt_pager_end();
    return written || status ? status : PT_EXIT_DATA;
}

static void end_without_memory(void)
{
    fputs("pyprof: out of memory: give fewer files, or one run at a time (--run ID)\n", stderr);
    exit(PT_EXIT_DATA);
}

int main(int argc, char **argv)
{
    pt_when_out_of_memory = end_without_memory;
    pt_mapped_protect();
    const char *name = argc > 1 ? argv[1] : NULL;
    struct pt_cli cli;
    int status = PT_EXIT_OK;
    setlocale(LC_CTYPE, "C.UTF-8"); /* how wide characters are: text of profiles is UTF-8 */
    if (!name)
        return pt_exit_with(
            PT_EXIT_USAGE,
            "missing command; to begin: pyprof run -- python app.py; 'pyprof --help' lists all commands");
    bool help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (help && argc < 3) {
        print_help();
        return finish(PT_EXIT_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("pyprof " PYPROF_VERSION);
        return finish(PT_EXIT_OK);
    }
    const struct pt_command *command = pt_command_named(&pt_commands, help ? argv[2] : name);
    if (!command) {
        pt_unknown_command(&pt_commands, argv + 1 + help);
        return PT_EXIT_USAGE;
    }
    if (help)
        pt_cli_help(command);
    else if (pt_cli_parse(command, argc - 1, argv + 1, &cli, &status)) {
        cli.commands = &pt_commands;
        status = command->main(&cli);
    }
    return finish(status);
}
