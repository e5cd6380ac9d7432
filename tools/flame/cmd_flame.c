#include <string.h>
#include <unistd.h>

#include "../base/output.h"
#include "../cli/commands.h"
#include "../load/load.h"
#include "flame.h"

#define DEFAULT_OUTPUT "pyprof.html"

static void write_page(void *context, FILE *out)
{
    pt_flame_write(context, out);
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

int pt_cmd_flame(const struct pt_cli *cli)
{
    const char *path = cli->output ? cli->output : DEFAULT_OUTPUT;
    if (cli->diff && cli->argument_count != 2) {
        pt_error("--diff takes two profiles: pyprof flame --diff BASE NEW");
        return PT_EXIT_USAGE;
    }
    if (cli->by && (!cli->diff || strcmp(cli->by, "none") == 0)) {
        pt_error(cli->diff ? "the page compares shares of the CPU or CPU per second: --by cpu or --by time"
                           : "--by is for --diff: pyprof flame --diff --by time BASE NEW");
        return PT_EXIT_USAGE;
    }
    if (pt_is_stdout(path) && isatty(STDOUT_FILENO)) {
        pt_error("stdout is a terminal: use -o FILE.html");
        return PT_EXIT_USAGE;
    }
    struct page page = {.requests = {cli->request, cli->request}};
    if (!cli->native)
        page.requests[0].select.native = page.requests[1].select.native = PT_NATIVE_ALL;
    if (cli->diff)
        load_comparison(cli, &page);
    else
        load_page(cli, &page);
    int status = page.flame ? PT_EXIT_OK : PT_EXIT_DATA;
    if (page.flame) {
        page.flame->by_time = cli->by && strcmp(cli->by, "time") == 0;
        if (!pt_write_output(path, write_page, page.flame))
            status = PT_EXIT_DATA;
        else if (!pt_is_stdout(path) && isatty(STDERR_FILENO))
            pt_message("wrote %s; open it in a browser", path);
    }
    pt_flame_free(page.flame);
    pt_profile_free(page.sides[0]);
    pt_profile_free(page.sides[1]);
    return status;
}
