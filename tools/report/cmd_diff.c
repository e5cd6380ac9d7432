#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/json.h"
#include "../base/output.h"
#include "../base/print.h"
#include "../cli/commands.h"
#include "../flame/flame.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../view/summary.h"
#include "compare.h"

#define TOP              20
#define SIDE_INDENTATION 3
#define NS_PER_SECOND    1000000000u

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
};

static enum pt_compare_by by_of(const struct pt_cli *cli)
{
    if (!cli->by || strcmp(cli->by, "cpu") == 0)
        return PT_COMPARE_CPU;
    return strcmp(cli->by, "time") == 0 ? PT_COMPARE_TIME : PT_COMPARE_NONE;
}

static void put_side(FILE *out, char letter, const struct pt_side *side)
{
    char start[32] = "";
    time_t when = (time_t)(side->start_unix_ns / NS_PER_SECOND);
    struct tm local;
    if (localtime_r(&when, &local))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S", &local);
    fprintf(out, "%c  %s  %.2f s CPU in %.2f s, %" PRIu64 " sample%s\n   ", letter, start, pt_seconds(side->cpu_ns),
            pt_seconds(side->wall_ns), side->sum.samples, pt_plural(side->sum.samples, "s"));
    pt_print_text(out, pt_string(side->profile, pt_summary_first_process(side->profile)->command_line),
                  SIDE_INDENTATION, PT_STYLE_FAINT);
}

static void put_accounting(FILE *out, const struct pt_side sides[2])
{
    const struct {
        const char *name;
        double values[2];
    } rows[] = {
#define ROW(name, field)                                                                                               \
    {                                                                                                                  \
        name,                                                                                                          \
        {                                                                                                              \
            (double)sides[0].sum.field / 1e9, (double)sides[1].sum.field / 1e9                                         \
        }                                                                                                              \
    }
        ROW("sampled", sampled_ns),         ROW("unsampled", unsampled_ns),   ROW("lost", lost_ns), ROW("own", own_ns),
        ROW("thread exit", thread_exit_ns), ROW("difference", difference_ns), ROW("CPU", cpu_ns),
#undef ROW
    };
    fprintf(out, "\nAccounting, s               A             B        change\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double before = rows[i].values[0], after = rows[i].values[1];
        fprintf(out, "  %-14s %12.3f  %12.3f  %+12.3f", rows[i].name, before, after, after - before);
        if (before > 0 && i + 1 == sizeof rows / sizeof rows[0])
            fprintf(out, "  (%+.1f %%)", 100 * (after - before) / before);
        putc('\n', out);
    }
}

static void put_text(struct job *job, FILE *out)
{
    static const char *const explained[] = {"per cent of each profile's CPU time",
                                            "milliseconds of CPU per second of run", "seconds of CPU"};
    uint32_t count, top = job->cli->top ? job->cli->top : TOP, shown = 0;
    struct pt_compared *all = pt_compare_functions(job->sides, job->by, job->cli->lines, &count);
    put_side(out, 'A', &job->sides[0]);
    put_side(out, 'B', &job->sides[1]);
    fprintf(out, "\nIn %s, the largest changes first:\n", explained[job->by]);
    pt_print_styled(out, PT_STYLE_HEADING, "\n SELF A SELF B  CHANGE   TOTAL A TOTAL B  CHANGE   %s\n",
                    job->cli->lines ? "LINE" : "FUNCTION");
    int digits = job->by == PT_COMPARE_NONE ? 2 : 1;
    double least = job->by == PT_COMPARE_NONE ? 0.005 : 0.05; /* is shown as none */
    for (uint32_t i = 0; i < count && shown < top; i++) {
        double self[2], total[2];
        for (int side = 0; side < 2; side++) {
            self[side] = pt_compare_value(&job->sides[side], job->by, all[i].self_ns[side]);
            total[side] = pt_compare_value(&job->sides[side], job->by, all[i].total_ns[side]);
        }
        if (fabs(self[1] - self[0]) < least && fabs(total[1] - total[0]) < least)
            continue;
        shown++;
        int used = fprintf(out, " %6.*f %6.*f %+7.*f   %7.*f %7.*f %+7.*f   ", digits, self[0], digits, self[1], digits,
                           self[1] - self[0], digits, total[0], digits, total[1], digits, total[1] - total[0]);
        pt_print_text(out, all[i].text, (uint32_t)used, PT_STYLE_PLAIN);
    }
    if (shown == top && count > shown)
        fprintf(out, "  and %" PRIu32 " more (--top %" PRIu32 ")\n", count - shown, count);
    else if (count > shown)
        fprintf(out, "  %" PRIu32 " other%s did not change\n", count - shown, pt_plural(count - shown, "s"));
    put_accounting(out, job->sides);
    free(all);
}

static void put_json_side(struct pt_json *json, const char *key, const struct pt_side *side)
{
    const struct pt_accounting *sum = &side->sum;
    pt_json_begin(json, key, '{');
    pt_json_number(json, "start_unix_ns", side->start_unix_ns);
    pt_json_number(json, "wall_ns", side->wall_ns);
    pt_json_number(json, "samples", sum->samples);
    pt_json_number(json, "shown_ns", side->cpu_ns);
    pt_json_number(json, "cpu_ns", sum->cpu_ns);
    pt_json_number(json, "sampled_ns", sum->sampled_ns);
    pt_json_number(json, "unsampled_ns", sum->unsampled_ns);
    pt_json_number(json, "lost_ns", sum->lost_ns);
    pt_json_number(json, "own_ns", sum->own_ns);
    pt_json_number(json, "thread_exit_ns", sum->thread_exit_ns);
    pt_json_format(json, "difference_ns", "%" PRId64, sum->difference_ns);
    pt_json_end(json, '}');
}

