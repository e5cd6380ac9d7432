#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "export/export.h"
#include "profile/load.h"

static const struct format {
    const char *name;
    const char *extensions[4]; /* NULL ends */
    pp_exporter *write;
} formats[] = {
    {"collapsed", {".collapsed", ".folded", ".txt"}, pp_export_collapsed},
    {"pprof", {".pb.gz", ".pprof"}, pp_export_pprof},
};
#define FORMATS (sizeof formats / sizeof formats[0])

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), suffix = strlen(end);
    return length > suffix && strcmp(text + length - suffix, end) == 0;
}

static const struct format *format_of(const struct pp_cli *cli)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (cli->format && strcmp(cli->format, formats[i].name) == 0)
            return &formats[i];
        for (size_t j = 0; !cli->format && cli->output && formats[i].extensions[j]; j++)
            if (ends_with(cli->output, formats[i].extensions[j]))
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

/* To a file of another name first, so that nobody ever sees half a profile. False after a line on stderr. */
static bool write_file(struct pp_profile *profile, const struct format *format, const struct pp_export_options *options,
                       const char *path)
{
    struct pp_buffer temporary = {0};
    pp_buffer_format(&temporary, "%s.XXXXXX", path);
    int descriptor = mkstemp(temporary.data);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    bool written = false;
    if (out) {
        /* mkstemp's 0600 is not what a new file has. */
        mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
        format->write(profile, options, out);
        written = fflush(out) == 0 && !ferror(out);
        written = fclose(out) == 0 && written && rename(temporary.data, path) == 0;
    }
    if (!written)
        pp_error("cannot write %s: %s", path, strerror(errno));
    if (!written && descriptor >= 0)
        unlink(temporary.data);
    pp_buffer_free(&temporary);
    return written;
}

int pp_cmd_export(const struct pp_cli *cli)
{
    const struct format *format = format_of(cli);
    if (!format) {
        say_formats(cli);
        return PP_EXIT_USAGE;
    }
    bool to_stdout = !cli->output || strcmp(cli->output, "-") == 0;
    if (to_stdout && format->write == pp_export_pprof && isatty(STDOUT_FILENO)) {
        pp_error("pprof is binary and stdout is a terminal: use -o FILE");
        return PP_EXIT_USAGE;
    }
    struct pp_profile *profile = pp_load(cli);
    if (!profile)
        return PP_EXIT_DATA;
    const struct pp_export_options options = {
        .samples = cli->unit && strcmp(cli->unit, "samples") == 0,
        .lines = cli->lines,
        .threads = cli->threads,
        .processes = cli->processes,
        .gil = cli->gil,
    };
    bool written = true;
    if (to_stdout)
        format->write(profile, &options, stdout);
    else
        written = write_file(profile, format, &options, cli->output);
    pp_profile_free(profile);
    return written ? PP_EXIT_OK : PP_EXIT_DATA;
}
