#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "flame/flame.h"
#include "output.h"
#include "profile/load.h"

#define DEFAULT_OUTPUT "pyprof.html"

static void write_page(void *context, FILE *out)
{
    pp_flame_write(context, out);
}

/* Samples with their intervals, at most: then they are shown as the logs have them. */
#define MOST_SAMPLES (1u << 20)
/* Stacks by time, at most, where that is kept apart from threads. */
#define MOST_TIMES (1u << 20)

struct page {
    struct pp_profile *sides[2];
    struct pp_flame *flame; /* NULL after a line on stderr */
};

/* Of a comparison each side is a path of its own. Two runs have no time in common. */
static void load_comparison(const struct pp_cli *cli, struct page *page)
{
    for (int i = 0; i < 2; i++) {
        struct pp_cli one = *cli;
        one.arguments = cli->arguments + i;
        one.argument_count = 1;
        page->sides[i] = pp_load(&one);
        if (!page->sides[i])
            return;
    }
    page->flame = pp_flame_new(page->sides, 2, cli->lines);
}

/* In memory that is bounded by distinct stacks: first who burned, then when. */
static void load_many(struct pp_inputs *inputs, const struct pp_cli *cli, struct page *page)
{
    struct pp_cli when = *cli;
    bool too_many;
    page->sides[0] = pp_inputs_load(inputs, cli, &too_many);
    if (!page->sides[0])
        return;
    page->flame = pp_flame_new(page->sides, 1, cli->lines);
    when.keep_intervals = when.merge_intervals = when.stacks_only = true;
    when.most_samples = MOST_TIMES;
    struct pp_profile *times = pp_inputs_load(inputs, &when, &too_many);
    if (times)
        pp_flame_add_times(page->flame, times);
    pp_profile_free(times);
}

static void load_page(const struct pp_cli *cli, struct page *page)
{
    struct pp_inputs *inputs = pp_inputs_open(cli);
    struct pp_cli exact = *cli;
    bool too_many = false;
    exact.keep_intervals = true;
    exact.most_samples = MOST_SAMPLES;
    page->sides[0] = inputs ? pp_inputs_load(inputs, &exact, &too_many) : NULL;
    if (too_many)
        load_many(inputs, cli, page);
    else if (page->sides[0])
        page->flame = pp_flame_new(page->sides, 1, cli->lines);
    pp_inputs_free(inputs);
}

int pp_cmd_flame(const struct pp_cli *cli)
{
    const char *path = cli->output ? cli->output : DEFAULT_OUTPUT;
    bool to_stdout = strcmp(path, "-") == 0;
    if (cli->diff && cli->argument_count != 2) {
        pp_error("--diff takes two profiles: pyprof flame --diff BASE NEW");
        return PP_EXIT_USAGE;
    }
    if (cli->by && (!cli->diff || strcmp(cli->by, "none") == 0)) {
        pp_error(cli->diff ? "the page compares shares of the CPU or CPU per second: --by cpu or --by time"
                           : "--by is for --diff: pyprof flame --diff --by time BASE NEW");
        return PP_EXIT_USAGE;
    }
    if (to_stdout && isatty(STDOUT_FILENO)) {
        pp_error("stdout is a terminal: use -o FILE.html");
        return PP_EXIT_USAGE;
    }
    struct page page = {0};
    if (cli->diff)
        load_comparison(cli, &page);
    else
        load_page(cli, &page);
    int status = page.flame ? PP_EXIT_OK : PP_EXIT_DATA;
    if (page.flame) {
        page.flame->by_time = cli->by && strcmp(cli->by, "time") == 0;
        if (to_stdout)
            pp_flame_write(page.flame, stdout);
        else if (!pp_write_file(path, write_page, page.flame))
            status = PP_EXIT_DATA;
        else if (isatty(STDERR_FILENO))
            pp_error("wrote %s; open it in a browser", path);
    }
    pp_flame_free(page.flame);
    pp_profile_free(page.sides[0]);
    pp_profile_free(page.sides[1]);
    return status;
}
