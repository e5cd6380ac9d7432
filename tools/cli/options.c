#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/print.h"
#include "../export/export.h"

#define HIGHEST_HZ      1000
#define HIGHEST_TOP     1000000
#define LONGEST_SECONDS 1e9 /* of a time: no overflow of nanoseconds */
#define HELP_COLUMN     23  /* of an option's help */
#define LONG_ONLY       256 /* getopt values of options without a letter: this + their place in the table */

const struct pt_option_row pt_options[] = {
    {PT_OPTION_OUTPUT, 'o', "output", "FILE", "file to write, '-' for stdout; its extension chooses the format", NULL},
    {PT_OPTION_DIRECTORY, 'o', "output", "DIR", "directory for the profile (default: " PT_DEFAULT_DIRECTORY ")", NULL},
    {PT_OPTION_PAGE, 'o', "output", "FILE", "page to write, '-' for stdout (default: pyprof.html)", NULL},
    {PT_OPTION_FORMAT, 'f', "format", "NAME", "the format, below; to stdout unless -o is given",
#define NAME(name, ...) name " "
     PT_FORMATS(NAME)},
#undef NAME
    {PT_OPTION_MERGED, 'o', "output", "FILE", "file to write", NULL},
    {PT_OPTION_DIFF_FORMAT, 'f', "format", "NAME",
     "text (default), json, html (a flame graph), or collapsed (stacks with both weights)", "text json html collapsed"},
    {PT_OPTION_UNIT, 'u', "unit", "UNIT", "weight of a stack: ns (CPU time, default) or samples", "ns samples"},
    {PT_OPTION_HZ, 0, "hz", "N", "samples per second of CPU time (default: 100)", NULL},
    {PT_OPTION_JSON, 'j', "json", NULL, "for programs: JSON", NULL},
    {PT_OPTION_INTERVALS, 'i', "intervals", NULL, "second by second: CPU, cores busy, switches, page faults", NULL},
    {PT_OPTION_DELAY, 'd', "delay", "TIME", "between two screens (default: 1s)", NULL},
    {PT_OPTION_COUNT, 'c', "count", "N", "print so many screens as plain text, and end", NULL},
    {PT_OPTION_TOP, 'n', "top", "N", "functions to list (default: 20)", NULL},
    {PT_OPTION_LINES, 'l', "lines", NULL, "tell lines apart, not only functions", NULL},
    {PT_OPTION_THREADS, 't', "threads", NULL, "tell threads apart", NULL},
    {PT_OPTION_PROCESSES, 'p', "processes", NULL, "tell processes apart", NULL},
    {PT_OPTION_GIL, 'g', "gil", NULL, "tell CPU time with the GIL apart from that without it", NULL},
    {PT_OPTION_DIFF, 'd', "diff", NULL, "compare two profiles, BASE and NEW", NULL},
    {PT_OPTION_RUN, 'r', "run", "ID", "the run with this id (or its beginning) instead of the latest", NULL},
    {PT_OPTION_ALL, 'a', "all", NULL, "all runs of a directory, merged", NULL},
    {PT_OPTION_BY, 0, "by", "WHAT",
     "compare shares of the CPU (cpu, default), CPU per second of run (time), or CPU (none)", "cpu time none"},
    {PT_OPTION_FROM, 0, "from", "TIME", "only what ran from this time of the run on: 90, 1m30s, 250ms", NULL},
    {PT_OPTION_TO, 0, "to", "TIME", "only what ran before this time of the run", NULL},
    {PT_OPTION_PID, 0, "pid", "PID", "only these processes; commas between several", NULL},
    {PT_OPTION_THREAD, 0, "thread", "NAME", "only threads with this id, or with a name that matches this pattern",
     NULL},
    {PT_OPTION_FOCUS, 0, "focus", "REGEX", "only stacks with a frame that matches", NULL},
    {PT_OPTION_IGNORE, 0, "ignore", "REGEX", "only stacks without a frame that matches", NULL},
    {PT_OPTION_NO_NATIVE, 0, "no-native", NULL, "Python frames only: native code counts for its Python caller", NULL},
};
const unsigned pt_option_count = sizeof pt_options / sizeof pt_options[0];
#define OPTIONS ((int)(sizeof pt_options / sizeof pt_options[0]))

