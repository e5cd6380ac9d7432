/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "../base/output.h"
#include "../cli/options.h"
#include "../export/export.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../model/http_requests.h"
#include "flame.h"

#define DEFAULT_OUTPUT "pyprof.html"

static void write_page(void *context, FILE *out)
{
    pt_flame_write(context, out);
}

struct picture {
    struct pt_profile *profile;
    struct pt_export_options options;
};

static void write_svg(void *context, FILE *out)
{
    const struct picture *picture = context;
    pt_export_svg(picture->profile, &picture->options, out);
}

/* Up to so many samples keep the intervals of the logs. */
#define MAX_SAMPLES (1u << 20)
/* The most stacks by time, where times are kept apart from threads. */
#define MAX_TIMES (1u << 20)

struct page {
    struct pt_load_request request, exact; /* exact: with the intervals of the logs */
    struct pt_profile *profile;
    struct pt_flame *flame; /* NULL after a line on stderr */
};

/* Loads in memory that is bounded by distinct stacks: first CPU by thread, then by time. */
static void load_many(struct pt_inputs *inputs, const struct pt_cli *cli, struct page *page)
{
    struct pt_load_request when = page->request;
    bool too_many;
    page->profile = pt_inputs_load(inputs, &page->request, &too_many);
    if (!page->profile)
        return;
    page->flame = pt_flame_new(&page->profile, 1, cli->lines);
    when.keep = PT_KEEP_STACKS;
    when.by = NULL;
    when.timed = when.merge_intervals = true;
    when.most_samples = MAX_TIMES;
    struct pt_profile *times = pt_inputs_load(inputs, &when, &too_many);
    if (times)
        pt_flame_add_times(page->flame, times);
    pt_profile_free(times);
}

static void load_page(const struct pt_cli *cli, struct page *page)
{
    struct pt_inputs *inputs = pt_inputs_open(&page->request);
    bool too_many = false;
    page->exact.timed = true;
    page->exact.most_samples = MAX_SAMPLES;
    page->profile = inputs ? pt_inputs_load(inputs, &page->exact, &too_many) : NULL;
    if (too_many)
        load_many(inputs, cli, page);
    else if (page->profile)
        page->flame = pt_flame_new(&page->profile, 1, cli->lines);
    pt_inputs_free(inputs);
}

/* Writes the picture that `export` writes. */
static bool write_picture(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    request.callers = request.by_roots = true;
    request.keep = PT_KEEP_STACKS;
    struct pt_profile *profile = pt_load(&request);
    struct picture picture = {profile, {.lines = cli->lines}};
    bool written = profile && pt_write_output(cli->output, write_svg, &picture);
    pt_profile_free(profile);
    return written;
}

static bool write_html(const struct pt_cli *cli, const char *path)
{
    struct page page = {.request = cli->request};
    /* The page has all frames, and folds them itself. */
    page.request.select.native = PT_NATIVE_ALL;
    page.request.callers = true;
    page.exact = page.request;
    load_page(cli, &page);
    if (page.flame) {
        page.flame->native = cli->request.select.native;
        page.flame->group = cli->request.by;
        if (!page.flame->group && pt_flame_has_group(page.flame, PT_COUNTED_BY))
            page.flame->group = PT_COUNTED_BY;
    }
    const char *by = page.flame ? page.flame->group : NULL;
    if (by && !pt_flame_has_group(page.flame, by))
        pt_message(
            "so many stacks that the page cannot group them by %s; a page of a part, as by --pid or --from and --to, "
            "can",
            by);
    bool written = page.flame && pt_write_output(path, write_page, page.flame);
    pt_flame_free(page.flame);
    pt_profile_free(page.profile);
    return written;
}

static bool is_picture(const char *path)
{
    return pt_has_extension(path, ".svg");
}

/* Returns whether the output may be a page or a picture; false after a line on stderr. */
static bool can_be_written(const char *path)
{
    struct stat status;
    bool is_file = !pt_is_stdout(path) && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
    if (!pt_is_stdout(path) && pt_is_profile(path))
        return pt_error("%s is a profile: write to another file", path);
    if (is_file && !is_picture(path) && !pt_has_extension(path, ".html") && !pt_has_extension(path, ".htm"))
        return pt_error(
            "%s: flame writes a page (.html) or a picture (.svg); for other formats see 'pyprof export --help'", path);
    return !pt_is_stdout(path) || !isatty(STDOUT_FILENO) || pt_error("stdout is a terminal: use -o FILE.html");
}

int pt_cmd_flame(const struct pt_cli *cli)
{
    const char *path = cli->output ? cli->output : DEFAULT_OUTPUT;
    if (!can_be_written(path))
        return PT_EXIT_USAGE;
    bool written = is_picture(path) ? write_picture(cli) : write_html(cli, path);
    if (written)
        pt_say_written(path);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
