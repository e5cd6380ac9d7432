#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/output.h"
#include "../cli/commands.h"
#include "../export/export.h"
#include "../load/files.h"
#include "../load/load.h"
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
#define MOST_SAMPLES (1u << 20)
/* The most stacks by time, where times are kept apart from threads. */
#define MOST_TIMES (1u << 20)

struct page {
    struct pt_load_request requests[2]; /* of the sides */
    struct pt_profile *sides[2];
    struct pt_flame *flame; /* NULL after a line on stderr */
};

/* Loads each path as a side. Two runs have no time in common. */
static void load_comparison(const struct pt_cli *cli, struct page *page)
{
    for (int i = 0; i < 2; i++) {
        page->requests[i].paths += i;
        page->requests[i].path_count = 1;
        page->sides[i] = pt_load(&page->requests[i]);
        if (!page->sides[i])
            return;
    }
    page->flame = pt_flame_new(page->sides, 2, cli->lines);
}

/* Loads in memory that is bounded by distinct stacks: first CPU by thread, then by time. */
static void load_many(struct pt_inputs *inputs, const struct pt_cli *cli, struct page *page)
{
    struct pt_load_request when = page->requests[0];
    bool too_many;
    page->sides[0] = pt_inputs_load(inputs, &page->requests[0], &too_many);
    if (!page->sides[0])
        return;
    page->flame = pt_flame_new(page->sides, 1, cli->lines);
    when.keep = PT_KEEP_STACKS;
    when.by = NULL;
    when.timed = when.merge_intervals = true;
    when.most_samples = MOST_TIMES;
    struct pt_profile *times = pt_inputs_load(inputs, &when, &too_many);
    if (times)
        pt_flame_add_times(page->flame, times);
    pt_profile_free(times);
}

static void load_page(const struct pt_cli *cli, struct page *page)
{
    struct pt_inputs *inputs = pt_inputs_open(&page->requests[0]);
    struct pt_load_request *exact = &page->requests[1];
    bool too_many = false;
    exact->timed = true;
    exact->most_samples = MOST_SAMPLES;
    page->sides[0] = inputs ? pt_inputs_load(inputs, exact, &too_many) : NULL;
    if (too_many)
        load_many(inputs, cli, page);
    else if (page->sides[0])
        page->flame = pt_flame_new(page->sides, 1, cli->lines);
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
    struct page page = {.requests = {cli->request, cli->request}};
    /* The page has all frames, and folds them itself. */
    page.requests[0].select.native = page.requests[1].select.native = PT_NATIVE_ALL;
    page.requests[0].callers = page.requests[1].callers = !cli->diff;
    if (cli->diff)
        load_comparison(cli, &page);
    else
        load_page(cli, &page);
    if (page.flame) {
        page.flame->native = cli->request.select.native;
        page.flame->group = cli->request.by;
        page.flame->by_time = cli->by && strcmp(cli->by, "time") == 0;
    }
    const char *by = page.flame ? page.flame->group : NULL;
    if (by && !pt_flame_has_group(page.flame, by))
        pt_message(
            "so many stacks that the page cannot group them by %s; a page of a part, as by --pid or --from and --to, "
            "can",
            by);
    bool written = page.flame && pt_write_output(path, write_page, page.flame);
    pt_flame_free(page.flame);
    pt_profile_free(page.sides[0]);
    pt_profile_free(page.sides[1]);
    return written;
}

static bool is_picture(const char *path)
{
    return pt_has_extension(path, ".svg");
}

/* Returns whether the output may be a page or a picture; false after a line on stderr. */
static bool can_be_written(const struct pt_cli *cli, const char *path)
{
    struct stat status;
    bool is_file = !pt_is_stdout(path) && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
    if (!pt_is_stdout(path) && pt_is_profile(path))
        pt_error("%s is a profile: write to another file", path);
    else if (is_picture(path) && cli->diff)
        pt_error("a comparison is a page: use -o FILE.html");
    else if (is_file && !is_picture(path) && !pt_has_extension(path, ".html") && !pt_has_extension(path, ".htm"))
        pt_error("%s: flame writes a page (.html) or a picture (.svg); for other formats see 'pyprof export --help'",
                 path);
    else if (pt_is_stdout(path) && isatty(STDOUT_FILENO))
        pt_error("stdout is a terminal: use -o FILE.html");
    else
        return true;
    return false;
}

int pt_cmd_flame(const struct pt_cli *cli)
{
    const char *path = cli->output ? cli->output : DEFAULT_OUTPUT;
    if (cli->diff && cli->argument_count != 2) {
        pt_error("--diff takes two profiles: pyprof flame --diff BASE NEW");
        return PT_EXIT_USAGE;
    }
    if (cli->by && (!cli->diff || strcmp(cli->by, "cpu") == 0)) {
        pt_error(cli->diff ? "the page compares shares of the CPU or CPU per second: --by share or --by time"
                           : "--by is for --diff: pyprof flame --diff --by time BASE NEW");
        return PT_EXIT_USAGE;
    }
    if (!can_be_written(cli, path))
        return PT_EXIT_USAGE;
    bool written = is_picture(path) ? write_picture(cli) : write_html(cli, path);
    if (written)
        pt_say_written(path);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
