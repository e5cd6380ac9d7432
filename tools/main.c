#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "print.h"

#define SUMMARY_COLUMN 13

static void print_help(void)
{
    puts("Usage: pyprof VERB [OPTIONS] [ARGUMENTS]\n"
         "Where the CPU time of a Python program goes: Python and native code, every\n"
         "thread, every process.\n");
    for (size_t i = 0; i < pp_verb_count; i++)
        if (!pp_verbs[i].hidden)
            pp_print_paragraph((uint32_t)printf("  %-10s ", pp_verbs[i].name), SUMMARY_COLUMN, "%s",
                               pp_verbs[i].summary);
    puts("\n'pyprof VERB --help' says more about one. To begin:\n"
         "  pyprof run -- python app.py\n"
         "  pyprof report");
}

/* Output to a full disk or a closed pipe must not look like success. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        pp_error("cannot write to stdout: %s", strerror(errno));
    return status ? status : PP_EXIT_DATA;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        pp_error("say what to do: 'pyprof --help' lists the verbs");
        return PP_EXIT_USAGE;
    }
    bool help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (help && argc < 3) {
        print_help();
        return finish(PP_EXIT_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("pyprof " PYPROF_VERSION);
        return finish(PP_EXIT_OK);
    }
    if (help)
        name = argv[2];
    for (size_t i = 0; i < pp_verb_count; i++) {
        struct pp_cli cli;
        int status;
        if (strcmp(name, pp_verbs[i].name) != 0)
            continue;
        if (help) {
            pp_cli_help(&pp_verbs[i]);
            return finish(PP_EXIT_OK);
        }
        if (!pp_cli_parse(&pp_verbs[i], argc - 1, argv + 1, &cli, &status))
            return finish(status);
        return finish(pp_verbs[i].main(&cli));
    }
    pp_error("no such verb '%s': 'pyprof --help' lists them", name);
    return PP_EXIT_USAGE;
}
