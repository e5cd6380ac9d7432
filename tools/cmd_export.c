#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "export/formats.h"
#include "output.h"
#include "profile/load.h"

static const struct pp_format *format_of(const struct pp_cli *cli)
{
    if (cli->format)
        return pp_format_named(cli->format);
    return cli->output ? pp_format_of_path(cli->output) : NULL;
}

static void say_formats(const struct pp_cli *cli)
{
    struct pp_buffer known = {0};
    pp_formats_line(&known);
    if (cli->format)
        pp_error("no such format '%s': there are %s", cli->format, known.data);
    else if (cli->output && strcmp(cli->output, "-") != 0)
        pp_error("%s: no format has this extension: there are %s; or say --format", cli->output, known.data);
    else
        pp_error("say the format: -o FILE by its extension, or --format NAME: there are %s", known.data);
    pp_buffer_free(&known);
}

/* Of a format that shows when: more samples are merged over time. */
#define MOST_TIMED_SAMPLES (1u << 21)

static void say_merged(const struct pp_profile *profile, const struct pp_format *format)
{
    if (profile->slot_ns)
        pp_error(
            "%s: so many samples that those of a thread with the same stack are one for each %.0f s of the run (the "
            "sums are exact); a part, as by --pid or --from and --to, has shorter times",
            format->name, (double)profile->slot_ns / 1e9);
}

struct job {
    struct pp_profile *profile;
    const struct pp_format *format;
    const struct pp_export_options *options;
};

static void write_profile(void *context, FILE *out)
{
    const struct job *job = context;
    job->format->write(job->profile, job->options, out);
}

int pp_cmd_export(const struct pp_cli *cli)
{
    const struct pp_format *format = format_of(cli);
    if (!format) {
        say_formats(cli);
        return PP_EXIT_USAGE;
    }
    bool to_stdout = !cli->output || strcmp(cli->output, "-") == 0;
    if (to_stdout && format->flags & PP_FORMAT_BINARY && isatty(STDOUT_FILENO)) {
        pp_error("%s is binary and stdout is a terminal: use -o FILE", format->name);
        return PP_EXIT_USAGE;
    }
    struct pp_cli loading = *cli;
    loading.keep_intervals = loading.merge_intervals = loading.plain = format->flags & PP_FORMAT_TIMED;
    loading.most_samples = format->flags & PP_FORMAT_TIMED ? MOST_TIMED_SAMPLES : 0;
    loading.stacks_only = format->flags & PP_FORMAT_STACKS && !cli->threads && !cli->processes && !cli->gil;
    struct pp_profile *profile = pp_load(&loading);
    if (!profile)
        return PP_EXIT_DATA;
    say_merged(profile, format);
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
