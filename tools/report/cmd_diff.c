/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/output.h"
#include "../base/pager.h"
#include "../base/print.h"
#include "../cli/options.h"
#include "../flame/flame.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../model/frame_text.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "compare.h"

/* Exit statuses with --fail-above, as those of diff(1): a comparison that failed is not one that could not be made. */
#define GATE_FAILED    1
#define CANNOT_COMPARE 2

enum form { AS_TEXT, AS_JSON, AS_COLLAPSED, AS_PAGE };

static const struct {
    const char *name;
    const char *extensions[2];
} forms[] = {
    [AS_TEXT] = {"text", {".txt"}},
    [AS_JSON] = {"json", {".json"}},
    [AS_COLLAPSED] = {"collapsed", {".collapsed", ".folded"}},
    [AS_PAGE] = {"html", {".html", ".htm"}},
};
#define FORMS (sizeof forms / sizeof forms[0])

struct job {
    const struct pt_cli *cli;
    enum form form;
    struct pt_profile *profiles[2]; /* A, B */
    struct pt_side sides[2];        /* unless it is a page, which shows first lines: sides have none */
    enum pt_compare_by by;
    struct pt_comparison comparison; /* of the sides */
};

/* Returns what --by says; PT_COMPARE_SHARE if it says nothing. */
static enum pt_compare_by by_of(const struct pt_cli *cli)
{
    enum pt_compare_by by = PT_COMPARE_SHARE;
    for (enum pt_compare_by i = PT_COMPARE_SHARE; cli->by && i <= PT_COMPARE_CPU; i++)
        by = strcmp(cli->by, pt_compare_word(i)) == 0 ? i : by;
    return by;
}

static void put_text(struct job *job, FILE *out)
{
    pt_comparison_print(&job->comparison, job->cli, out);
    if (job->comparison.group && !job->cli->request.by) {
        putc('\n', out);
        pt_put_paragraph(out, 0, 2, "Functions: --by share");
    }
}

static void put_json(struct job *job, FILE *out)
{
    pt_comparison_json(&job->comparison, job->cli, out);
}

/* "stack A B": A's weights are brought to B's CPU, time or number of runs, as `difffolded.pl -n` does. */
static void put_collapsed(struct job *job, FILE *out)
{
    double of_a = pt_compare_unit(&job->sides[0], job->by), of_b = pt_compare_unit(&job->sides[1], job->by);
    double factor = of_a > 0 && of_b > 0 ? of_a / of_b : 1;
    uint32_t count;
    struct pt_compared *all = pt_compare_stacks(job->sides, job->cli->lines, &count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%s %.0f %" PRIu64 "\n", all[i].text, (double)all[i].self.ns[0] * factor, all[i].self.ns[1]);
    pt_compared_stacks_free(all, count);
}

static void put_page(struct job *job, FILE *out)
{
    struct pt_flame *flame = pt_flame_new(job->profiles, 2, job->cli->lines);
    flame->by_time = job->by == PT_COMPARE_TIME;
    flame->group = job->cli->request.by;
    flame->native = job->cli->request.select.native;
    pt_flame_write(flame, out);
    pt_flame_free(flame);
}

static void write_diff(void *data, FILE *out)
{
    static void (*const put[])(struct job * job, FILE * out) = {
        [AS_TEXT] = put_text, [AS_JSON] = put_json, [AS_COLLAPSED] = put_collapsed, [AS_PAGE] = put_page};
    struct job *job = data;
    put[job->form](job, out);
}

/* Returns the form that is named, else that of the file's extension, else text. */
static enum form form_of(const struct pt_cli *cli)
{
    if (cli->json)
        return AS_JSON;
    for (unsigned i = 0; i < FORMS; i++) {
        if (cli->format && strcmp(cli->format, forms[i].name) == 0)
            return (enum form)i;
        for (unsigned j = 0; !cli->format && cli->output && j < 2; j++)
            if (forms[i].extensions[j] && pt_has_extension(cli->output, forms[i].extensions[j]))
                return (enum form)i;
    }
    return AS_TEXT;
}

/* Returns false after a line on stderr: the extension is another format's. */
static bool has_form(const struct pt_cli *cli)
{
    if (cli->format || cli->json || pt_is_stdout(cli->output) || form_of(cli) != AS_TEXT ||
        pt_has_extension(cli->output, ".txt") || !strchr(pt_base_name(cli->output), '.'))
        return true;
    return pt_error("%s: diff writes .html, .json, .collapsed and .txt", cli->output);
}

/* Returns false after a line on stderr. */
static bool can_be_written(const struct job *job)
{
    if (job->form != AS_PAGE)
        return true;
    if (job->cli->fail_above > 0)
        return pt_error("--fail-above is for text, json and collapsed: write the page with another diff");
    if (pt_is_stdout(job->cli->output) && isatty(STDOUT_FILENO))
        return pt_error("stdout is a terminal: use -o FILE.html");
    return job->by != PT_COMPARE_CPU ||
           pt_error("the page compares shares of the CPU or CPU per second: --by share or --by time");
}

/* Returns the default directory, if it is there and not the given one; free() it. */
static char *other_directory(const struct stat *given)
{
    char *directory = pt_default_directory();
    struct stat here;
    if (stat(directory, &here) == 0 && (here.st_dev != given->st_dev || here.st_ino != given->st_ino))
        return directory;
    free(directory);
    return NULL;
}

/* Sets the two latest runs in a directory (NULL: the default one), the older one first, and returns how many it has: 0
 * after a message. The names that it has no run for are NULL. Repeats are one run. */
static uint32_t latest_runs(const struct pt_cli *cli, char *const *directory, char *names[2])
{
    const struct pt_load_request any = {.keep = PT_KEEP_SUMS,
                                        .typed = cli->request.typed,
                                        .messages = cli->request.messages,
                                        .paths = directory,
                                        .path_count = directory != NULL};
    struct pt_profile *profile = pt_load(&any);
    uint32_t count = 0, launches = 0;
    PT_AUTO_FREE struct pt_run *runs = profile ? pt_runs_of(profile, &count) : NULL; /* newest first */
    names[0] = names[1] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *run = pt_string(profile, runs[i].run);
        bool again = i && pt_are_repeats(pt_string(profile, runs[i - 1].run), run);
        launches += !again;
        if (!again && launches <= 2)
            names[2 - launches] = pt_strndup(run, strnlen(run, PT_REPEATED_LENGTH));
    }
    pt_profile_free(profile);
    return launches;
}

