/* Manual pages, from the tables of verbs and options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* Text for roff: nothing in it is a request or an escape. Lines that begin with a space stay as they are. */
static void put_text(const char *text, size_t length)
{
    bool begins = true;
    for (size_t i = 0; i < length; i++) {
        if (begins && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stdout);
        begins = text[i] == '\n';
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else if (text[i] == '\'')
            fputs("\\(aq", stdout);
        else if (text[i] == '`')
            fputs("\\(ga", stdout);
        else
            putchar(text[i]);
    }
}

static void put_string(const char *text)
{
    put_text(text, strlen(text));
}

/* Paragraphs and tables: a line that begins with a blank belongs to a table. */
static void put_paragraphs(const char *text)
{
    bool table = false;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (!length) {
            puts(table ? ".fi\n.PP" : ".PP");
            table = false;
            continue;
        }
        if ((*text == ' ') != table) {
            puts(table ? ".fi" : ".nf");
            table = !table;
        }
        put_text(text, length);
        puts(table ? "" : "\n.br");
    }
    if (table)
        puts(".fi");
}

static void put_name(const char *verb, const char *summary)
{
    printf(".TH PYPROF%s%s 1 \"\" \"libpyprof " PYPROF_VERSION "\"\n.SH NAME\npyprof", verb ? "-" : "",
           verb ? verb : "");
    if (verb)
        printf("\\-%s", verb);
    fputs(" \\- ", stdout);
    put_string(summary);
    putchar('\n');
}

static void put_verb(const struct pt_command *verb)
{
    put_name(verb->name, verb->summary);
    printf(".SH SYNOPSIS\n.B pyprof %s\n", verb->name);
    put_string(verb->arguments);
    puts("\n.SH DESCRIPTION");
    put_string(verb->summary);
    puts(".");
    char *text = pt_command_text(verb);
    if (text) {
        puts(".PP");
        put_paragraphs(text);
    }
    free(text);
    puts(".SH OPTIONS");
    for (unsigned i = 0; i < pt_option_count; i++) {
        const struct pt_option_row *row = &pt_options[i];
        if (!(verb->options & row->option))
            continue;
        puts(".TP");
        if (row->letter)
            printf("\\fB\\-%c\\fR, ", row->letter);
        fputs("\\fB\\-\\-", stdout);
        put_string(row->name);
        fputs("\\fR", stdout);
        if (row->argument)
            printf(" \\fI%s\\fR", row->argument);
        putchar('\n');
        put_string(row->help);
        putchar('\n');
    }
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\na summary of this page");
    if (verb->examples) {
        puts(".SH EXAMPLES\n.nf");
        put_string(verb->examples);
        puts("\n.fi");
    }
    bool judges = verb->main == pt_cmd_doctor;
    printf(".SH EXIT STATUS\n0: %s. 1: %s. 2: the command line is wrong.\n",
           judges ? "sampling works or would" : "done",
           judges ? "it does not" : "the data could not be read or written");
    if (verb->command)
        puts("Otherwise that of the command; 127 when it was not found, 126 when it could not be run.");
    puts(".SH SEE ALSO\n.BR pyprof (1),\n.BR libpyprof (7)");
}

static void put_main(void)
{
    put_name(NULL, "Where the CPU time of a Python program goes");
    puts(".SH SYNOPSIS\n.B pyprof\nVERB [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n"
         "Records, with the library libpyprof.so, and shows how the CPU time of Python programs is spent: Python and\n"
         "native code, every thread, every process. The library is described in\n.BR libpyprof (7).\n.SH VERBS");
    for (unsigned i = 0; i < pt_command_count; i++) {
        if (pt_commands[i].hidden)
            continue;
        printf(".TP\n.BR pyprof\\-%s (1)\n", pt_commands[i].name);
        put_string(pt_commands[i].summary);
        putchar('\n');
    }
    puts(".SH EXAMPLES\n.nf\npyprof run \\-\\- python app.py\npyprof report\npyprof flame \\-o app.html\n.fi\n"
         ".SH ENVIRONMENT\n.TP\n.B PYPROF_OUT\nthe directory to read when no PATH is given (default: ./pyprof.out)\n"
         ".TP\n.B DEBUGINFOD_URLS\nservers to fetch missing debug information of native code from, by libdebuginfod;\n"
         "unset, nothing goes to the network\n"
         ".TP\n.BR DEBUGINFOD_CACHE_PATH \", \" XDG_CACHE_HOME\nwhere libdebuginfod keeps what it has fetched\n"
         ".SH SEE ALSO\n.BR libpyprof (7),\n.BR pyprof\\-log (5)");
}

int pt_cmd_manpage(const struct pt_cli *cli)
{
    if (!cli->argument_count) {
        put_main();
        return PT_EXIT_OK;
    }
    bool list = strcmp(cli->arguments[0], "list") == 0; /* the names, for what makes all pages */
    for (unsigned i = 0; list && i < pt_command_count; i++)
        if (!pt_commands[i].hidden)
            puts(pt_commands[i].name);
    if (list)
        return PT_EXIT_OK;
    for (unsigned i = 0; i < pt_command_count; i++) {
        if (strcmp(cli->arguments[0], pt_commands[i].name) == 0) {
            put_verb(&pt_commands[i]);
            return PT_EXIT_OK;
        }
    }
    pt_error("no such verb '%s'", cli->arguments[0]);
    return PT_EXIT_USAGE;
}
