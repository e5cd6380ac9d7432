/* SPDX-License-Identifier: Apache-2.0 */
/* Answers a command that pyprof does not have: those of other profilers, misspelled ones, and programs to profile. */
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/print.h"
#include "cli/options.h"

#define LONGEST  16 /* of names that are compared */
#define MISTAKES 2  /* characters that are wrong, missing or too many in a misspelled name */

static const struct {
    const char *names, *answer;
} others[] = {
    {" record start profile trace ", "profile a program with: pyprof run -- python app.py"},
    {" attach ", "a running process cannot be joined; start it with: pyprof run -- python app.py"},
    {" stop detach ",
     "the profile is written while the program runs: pyprof report shows what there is; to stop sampling: "
     "pyprof ctl pause"},
    {" dump stack stacks backtrace ", "pyprof shows where CPU time goes, not where a thread is now: pyprof top PID"},
    {" stats stat summary show view text print ", "the text report is: pyprof report"},
    {" flamegraph flamechart graph html svg ", "for a page: pyprof flame; for a picture: pyprof export -o app.svg"},
    {" live watch monitor ", "to watch a program: pyprof top"},
    {" server web ui ", "for a browser: pyprof serve; a page that needs no server: pyprof flame -o app.html"},
    {" pprof speedscope firefox pstats perf script collapsed convert ", "for other tools: pyprof export --help"},
    {" heatmap lines list weblist source ", "the source with the CPU time of each line: pyprof annotate app.py"},
    {" compare difference ", "to compare two profiles: pyprof diff"},
    {" ls sessions ", "the runs in a directory: pyprof runs"},
    {" check status diagnose ", "whether profiling works: pyprof doctor"},
    {" version ", "pyprof --version"},
};

static bool is_word(const char *words, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = words; *name && (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* Returns how many characters are wrong, missing, too many or swapped with their neighbour. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[LONGEST + 1][LONGEST + 1];
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            unsigned least = (unsigned)(i + j);
            if (i && j) {
                unsigned one = rows[i - 1][j] < rows[i][j - 1] ? rows[i - 1][j] : rows[i][j - 1];
                least = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                least = one + 1 < least ? one + 1 : least;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && rows[i - 2][j - 2] + 1 < least)
                least = rows[i - 2][j - 2] + 1;
            rows[i][j] = least;
        }
    return rows[m][n];
}

static const char *nearest(const struct pt_command_table *commands, const char *name)
{
    const char *found = NULL;
    unsigned least = strlen(name) > MISTAKES + 1 ? MISTAKES + 1 : MISTAKES;
    for (unsigned i = 0; i < commands->count; i++) {
        unsigned apart = distance(name, commands->items[i].name);
        if (!commands->items[i].hidden && apart < least) {
            least = apart;
            found = commands->items[i].name;
        }
    }
    return found;
}

/* Appends how to profile it, if the first word is the name of a program or a script. */
static void append_program(struct pt_buffer *answer, char *const *words)
{
    const char *name = words[0];
    bool script = pt_has_extension(name, ".py"), number = *name && !name[strspn(name, "0123456789")];
    if (number)
        pt_buffer_format(answer, "to watch a process: pyprof top %s", name);
    else if (script || strncmp(name, "python", 6) == 0 || (strchr(name, '/') && access(name, X_OK) == 0)) {
        pt_buffer_format(answer, "to profile a program: pyprof run -- %s", script ? "python " : "");
        for (pt_append_argument(answer, name); *++words;) {
            pt_buffer_text(answer, " ");
            pt_append_argument(answer, *words);
        }
    }
}

void pt_unknown_command(const struct pt_command_table *commands, char *const *words)
{
    PT_AUTO_BUFFER answer = {0};
    const char *name = words[0];
    const char *meant = nearest(commands, name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_word(others[i].names, name))
            pt_buffer_text(&answer, others[i].answer);
    if (!answer.length)
        append_program(&answer, words);
    if (answer.length)
        pt_error("no command '%s'; %s", name, answer.data);
    else if (meant)
        pt_error("no command '%s'; did you mean 'pyprof %s'?", name, meant);
    else
        pt_error("no command '%s'; 'pyprof --help' lists them", name);
}
