#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIGHEST_HZ  1000
#define HIGHEST_TOP 1000000
#define LONG_ONLY   256 /* getopt values of options without a letter: this + their place in the table */

static const struct {
    enum pp_option option;
    char letter;
    const char *name, *argument, *help;
} options[] = {
    {PP_OPTION_OUTPUT, 'o', "output", "FILE", "file to write, '-' for stdout; its extension chooses the format"},
    {PP_OPTION_DIRECTORY, 'o', "output", "DIR", "directory for the profile (default: " PP_DEFAULT_DIRECTORY ")"},
    {PP_OPTION_FORMAT, 'f', "format", "NAME", "collapsed or pprof, to stdout unless -o is given"},
    {PP_OPTION_UNIT, 'u', "unit", "UNIT", "weight of a stack: ns (CPU time, default) or samples"},
    {PP_OPTION_HZ, 0, "hz", "N", "samples per second of CPU time (default: 100)"},
    {PP_OPTION_JSON, 'j', "json", NULL, "for programs: JSON"},
    {PP_OPTION_TOP, 'n', "top", "N", "functions to list (default: 20)"},
    {PP_OPTION_LINES, 'l', "lines", NULL, "tell lines apart, not only functions"},
    {PP_OPTION_THREADS, 't', "threads", NULL, "tell threads apart"},
    {PP_OPTION_PROCESSES, 'p', "processes", NULL, "tell processes apart"},
    {PP_OPTION_GIL, 'g', "gil", NULL, "tell CPU time with the GIL apart from that without it"},
    {PP_OPTION_RUN, 'r', "run", "ID", "the run with this id (or its beginning) instead of the latest"},
    {PP_OPTION_ALL, 'a', "all", NULL, "all runs of a directory, merged"},
};
#define OPTIONS ((int)(sizeof options / sizeof options[0]))

void pp_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("pyprof: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void pp_cli_help(const struct pp_verb *verb)
{
    printf("Usage: pyprof %s %s\n%s.\n\nOptions:\n", verb->name, verb->arguments, verb->summary);
    for (int i = 0; i < OPTIONS; i++) {
        char left[32];
        if (!(verb->options & options[i].option))
            continue;
        const char letter[] = {'-', options[i].letter, ',', '\0'};
        snprintf(left, sizeof left, "%-3s --%s%s%s", options[i].letter ? letter : "", options[i].name,
                 options[i].argument ? " " : "", options[i].argument ? options[i].argument : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf("  %-20s %s\n", "-h, --help", "this text");
    if (verb->more)
        printf("\n%s\n", verb->more);
}

static bool take_number(const char *name, const char *text, uint32_t highest, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || !value || value > highest) {
        pp_error("--%s takes a number from 1 to %u, not '%s'", name, highest, text);
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

static bool take_option(struct pp_cli *cli, int place, const char *argument)
{
    switch (options[place].option) {
    case PP_OPTION_OUTPUT:
    case PP_OPTION_DIRECTORY:
        cli->output = argument;
        return true;
    case PP_OPTION_FORMAT:
        cli->format = argument;
        return true;
    case PP_OPTION_UNIT:
        cli->unit = argument;
        if (strcmp(argument, "ns") == 0 || strcmp(argument, "samples") == 0)
            return true;
        pp_error("--unit takes 'ns' or 'samples', not '%s'", argument);
        return false;
    case PP_OPTION_HZ:
        return take_number("hz", argument, HIGHEST_HZ, &cli->hz);
    case PP_OPTION_TOP:
        return take_number("top", argument, HIGHEST_TOP, &cli->top);
    case PP_OPTION_RUN:
        cli->run = argument;
        return true;
    case PP_OPTION_JSON:
        return cli->json = true;
    case PP_OPTION_LINES:
        return cli->lines = true;
    case PP_OPTION_THREADS:
        return cli->threads = true;
    case PP_OPTION_PROCESSES:
        return cli->processes = true;
    case PP_OPTION_GIL:
        return cli->gil = true;
    case PP_OPTION_ALL:
        return cli->all = true;
    }
    return false;
}

bool pp_cli_parse(const struct pp_verb *verb, int argc, char **argv, struct pp_cli *cli, int *status)
{
    /* '+': the options of a command that follows are its own. */
    char letters[2 * OPTIONS + 4] = "+:h", *end = letters + 3;
    struct option longs[OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    if (!verb->command)
        end = stpcpy(letters, ":h");
    int count = 1;
    for (int i = 0; i < OPTIONS; i++) {
        if (!(verb->options & options[i].option))
            continue;
        if (options[i].letter)
            *end++ = options[i].letter;
        if (options[i].letter && options[i].argument)
            *end++ = ':';
        longs[count++] = (struct option){options[i].name, options[i].argument ? required_argument : no_argument, NULL,
                                         LONG_ONLY + i};
    }
    *cli = (struct pp_cli){0};
    *status = PP_EXIT_USAGE;
    optind = 1;
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (value == 'h') {
            pp_cli_help(verb);
            *status = PP_EXIT_OK;
            return false;
        }
        if (value == '?' || value == ':') {
            pp_error("%s '%s': see 'pyprof %s --help'",
                     value == ':' ? "something must follow" : "no such option:", argv[optind - 1], verb->name);
            return false;
        }
        int place = value - LONG_ONLY;
        for (int i = 0; place < 0 && i < OPTIONS; i++)
            if (options[i].letter == value && verb->options & options[i].option)
                place = i;
        if (!take_option(cli, place, optarg))
            return false;
    }
    cli->arguments = argv + optind;
    cli->argument_count = argc - optind;
    return true;
}
