#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "export/export.h"
#include "output.h"
#include "profile/frame_text.h"
#include "profile/load.h"

static const struct format {
    const char *name;
    const char *extensions[4]; /* NULL ends */
    pp_exporter *write;
    bool binary, timed; /* timed: shows when CPU time was used */
} formats[] = {
    {"collapsed", {".collapsed", ".folded", ".txt"}, pp_export_collapsed, false, false},
    {"pprof", {".pb.gz", ".pprof"}, pp_export_pprof, true, false},
    {"svg", {".svg"}, pp_export_svg, false, false},
    {"speedscope", {".speedscope.json", ".speedscope"}, pp_export_speedscope, false, false},
    {"firefox", {".firefox.json", ".firefox"}, pp_export_firefox, false, true},
    {"pstats", {".pstats", ".prof"}, pp_export_pstats, true, false},
    {"callgrind", {".callgrind"}, pp_export_callgrind, false, false},
    {"perf", {".perf"}, pp_export_perf_script, false, true},
    {"otlp", {".otlp", ".otlp.pb"}, pp_export_otlp, true, false},
};
#define FORMATS (sizeof formats / sizeof formats[0])

/* callgrind.out.PID is what kcachegrind looks for. */
static bool is_callgrind_out(const char *path)
{
    return strncmp(pp_base_name(path), "callgrind.out", strlen("callgrind.out")) == 0;
}

static const struct format *format_of(const struct pp_cli *cli)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (cli->format && strcmp(cli->format, formats[i].name) == 0)
            return &formats[i];
        for (size_t j = 0; !cli->format && cli->output && formats[i].extensions[j]; j++)
            if (pp_has_extension(cli->output, formats[i].extensions[j]))
                return &formats[i];
        if (!cli->format && cli->output && formats[i].write == pp_export_callgrind && is_callgrind_out(cli->output))
            return &formats[i];
    }
    return NULL;
}

static void say_formats(const struct pp_cli *cli)
{
    struct pp_buffer known = {0};
    for (size_t i = 0; i < FORMATS; i++) {
        pp_buffer_format(&known, "%s%s (", i ? ", " : "", formats[i].name);
        for (size_t j = 0; formats[i].extensions[j]; j++)
            pp_buffer_format(&known, "%s%s", j ? " " : "", formats[i].extensions[j]);
        pp_buffer_text(&known, ")");
    }
    if (cli->format)
        pp_error("no such format '%s': there are %s", cli->format, known.data);
    else if (cli->output && strcmp(cli->output, "-") != 0)
        pp_error("%s: no format has this extension: there are %s; or say --format", cli->output, known.data);
    else
        pp_error("say the format: -o FILE by its extension, or --format NAME: there are %s", known.data);
    pp_buffer_free(&known);
}

struct job {
    struct pp_profile *profile;
    const struct format *format;
    const struct pp_export_options *options;
};

static void write_profile(void *context, FILE *out)
{
    const struct job *job = context;
    job->format->write(job->profile, job->options, out);
}

int pp_cmd_export(const struct pp_cli *cli)
{
    const struct format *format = format_of(cli);
    if (!format) {
        say_formats(cli);
        return PP_EXIT_USAGE;
    }
    bool to_stdout = !cli->output || strcmp(cli->output, "-") == 0;
    if (to_stdout && format->binary && isatty(STDOUT_FILENO)) {
        pp_error("%s is binary and stdout is a terminal: use -o FILE", format->name);
        return PP_EXIT_USAGE;
    }
    struct pp_cli loading = *cli;
    loading.keep_intervals = format->timed;
    struct pp_profile *profile = pp_load(&loading);
    if (!profile)
        return PP_EXIT_DATA;
    const struct pp_export_options options = {
        .samples = cli->unit && strcmp(cli->unit, "samples") == 0,
        .lines = cli->lines,
        .threads = cli->threads,
        .processes = cli->processes,
        .gil = cli->gil,
    };
    struct job job = {profile, format, &options};
    bool written = true;
    if (to_stdout)
        write_profile(&job, stdout);
    else
        written = pp_write_file(cli->output, write_profile, &job);
    pp_profile_free(profile);
    return written ? PP_EXIT_OK : PP_EXIT_DATA;
}