/* What was given as A and B, as pt_load takes it. */
struct sides_named {
    char *names[2];         /* paths, or runs */
    char *const *directory; /* of both runs; NULL: the default one, or the names are paths */
};

/* Sets A to what was given, and B to the latest run in the default directory. False after a message. */
static bool name_latest_here(const struct pt_cli *cli, struct sides_named *named)
{
    PT_AUTO_FREE char *here = pt_default_directory();
    bool any = pt_each_log(here, NULL, NULL) > 0 || access(cli->arguments[0], F_OK) == 0;
    if (any && !latest_runs(cli, NULL, named->names))
        return false;
    free(named->names[0]);
    named->names[0] = pt_strdup(cli->arguments[0]);
    if (!any) /* the load of A says that it is not there */
        named->names[1] = pt_strdup(cli->arguments[0]);
    return true;
}

static void say_other_comparison(const char *given, const char *other)
{
    PT_AUTO_BUFFER command = {0};
    pt_append_argument(&command, given);
    pt_buffer_text(&command, " ");
    pt_append_argument(&command, other);
    pt_message("compared: the two latest runs of %s; its latest run and the latest here: pyprof diff %s", given,
               command.data);
}

/* Names the two latest runs in a directory (NULL: the default one), or what was given and the latest run in the default
 * directory. False after a message. */
static bool name_runs(const struct pt_cli *cli, char *const *directory, const char *other, struct sides_named *named)
{
    uint32_t count = latest_runs(cli, directory, named->names);
    if (count == 1 && other) {
        free(named->names[1]);
        return name_latest_here(cli, named);
    }
    named->directory = directory;
    if (count == 1)
        pt_error("there is only one run %s%s: give two profiles, 'pyprof diff A B'", directory ? "in " : "here",
                 directory ? *directory : "");
    else if (count && other)
        say_other_comparison(*directory, other);
    return count > 1;
}

/* Names A and B by the arguments. False after a message. */
static bool name_sides(const struct pt_cli *cli, struct sides_named *named)
{
    struct stat given;
    if (!cli->argument_count)
        return name_runs(cli, NULL, NULL, named);
    if (cli->argument_count == 2) {
        for (int i = 0; i < 2; i++)
            named->names[i] = pt_strdup(cli->arguments[i]);
        return true;
    }
    if (cli->request.all || stat(cli->arguments[0], &given) != 0 || !S_ISDIR(given.st_mode))
        return name_latest_here(cli, named);
    PT_AUTO_FREE char *other = other_directory(&given);
    return name_runs(cli, cli->arguments, other, named);
}

static int cannot_compare(const struct pt_cli *cli)
{
    return cli->fail_above > 0 ? CANNOT_COMPARE : PT_EXIT_DATA;
}

static bool is_service(const struct job *job)
{
    return pt_has_group(job->profiles[0], PT_COUNTED_BY) || pt_has_group(job->profiles[1], PT_COUNTED_BY);
}

/* Returns whether CPU time per request is what to compare: a program under another load is no other program. Programs
 * that read JSON get functions unless they ask for endpoints. */
