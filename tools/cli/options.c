/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "times.h"

#define HIGHEST_NUMBER 1000000
#define HELP_COLUMN    23  /* where an option's help begins */
#define MAX_OPTIONS    32  /* limit per command */
#define LONG_ONLY      256 /* getopt value of a long option: this + its index in the command's list */

char *pt_command_text(const struct pt_command *command)
{
    struct pt_buffer text = {0};
    if (command->table)
        command->table(&text);
    if (command->more)
        pt_buffer_text(&text, command->more);
    return text.data;
}

/* Prints help text: lines that begin with a blank belong to a table and are not wrapped. */
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

void pt_cli_help(const struct pt_command *command)
{
    char *text = pt_command_text(command);
    printf("Usage: pyprof %s%s%s\n", command->name, *command->arguments ? " " : "", command->arguments);
    pt_print_paragraph(0, 0, "%s.", command->summary);
    puts("\nOptions:");
    for (const struct pt_option *const *at = command->options; *at; at++) {
        char left[32];
        const char letter[] = {'-', (*at)->letter, ',', '\0'};
        snprintf(left, sizeof left, "%-3s --%s%s%s", (*at)->letter ? letter : "", (*at)->name,
                 (*at)->argument ? " " : "", (*at)->argument ? (*at)->argument : "");
        int used = printf("  %-20s ", left);
        pt_print_paragraph((uint32_t)used, HELP_COLUMN, "%s", (*at)->help);
    }
    printf("  %-20s %s\n", "-h, --help", "this text");
    if (text) {
        putchar('\n');
        print_lines(text);
    }
    free(text);
    if (command->examples) {
        puts("\nExamples:");
        for (const char *line = command->examples; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            printf("  %.*s\n", (int)strcspn(line, "\n"), line);
    }
}

static bool parse_number(const char *name, const char *text, uint32_t highest, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || !value || value > highest)
        return pt_error("--%s takes a number from 1 to %u, not '%s'", name, highest, text);
    *number = (uint32_t)value;
    return true;
}

static bool parse_duration(const char *name, const char *text, uint64_t *ns)
{
    if (pt_parse_duration(text, ns))
        return true;
    return pt_error("--%s takes a time like 10s, 1m30s or 250ms, not '%s'", name, text);
}

static bool parse_when(const char *name, const char *text, struct pt_when *when)
{
    bool parsed = pt_parse_when(text, pt_clock_ns(CLOCK_REALTIME), when);
    if (parsed && !pt_when_is_given(when) && strcmp(name, "to") == 0)
        return pt_error("--from must be before --to");
    if (parsed)
        return true;
    return pt_error(
        "--%s takes a time of the run like 1m30s, -5m for as long before its end, ready, a time of day like 14:05, a "
        "date like 2026-11-27 or '2026-11-27 14:05', or yesterday, not '%s'",
        name, text);
}

/* Parses "3%" or "3". */
static bool parse_percent(const char *name, const char *text, double *percent)
{
    char *end;
    *percent = strtod(text, &end);
    bool good = end != text && isdigit((unsigned char)*text) && *percent > 0 && *percent <= HIGHEST_NUMBER;
    good = good && (!*end || strcmp(end, "%") == 0);
    return good || pt_error("--%s takes a percentage like 3%%, not '%s'", name, text);
}

/* Checks that the regular expression compiles; its users compile it again. */
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
    return pt_error("--%s takes a regular expression (POSIX extended), not '%s': %s", name, text, problem);
}

static bool check_pids(const char *name, const char *text)
{
    if (*text && !text[strspn(text, "0123456789,")])
        return true;
    return pt_error("--%s takes process ids with commas between them, not '%s'", name, text);
}

static bool check_trace(const char *name, const char *text)
{
    size_t length = strlen(text);
    if (length && length <= 2 * PT_TRACE_BYTES && strspn(text, "0123456789abcdefABCDEF") == length)
        return true;
    return pt_error("--%s takes a trace id, 32 hexadecimal digits, or its beginning, not '%s'", name, text);
}

static bool check_duration(const char *name, const uint64_t *ns)
{
    if (!*ns)
        pt_error("--%s must be greater than zero", name);
    return *ns;
}

static bool check_choice(const struct pt_option *option, const char *argument)
{
    PT_AUTO_BUFFER known = {0};
    size_t length = strlen(argument);
    bool found = false;
    for (const char *at = option->choices, *next; *at && !found; at = next) {
        size_t word = strcspn(at, " ");
        next = at + word + strspn(at + word, " ");
        const char *colon = memchr(at, ':', word);
        size_t fixed = colon ? (size_t)(colon - at) + 1 : word;
        found = (colon ? length > fixed : length == word) && memcmp(at, argument, fixed) == 0;
        pt_buffer_format(&known, "%s'%.*s'", known.length ? *next ? ", " : " or " : "", (int)word, at);
    }
    if (!found)
        pt_error("--%s takes %s, not '%s'", option->name, known.data, argument);
    return found;
}

