/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, from the tables of commands and options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/common/pseudo_frames.h"
#include "cli/options.h"

/* Text for roff: nothing in it is a request or an escape. */
static void put_text(const char *text, size_t length)
{
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}};
    for (size_t i = 0; i < length; i++) {
        const char *escape = NULL;
        if (text[i] == '.' && (!i || text[i - 1] == '\n'))
            fputs("\\&", stdout);
        for (size_t j = 0; j < sizeof escapes / sizeof escapes[0]; j++)
            if (text[i] == escapes[j].character)
                escape = escapes[j].escape;
        if (escape)
            fputs(escape, stdout);
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

static void put_title(const char *dash, const char *command, const char *summary)
{
    printf(".TH PYPROF%s%s 1 \"\" \"libpyprof " PYPROF_VERSION "\"\n.SH NAME\npyprof", dash, command);
    put_string(dash);
    printf("%s \\- ", command);
    put_string(summary);
    putchar('\n');
}

static void put_option(const struct pt_option *option)
{
    puts(".TP");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    put_string(option->name);
    printf("\\fR%s%s%s\n", option->argument ? " \\fI" : "", option->argument ? option->argument : "",
           option->argument ? "\\fR" : "");
    put_string(option->help);
    putchar('\n');
}

static void put_command(const struct pt_command *command)
{
    char *text = pt_command_text(command);
    put_title("-", command->name, command->summary);
    printf(".SH SYNOPSIS\n.B pyprof %s\n", command->name);
    put_string(command->arguments);
    puts("\n.SH DESCRIPTION");
    put_string(command->summary);
    puts(".");
    if (text) {
        puts(".PP");
        put_paragraphs(text);
    }
    free(text);
    puts(".SH OPTIONS");
    for (const struct pt_option *const *at = command->options; *at; at++)
        put_option(*at);
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\na summary of this page");
    if (command->examples) {
        puts(".SH EXAMPLES\n.nf");
        put_string(command->examples);
        puts("\n.fi");
    }
    bool judges = command->main == pt_cmd_doctor;
    printf(".SH EXIT STATUS\n0: %s. 1: %s. 2: the command line is wrong.\n",
           judges ? "sampling works, would, or is paused" : "done",
           judges ? "it does not" : "the data could not be read or written");
    if (command->runs_command)
        puts("Otherwise that of the command; 127 when it was not found, 126 when it could not be run.");
    puts(".SH SEE ALSO\n.BR pyprof (1),\n.BR libpyprof (7)");
}

static void put_frames(void)
{
    puts(".SH FRAMES\nPython functions are shown as\n.IR \"function (file.py:N)\" ,\nN being the line where the "
         "function "
         "starts, native functions as\n.IR \"symbol (library.so)\" .\nAn address replaces a name that was stripped;\n"
         ".I (inlined)\nmarks a function that the compiler inlined into its caller.\n"
         "Names in brackets are not functions:\n"
         ".TP\n.B " PP_PSEUDO_UNSAMPLED
         "\nCPU time without a sample: after a thread's last sample, or in step with the kernel's ticks\n"
         ".TP\n.B " PP_PSEUDO_GC "\ngarbage collection, a callee of the Python function that triggered it\n"
         ".TP\n.B " PP_PSEUDO_INTERPRETER "\na stack with frames of the interpreter only\n"
         ".TP\n.B " PP_PSEUDO_JIT "\nmachine code that belongs to no file and has no name; with one it is shown as\n"
         ".IR \"name (jit)\" .\nlibpyprof(7) says where names come from; what called it natively may be missing\n"
         ".TP\n.B \"" PP_PSEUDO_JIT_OR_UNLOADED
         "\"\nthat, or code of a library that was closed before its samples were written (libpyprof(7) says when)\n"
         ".TP\n.B " PP_PSEUDO_PAUSED "\nCPU time while sampling was switched off by\n.BR pyprof\\-ctl (1)\n"
         ".TP\n.B \"" PP_PSEUDO_MEANWHILE
         "\"\nthreads without Python, below the function in which the main thread waited for them\n"
         ".TP\n.B " PP_PSEUDO_LOST "\nsamples that were dropped because a buffer was full\n"
         ".TP\n.B " PP_PSEUDO_NOT_SELECTED
         "\nCPU time of which PYPROF_TRACES=...,only keeps no stack: outside of the traces that it selects\n"
         ".TP\n.B " PP_PSEUDO_THREAD_EXIT "\nCPU time that the kernel bills for ending threads\n"
         ".TP\n.BR \"" PP_PSEUDO_NATIVE_TRUNCATED ": \\fIreason\\fB]\" \", \" \"[python stack torn]\"\n"
         "the rest of this stack could not be read, and why; \"no unwind rows yet\": a first sample of some function, "
         "on a\n"
         "stack too deep to be copied\n"
         ".TP\n.B " PP_PSEUDO_STACK_LOST "\na part of the file cannot be read; the CPU time is known\n"
         ".PP\nNames in parentheses and\n.B [imports]\nare rows of tables, not of stacks: what importing costs,\n"
         "what runs without a Python function or outside of all endpoints, tasks or labels,\n"
         "what was measured of a process only.\n"
         ".SH NATIVE CODE\nNames of native functions travel in the profile.\n"
         ".B pyprof report\nsays how much CPU time was in Python's own C code, in libraries and in code of JITs,\n"
         "by the innermost frame.\n"
         "Where a library has debug information, its inlined functions, files and lines are shown too.\n"
         ".B pyprof\nsearches the library itself,\n.I /usr/lib/debug\n(on Debian and Ubuntu the \\-dbgsym packages) "
         "and\n"
         "debuginfod's cache on the machine where it runs, and uses only files whose build-id matches.\n"
         ".B pyprof top\ncounts inlined functions towards their callers.");
}

static void put_main(const struct pt_command_table *commands)
{
    put_title("", "", "Shows where the CPU time of a Python program goes");
    puts(".SH SYNOPSIS\n.B pyprof\nCOMMAND [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n"
         "Records, with the library libpyprof.so, and shows how the CPU time of Python programs is spent: Python and\n"
         "native code, every thread, every process. The library is described in\n.BR libpyprof (7).\n.SH COMMANDS");
    for (unsigned i = 0; i < commands->count; i++) {
        if (commands->items[i].hidden)
            continue;
        printf(".TP\n.BR pyprof\\-%s (1)\n", commands->items[i].name);
        put_string(commands->items[i].summary);
        putchar('\n');
    }
    put_frames();
    puts(".SH EXAMPLES\n.nf\npyprof run \\-\\- python app.py\npyprof report\npyprof flame \\-o app.html\n.fi\n"
         ".SH ENVIRONMENT\n.TP\n.B PYPROF_OUT\nthe directory to read when no PATH is given (default: ./pyprof.out)\n"
         ".TP\n.B DEBUGINFOD_URLS\nservers from which debuginfod-find fetches missing debug information of native "
         "code;\n"
         "if unset, nothing goes to the network\n"
         ".TP\n.BR DEBUGINFOD_CACHE_PATH \", \" XDG_CACHE_HOME\nwhere debuginfod-find keeps what it has fetched\n"
         ".SH COPYRIGHT\nThe libpyprof authors. Licensed under the Apache License, Version 2.0.\n"
         ".SH SEE ALSO\n.BR libpyprof (7),\n.BR pyprof\\-log (5)");
}

int pt_cmd_manpage(const struct pt_cli *cli)
{
    const char *name = cli->argument_count ? cli->arguments[0] : NULL;
    const struct pt_command_table *commands = cli->commands;
    const struct pt_command *command = name ? pt_command_named(commands, name) : NULL;
    if (command) {
        put_command(command);
    } else if (!name) {
        put_main(commands);
    } else if (strcmp(name, "list") == 0) { /* for the script that makes all pages */
        for (unsigned i = 0; i < commands->count; i++)
            if (!commands->items[i].hidden)
                puts(commands->items[i].name);
    } else {
        return pt_exit_with(PT_EXIT_USAGE, "no such command '%s'", name);
    }
    return PT_EXIT_OK;
}