static bool compares_requests(const struct job *job)
{
    const char *by = job->cli->request.by;
    bool asked = by && strcmp(by, PT_COUNTED_BY) == 0;
    return (asked || (!by && job->form == AS_TEXT)) && !job->cli->by && job->form != AS_COLLAPSED &&
           pt_has_requests(job->profiles[0]) && pt_has_requests(job->profiles[1]);
}

/* Chooses what is compared where --by does not say it. A share that grew because another one shrank is no news of a
 * program that does the same work in each run; of a service, whose work is what it is asked for, CPU time says less. */
static void choose_by(struct job *job, bool service)
{
    if (compares_requests(job))
        job->by = PT_COMPARE_REQUEST;
    else if (!job->cli->by && !service)
        job->by = PT_COMPARE_CPU;
}

/* Returns whether the table is of endpoints: of CPU per request, or of their shares where requests were not counted. */
static bool has_endpoints(const struct job *job)
{
    bool asked = job->cli->by || job->cli->request.by;
    return job->by == PT_COMPARE_REQUEST ||
           (!asked && job->form == AS_TEXT && job->by == PT_COMPARE_SHARE &&
            pt_has_group(job->profiles[0], PT_COUNTED_BY) && pt_has_group(job->profiles[1], PT_COUNTED_BY));
}

/* Returns the exit status. */
static int compare(struct job *job)
{
    static const int exit_of_gate[] = {
        [PT_GATE_PASSED] = PT_EXIT_OK, [PT_GATE_FAILED] = GATE_FAILED, [PT_GATE_OPEN] = CANNOT_COMPARE};
    if (job->form != AS_PAGE) {
        bool service = is_service(job);
        choose_by(job, service);
        const char *group = has_endpoints(job) ? PT_COUNTED_BY : job->cli->request.by;
        for (int i = 0; i < 2; i++)
            job->sides[i] = pt_side_of(job->profiles[i]);
        job->comparison = pt_comparison_of(job->sides, job->by, group, job->cli->lines);
        job->comparison.service = service;
    }
    int status = pt_write_output(job->cli->output, write_diff, job) ? PT_EXIT_OK : cannot_compare(job->cli);
    if (!status)
        pt_say_written(job->cli->output);
    if (!status && job->cli->fail_above > 0)
        status = exit_of_gate[pt_comparison_judge(&job->comparison, job->cli->fail_above)];
    pt_comparison_free(&job->comparison);
    return status;
}

/* Says a line once: several loads may be of the same directory. */
static void say_once(void *data, const char *text)
{
    struct pt_buffer *said = data;
    if (said->data && strstr(said->data, text))
        return;
    pt_buffer_format(said, "%s\n", text);
    pt_message("%s", text);
}

int pt_cmd_diff(const struct pt_cli *typed)
{
    PT_AUTO_BUFFER said = {0};
    struct pt_messages once = pt_messages_to_stderr;
    struct pt_cli own = *typed, *cli = &own;
    once.message = say_once;
    once.data = &said;
    own.request.messages = &once;
    struct job job = {.cli = cli, .form = form_of(cli), .by = by_of(cli)};
    struct pt_load_request requests[] = {cli->request, cli->request};
    if (cli->argument_count > 2)
        return pt_exit_with(PT_EXIT_USAGE, "diff takes two profiles: pyprof diff A B");
    if (!has_form(cli) || !can_be_written(&job))
        return PT_EXIT_USAGE;
    /* samples: to tell runs apart */
    requests[0].keep = requests[1].keep = PT_KEEP_SAMPLES;
    requests[0].plain = requests[1].plain = job.form != AS_PAGE;
    requests[0].by_roots = requests[1].by_roots = job.form == AS_COLLAPSED;
    if (job.form == AS_PAGE) /* it has all frames, and folds them itself */
        requests[0].select.native = requests[1].select.native = PT_NATIVE_ALL;
    struct sides_named named = {0};
    bool are_named = name_sides(cli, &named);
    for (int i = 0; i < 2 && are_named; i++) {
        pt_request_named(&requests[i], named.directory ? named.directory : &named.names[i]);
        requests[i].run = named.directory ? named.names[i] : requests[i].run;
    }
    struct pt_profile *a = are_named ? pt_load(&requests[0]) : NULL;
    struct pt_profile *b = a ? pt_load(&requests[1]) : NULL;
    int status = cannot_compare(cli);
    if (b) {
        job.profiles[0] = a;
        job.profiles[1] = b;
        if (!cli->no_pager && !cli->output)
            pt_pager_start();
        status = compare(&job);
    }
    pt_profile_free(a);
    pt_profile_free(b);
    free(named.names[0]);
    free(named.names[1]);
    return status;
}