void pt_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("pyprof: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

char *pt_command_text(const struct pt_command *verb)
{
    struct pt_buffer text = {0};
    if (verb->options & PT_OPTION_FORMAT) {
        pt_buffer_text(&text, "Formats, by extension or --format:\n");
        pt_formats_table(&text);
        pt_buffer_text(&text, "\n");
    }
    if (verb->more)
        pt_buffer_text(&text, verb->more);
    return text.data;
}

/* Lines that begin with a blank are a table's. */
static void print_lines(const char *text)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (!length || *text == ' ')
            printf("%.*s\n", (int)length, text);
        else
            pt_print_paragraph(0, 0, "%.*s", (int)length, text);
    }
}

void pt_cli_help(const struct pt_command *verb)
{
    char *text = pt_command_text(verb);
    printf("Usage: pyprof %s %s\n", verb->name, verb->arguments);
    pt_print_paragraph(0, 0, "%s.", verb->summary);
    puts("\nOptions:");
    for (int i = 0; i < OPTIONS; i++) {
        char left[32];
        if (!(verb->options & pt_options[i].option))
            continue;
        const char letter[] = {'-', pt_options[i].letter, ',', '\0'};
        snprintf(left, sizeof left, "%-3s --%s%s%s", pt_options[i].letter ? letter : "", pt_options[i].name,
                 pt_options[i].argument ? " " : "", pt_options[i].argument ? pt_options[i].argument : "");
        int used = printf("  %-20s ", left);
        pt_print_paragraph((uint32_t)used, HELP_COLUMN, "%s", pt_options[i].help);
    }
    printf("  %-20s %s\n", "-h, --help", "this text");
    if (text) {
        putchar('\n');
        print_lines(text);
    }
    free(text);
    if (verb->examples) {
        puts("\nExamples:");
        for (const char *line = verb->examples; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            printf("  %.*s\n", (int)strcspn(line, "\n"), line);
    }
}

static bool take_number(const char *name, const char *text, uint32_t highest, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || !value || value > highest) {
        pt_error("--%s takes a number from 1 to %u, not '%s'", name, highest, text);
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* "90", "1.5s", "1m30s", "250ms": nanoseconds. */
static bool take_time(const char *name, const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    double sum = 0;
    bool good = *text;
    for (const char *at = text; good && *at;) {
        char *end;
        double number = strtod(at, &end), unit = 0;
        good = end != at && (isdigit((unsigned char)*at) || *at == '.') && number >= 0 && number <= LONGEST_SECONDS;
        size_t i = 0, count = sizeof units / sizeof units[0];
        while (good && i < count && strncmp(end, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        if (!*end && at == text) /* a number alone */
            unit = 1e9, at = end;
        else if (good && i < count)
            unit = units[i].ns, at = end + strlen(units[i].unit);
        good = good && unit > 0;
        sum += number * unit;
    }
    if (!good || sum > LONGEST_SECONDS * 1e9) {
        pt_error("--%s takes a time like 10s, 1m30s or 250ms, not '%s'", name, text);
        return false;
    }
    *ns = (uint64_t)sum;
    return true;
}

/* Whether it can be used; what uses it compiles it again. */
static bool check_regex(const char *name, const char *text)
{
    char problem[160];
    regex_t regex;
    int error = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (!error) {
        regfree(&regex);
        return true;
    }
    regerror(error, &regex, problem, sizeof problem);
    pt_error("--%s takes a regular expression (POSIX extended), not '%s': %s", name, text, problem);
    return false;
}

static bool check_pids(const char *text)
{
    if (*text && !text[strspn(text, "0123456789,")])
        return true;
    pt_error("--pid takes process ids with commas between them, not '%s'", text);
    return false;
}

static bool say_least_delay(void)
{
    pt_error("--delay takes a time that is longer than nothing: logs grow once a second");
    return false;
}

/* What formats there are, `export` says with their extensions. */
static bool check_choice(const struct pt_option_row *row, const char *argument)
{
    struct pt_buffer known = {0};
    if (!row->choices || row->option == PT_OPTION_FORMAT)
        return true;
    size_t length = strlen(argument);
    bool found = false;
    for (const char *at = row->choices; *at && !found; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        found = word == length && memcmp(at, argument, length) == 0;
        pt_buffer_format(&known, "%s'%.*s'", known.length ? at[word] ? ", " : " or " : "", (int)word, at);
        at += word;
    }
    if (!found)
        pt_error("--%s takes %s, not '%s'", row->name, known.data, argument);
    pt_buffer_free(&known);
    return found;
}

static bool take_option(struct pt_cli *cli, int place, const char *argument)
{
    if (!check_choice(&pt_options[place], argument))
        return false;
    switch (pt_options[place].option) {
    case PT_OPTION_OUTPUT:
    case PT_OPTION_MERGED:
    case PT_OPTION_DIRECTORY:
    case PT_OPTION_PAGE:
        cli->output = argument;
        return true;
    case PT_OPTION_DIFF_FORMAT:
        cli->format = argument;
        return true;
    case PT_OPTION_BY:
        cli->by = argument;
        return true;
    case PT_OPTION_FORMAT:
        cli->format = argument;
        return true;
    case PT_OPTION_UNIT:
        cli->unit = argument;
        return true;
    case PT_OPTION_HZ:
        return take_number("hz", argument, HIGHEST_HZ, &cli->hz);
    case PT_OPTION_DELAY:
        return take_time("delay", argument, &cli->delay_ns) && (cli->delay_ns || say_least_delay());
    case PT_OPTION_COUNT:
        return take_number("count", argument, HIGHEST_TOP, &cli->count);
    case PT_OPTION_TOP:
        return take_number("top", argument, HIGHEST_TOP, &cli->top);
    case PT_OPTION_RUN:
        cli->run = argument;
        return true;
    case PT_OPTION_JSON:
        return cli->json = true;
    case PT_OPTION_INTERVALS:
        return cli->intervals = true;
    case PT_OPTION_LINES:
        return cli->lines = true;
    case PT_OPTION_THREADS:
        return cli->threads = true;
    case PT_OPTION_PROCESSES:
        return cli->processes = true;
    case PT_OPTION_GIL:
        return cli->gil = true;
    case PT_OPTION_DIFF:
        return cli->diff = true;
    case PT_OPTION_ALL:
        return cli->all = true;
    case PT_OPTION_FROM:
        return take_time("from", argument, &cli->from_ns);
    case PT_OPTION_TO:
        return take_time("to", argument, &cli->to_ns);
    case PT_OPTION_PID:
        cli->pid = argument;
        return check_pids(argument);
    case PT_OPTION_THREAD:
        cli->thread = argument;
        return check_regex("thread", argument);
    case PT_OPTION_FOCUS:
        cli->focus = argument;
        return check_regex("focus", argument);
    case PT_OPTION_IGNORE:
        cli->ignore = argument;
        return check_regex("ignore", argument);
    case PT_OPTION_NO_NATIVE:
        return cli->no_native = true;
    }
    return false;
}

bool pt_cli_parse(const struct pt_command *verb, int argc, char **argv, struct pt_cli *cli, int *status)
{
    /* '+': the options of a command that follows are its own. */
    char letters[2 * OPTIONS + 4] = "+:h", *end = letters + 3;
    struct option longs[OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    if (!verb->command)
        end = stpcpy(letters, ":h");
    int count = 1;
    for (int i = 0; i < OPTIONS; i++) {
        if (!(verb->options & pt_options[i].option))
            continue;
        if (pt_options[i].letter)
            *end++ = pt_options[i].letter;
        if (pt_options[i].letter && pt_options[i].argument)
            *end++ = ':';
        longs[count++] = (struct option){pt_options[i].name, pt_options[i].argument ? required_argument : no_argument,
                                         NULL, LONG_ONLY + i};
    }
    *cli = (struct pt_cli){.to_ns = UINT64_MAX};
    *status = PT_EXIT_USAGE;
    optind = 1;
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (value == 'h') {
            pt_cli_help(verb);
            *status = PT_EXIT_OK;
            return false;
        }
        if (value == '?' || value == ':') {
            pt_error("%s '%s': see 'pyprof %s --help'",
                     value == ':' ? "something must follow" : "no such option:", argv[optind - 1], verb->name);
            return false;
        }
        int place = value - LONG_ONLY;
        for (int i = 0; place < 0 && i < OPTIONS; i++)
            if (pt_options[i].letter == value && verb->options & pt_options[i].option)
                place = i;
        if (!take_option(cli, place, optarg))
            return false;
    }
    if (cli->from_ns >= cli->to_ns) {
        pt_error("--from must be before --to");
        return false;
    }
    cli->arguments = argv + optind;
    cli->argument_count = argc - optind;
    cli->after_dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    return true;
}
