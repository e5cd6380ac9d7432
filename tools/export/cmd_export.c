/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/output.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "../load/load.h"
#include "export.h"

static const struct pt_format *format_of(const struct pt_cli *cli)
{
    if (cli->format)
        return pt_format_named(cli->format);
    return cli->output ? pt_format_of_path(cli->output) : NULL;
}

/* Returns the exit status. */
static int complain_of_format(const struct pt_cli *cli)
{
    PT_AUTO_BUFFER known = {0};
    pt_formats_list(&known);
    if (pt_is_stdout(cli->output))
        pt_error("missing format: use -o FILE with the extension of a format, or --format NAME:\n%s", known.data);
    else if (pt_has_extension(cli->output, ".html"))
        pt_error("%s: a page for the browser is made by: pyprof flame -o %s", cli->output, cli->output);
    else
        pt_error("%s: no format has this extension; use --format NAME, or one of these:\n%s", cli->output, known.data);
    return PT_EXIT_USAGE;
}

static void say_merged(const struct pt_profile *profile, const struct pt_format *format)
{
    if (profile->bin_ns)
        pt_message(
            "%s: so many samples that those of a thread with the same stack are one for each %.0f s of the run (the "
            "sums are exact); a part, as by --pid or --from and --to, has shorter times",
            format->name, (double)profile->bin_ns / 1e9);
}

struct job {
    struct pt_profile *profile;
    const struct pt_format *format;
    const struct pt_export_options *options;
};

static void write_profile(void *data, FILE *out)
{
    const struct job *job = data;
    job->format->write(job->profile, job->options, out);
}

int pt_cmd_export(const struct pt_cli *cli)
{
    const struct pt_format *format = format_of(cli);
    if (!format)
        return complain_of_format(cli);
    if (pt_is_stdout(cli->output) && format->flags & PT_FORMAT_BINARY && isatty(STDOUT_FILENO))
        return pt_exit_with(PT_EXIT_USAGE, "%s is binary and stdout is a terminal: use -o FILE", format->name);
    if (cli->output && pt_is_profile(cli->output))
        return pt_exit_with(PT_EXIT_USAGE, "%s is a profile: write to another file", cli->output);
    const struct pt_export_options options = {
        .samples = cli->unit && strcmp(cli->unit, "samples") == 0,
        .lines = cli->lines,
        .threads = cli->threads,
        .processes = cli->processes,
        .gil = cli->gil,
        .native = cli->native,
    };
    struct pt_load_request request = cli->request;
    pt_format_request(format, &options, &request);
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return PT_EXIT_DATA;
    say_merged(profile, format);
    struct job job = {profile, format, &options};
    bool written = pt_write_output(cli->output, write_profile, &job);
    if (written)
        pt_say_written(cli->output);
    pt_profile_free(profile);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