static void put_both(struct pt_json *json, const char *key, const uint64_t ns[2])
{
    pt_json_begin(json, key, '[');
    pt_json_number(json, NULL, ns[0]);
    pt_json_number(json, NULL, ns[1]);
    pt_json_end(json, ']');
}

static void put_json(struct job *job, FILE *out)
{
    struct pt_json json = pt_json_document(out);
    uint32_t count;
    struct pt_compared *all = pt_compare_functions(job->sides, job->by, job->cli->lines, &count);
    pt_json_text(&json, "by", job->cli->by ? job->cli->by : "cpu");
    put_json_side(&json, "a", &job->sides[0]);
    put_json_side(&json, "b", &job->sides[1]);
    pt_json_begin(&json, "functions", '[');
    for (uint32_t i = 0; i < count && (!job->cli->top || i < job->cli->top); i++) {
        pt_json_begin(&json, NULL, '{');
        pt_json_text(&json, "text", all[i].text);
        put_both(&json, "self_ns", all[i].self_ns);
        put_both(&json, "total_ns", all[i].total_ns);
        pt_json_end(&json, '}');
    }
    pt_json_end(&json, ']');
    pt_json_end_document(&json);
    free(all);
}

/* "stack A B": A's weights are brought to B's CPU or time, as `difffolded.pl -n` does. */
static void put_collapsed(struct job *job, FILE *out)
{
    const struct pt_side *a = &job->sides[0], *b = &job->sides[1];
    double factor = 1;
    if (job->by == PT_COMPARE_CPU && a->cpu_ns)
        factor = (double)b->cpu_ns / (double)a->cpu_ns;
    if (job->by == PT_COMPARE_TIME && a->wall_ns)
        factor = (double)b->wall_ns / (double)a->wall_ns;
    uint32_t count;
    struct pt_compared *all = pt_compare_stacks(job->sides, job->cli->lines, &count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%s %.0f %" PRIu64 "\n", all[i].text, (double)all[i].self_ns[0] * factor, all[i].self_ns[1]);
    pt_compared_stacks_free(all, count);
}

static void put_page(struct job *job, FILE *out)
{
    struct pt_flame *flame = pt_flame_new(job->profiles, 2, job->cli->lines);
    flame->by_time = job->by == PT_COMPARE_TIME;
    pt_flame_write(flame, out);
    pt_flame_free(flame);
}

static void write_diff(void *context, FILE *out)
{
    static void (*const put[])(struct job * job, FILE * out) = {
        [AS_TEXT] = put_text, [AS_JSON] = put_json, [AS_COLLAPSED] = put_collapsed, [AS_PAGE] = put_page};
    struct job *job = context;
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

/* Returns false after a line on stderr. */
static bool can_be_written(const struct job *job)
{
    if (job->form != AS_PAGE)
        return true;
    if (pt_is_stdout(job->cli->output) && isatty(STDOUT_FILENO))
        pt_error("stdout is a terminal: use -o FILE.html");
    else if (job->by == PT_COMPARE_NONE)
        pt_error("the page compares shares of the CPU or CPU per second: --by cpu or --by time");
    else
        return true;
    return false;
}

/* Returns the run at a place in the list, newest first; NULL after a message. */
static char *run_at(uint32_t place)
{
    const struct pt_load_request any = {.keep = PT_KEEP_SUMS, .messages = &pt_messages_to_stderr};
    struct pt_profile *profile = pt_load(&any);
    uint32_t count = 0;
    struct pt_run *runs = profile ? pt_runs_of(profile, &count) : NULL;
    char *run = place < count ? pt_strdup(pt_string(profile, runs[place].run)) : NULL;
    if (profile && !run)
        pt_error("there is only one run here: give two profiles, 'pyprof diff A B'");
    free(runs);
    pt_profile_free(profile);
    return run;
}

int pt_cmd_diff(const struct pt_cli *cli)
{
    struct job job = {.cli = cli, .form = form_of(cli), .by = by_of(cli)};
    struct pt_load_request requests[] = {cli->request, cli->request};
    char *names[2] = {NULL, NULL};
    if (cli->argument_count > 2) {
        pt_error("diff takes two profiles: pyprof diff A B");
        return PT_EXIT_USAGE;
    }
    if (!can_be_written(&job))
        return PT_EXIT_USAGE;
    if (job.form == AS_PAGE && !cli->native)
        requests[0].select.native = requests[1].select.native = PT_NATIVE_ALL;
    requests[0].keep = requests[1].keep = job.form == AS_PAGE ? PT_KEEP_SAMPLES : PT_KEEP_STACKS;
    names[0] = cli->argument_count ? pt_strdup(cli->arguments[0]) : run_at(1);
    if (names[0])
        names[1] = cli->argument_count == 2 ? pt_strdup(cli->arguments[1]) : run_at(0);
    for (int i = 0; i < 2 && names[1]; i++)
        pt_request_named(&requests[i], &names[i]);
    struct pt_profile *a = names[1] ? pt_load(&requests[0]) : NULL;
    struct pt_profile *b = a ? pt_load(&requests[1]) : NULL;
    bool written = b != NULL;
    if (b) {
        job.profiles[0] = a;
        job.profiles[1] = b;
        for (int i = 0; i < 2 && job.form != AS_PAGE; i++)
            job.sides[i] = pt_side_of(job.profiles[i]);
        written = pt_write_output(cli->output, write_diff, &job);
    }
    pt_profile_free(a);
    pt_profile_free(b);
    free(names[0]);
    free(names[1]);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