static bool parse_option(struct pt_cli *cli, const struct pt_option *option, const char *argument)
{
    void *field = (char *)cli + option->field;
    switch (option->value) {
    case PT_FLAG:
        return *(bool *)field = true;
    case PT_HZ:
        return parse_number(option->name, argument, PP_HIGHEST_HZ, field);
    case PT_NUMBER:
        return parse_number(option->name, argument, HIGHEST_NUMBER, field);
    case PT_PERCENT:
        return parse_percent(option->name, argument, field);
    case PT_WHEN:
        return parse_when(option->name, argument, field);
    case PT_LAST: {
        struct pt_when *when = field;
        *when = (struct pt_when){0};
        return parse_duration(option->name, argument, &when->before_end_ns) &&
               check_duration(option->name, &when->before_end_ns);
    }
    case PT_DURATION:
        return parse_duration(option->name, argument, field) && check_duration(option->name, field);
    case PT_BY:
        /* Takes what diff compares (share, cpu, time), or whose CPU it was (query/group.h). */
        if (strcmp(argument, "share") == 0 || strcmp(argument, "cpu") == 0 || strcmp(argument, "time") == 0)
            cli->by = argument;
        else
            cli->request.by = strcmp(argument, "function") == 0 ? NULL : argument;
        break;
    case PT_RUN_ID: /* a shell variable that is not set must not mean all runs */
        if (!*argument)
            return pt_error("--%s takes the id of a run or its beginning, not ''; 'pyprof runs' lists them",
                            option->name);
        __attribute__((fallthrough));
    case PT_PIDS:
    case PT_TRACE:
    case PT_REGEX:
    case PT_REGEX_OR_LABEL:
    case PT_TEXT:
        *(const char **)field = argument;
        break;
    }
    return (option->value != PT_PIDS || check_pids(option->name, argument)) &&
           (option->value != PT_TRACE || check_trace(option->name, argument)) &&
           (option->value != PT_REGEX || check_regex(option->name, argument)) &&
           (option->value != PT_REGEX_OR_LABEL || strchr(argument, '=') || check_regex(option->name, argument)) &&
           (!option->choices || check_choice(option, argument));
}

static void complain_of_option(const struct pt_command *command, bool known, const char *option)
{
    if (strcmp(option, "--no-native") == 0)
        pt_error("--no-native has become --native=none");
    else if (strcmp(option, "--diff") == 0)
        pt_error("two profiles are compared by diff: pyprof diff -o FILE.html BASE NEW");
    else
        pt_error("%s '%s'; see 'pyprof %s --help'", known ? "missing argument of" : "no such option", option,
                 command->name);
}

/* Both set where the time begins: the later on the command line would silently win. */
static bool check_beginning(bool from, bool last)
{
    return !(from && last) || pt_error("--last N is --from -N: give one of the two");
}

static bool parse_options(const struct pt_command *command, int argc, char **argv, struct pt_cli *cli, int *status)
{
    /* '+' stops at the first operand: options after it belong to the command that is run. */
    char letters[2 * MAX_OPTIONS + 4], *end = stpcpy(letters, command->runs_command ? "+:h" : ":h");
    struct option longs[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    for (int i = 0; command->options[i]; i++) {
        const struct pt_option *option = command->options[i];
        if (option->letter)
            *end++ = option->letter;
        if (option->letter && option->argument)
            *end++ = ':';
        *end = '\0';
        longs[i + 1] =
            (struct option){option->name, option->argument ? required_argument : no_argument, NULL, LONG_ONLY + i};
    }
    bool from = false, last = false;
    optind = 1;
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (value == 'h') {
            pt_cli_help(command);
            *status = PT_EXIT_OK;
            return false;
        }
        if (value == '?' || value == ':') {
            complain_of_option(command, value == ':', argv[optind - 1]);
            return false;
        }
        int place = value - LONG_ONLY;
        for (int i = 0; place < 0; i++)
            if (command->options[i]->letter == value)
                place = i;
        if (!parse_option(cli, command->options[place], optarg))
            return false;
        last |= command->options[place]->value == PT_LAST;
        from |= command->options[place]->value == PT_WHEN &&
                command->options[place]->field == offsetof(struct pt_cli, request.select.from);
    }
    return check_beginning(from, last);
}

/* Times of different kinds can be compared only when the run is known. */
static bool check_order(const struct pt_cli *cli)
{
    const struct pt_when *from = &cli->request.select.from, *to = &cli->request.select.to;
    bool reversed = (to->of_run_ns && from->of_run_ns >= to->of_run_ns) ||
                    (to->unix_ns && from->unix_ns >= to->unix_ns) ||
                    (from->before_end_ns && from->before_end_ns <= to->before_end_ns) || (from->ready && to->ready);
    return !reversed || pt_error("--from must be before --to");
}

bool pt_cli_parse(const struct pt_command *command, int argc, char **argv, struct pt_cli *cli, int *status)
{
    struct pt_selection *select = &cli->request.select;
    *cli = (struct pt_cli){.request = {.messages = &pt_messages_to_stderr}};
    *status = PT_EXIT_USAGE;
    if (!parse_options(command, argc, argv, cli, status))
        return false;
    if (!check_order(cli))
        return false;
    if (cli->native)
        select->native = strcmp(cli->native, "all") == 0    ? PT_NATIVE_ALL
                         : strcmp(cli->native, "none") == 0 ? PT_NATIVE_NONE
                                                            : PT_NATIVE_LIBRARIES;
    if (cli->traces || select->trace || (cli->request.by && strcmp(cli->request.by, "trace") == 0))
        cli->request.traces = PT_TRACES_ONLY;
    cli->request.typed = argv;
    cli->request.paths = cli->arguments = argv + optind;
    cli->request.path_count = cli->argument_count = argc - optind;
    cli->after_dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    return true;
}

const struct pt_command *pt_command_named(const struct pt_command_table *commands, const char *name)
{
    for (unsigned i = 0; i < commands->count; i++)
        if (strcmp(name, commands->items[i].name) == 0)
            return &commands->items[i];
    return NULL;
}
