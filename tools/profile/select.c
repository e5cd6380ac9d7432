#include "select.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "frame_text.h"
#include "summary.h"

#define ONLY_NATIVE "[native]" /* what stands for a stack without a Python frame */

static bool leaves_samples_out(const struct pp_cli *cli)
{
    return pp_select_needs_intervals(cli) || cli->pid || cli->thread || cli->focus || cli->ignore;
}

bool pp_selects(const struct pp_cli *cli)
{
    return leaves_samples_out(cli) || cli->no_native;
}

bool pp_select_needs_intervals(const struct pp_cli *cli)
{
    return cli->from_ns || cli->to_ns != UINT64_MAX;
}

bool pp_pid_is_listed(const char *list, uint64_t number)
{
    while (*list) {
        char *end;
        if (strtoull(list, &end, 10) == number && end != list)
            return true;
        list = end + strspn(end, ",");
    }
    return false;
}

/* By thread: whether its samples stay. */
static bool *threads_kept(const struct pp_profile *profile, const struct pp_cli *cli)
{
    bool *kept = pp_alloc(profile->threads.count, sizeof *kept);
    bool by_id = cli->thread && *cli->thread && !cli->thread[strspn(cli->thread, "0123456789")];
    regex_t names;
    bool by_name = cli->thread && !by_id && regcomp(&names, cli->thread, REG_EXTENDED | REG_NOSUB) == 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct pp_thread *thread = &profile->threads.items[i];
        kept[i] = !cli->pid || pp_pid_is_listed(cli->pid, profile->processes.items[thread->process].pid);
        if (by_id)
            kept[i] = kept[i] && pp_pid_is_listed(cli->thread, thread->tid);
        if (by_name)
            kept[i] = kept[i] && regexec(&names, pp_string(profile, thread->name), 0, NULL, 0) == 0;
    }
    if (by_name)
        regfree(&names);
    return kept;
}

/* By node: whether a frame of the stack that ends there matches. NULL without a pattern. */
static bool *nodes_with(struct pp_profile *profile, const char *pattern)
{
    regex_t regex;
    if (!pattern || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return NULL;
    bool *frames = pp_alloc(profile->frames.count, sizeof *frames);
    bool *nodes = pp_alloc(profile->nodes.count, sizeof *nodes);
    struct pp_buffer text = {0};
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        pp_buffer_clear(&text);
        pp_frame_text(&text, profile, i, false);
        frames[i] = regexec(&regex, text.data, 0, NULL, 0) == 0;
    }
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pp_node *node = &profile->nodes.items[i];
        nodes[i] = nodes[node->parent] || frames[node->frame];
    }
    pp_buffer_free(&text);
    free(frames);
    regfree(&regex);
    return nodes;
}

/* By interval: whether its middle lies in the time that was asked for. Interval 0 has no time: it is left out. */
static bool *intervals_kept(const struct pp_profile *profile, const struct pp_cli *cli)
{
    bool *kept = pp_alloc(profile->intervals.count, sizeof *kept);
    uint64_t start, end;
    pp_summary_span(profile, &start, &end);
    for (uint32_t i = 0; i < profile->intervals.count; i++) {
        const struct pp_interval *interval = &profile->intervals.items[i];
        uint64_t middle = interval->start_unix_ns + interval->wall_ns / 2;
        uint64_t since = middle > start ? middle - start : 0;
        kept[i] = !pp_select_needs_intervals(cli) || (i && since >= cli->from_ns && since < cli->to_ns);
    }
    return kept;
}

/* By node: the node of the same stack without native frames. */
static uint32_t *without_native(struct pp_profile *profile)
{
    uint32_t count = profile->nodes.count;
    uint32_t *moved = pp_alloc(count, sizeof *moved);
    uint32_t nothing = pp_add_node(profile, 0, pp_add_pseudo(profile, ONLY_NATIVE));
    for (uint32_t i = 1; i < count; i++) {
        const struct pp_node node = profile->nodes.items[i];
        bool native = profile->frames.items[node.frame].kind == PP_FRAME_NATIVE;
        moved[i] = native ? moved[node.parent] : pp_add_node(profile, moved[node.parent], node.frame);
    }
    for (uint32_t i = 1; i < count; i++)
        if (!moved[i])
            moved[i] = nothing;
    return moved;
}

bool pp_select(struct pp_profile *profile, const struct pp_cli *cli)
{
    if (!pp_selects(cli))
        return true;
    profile->whole_ns = pp_profile_cpu_ns(profile);
    profile->selected = leaves_samples_out(cli);
    bool *threads = threads_kept(profile, cli), *intervals = intervals_kept(profile, cli);
    bool *focus = nodes_with(profile, cli->focus), *ignore = nodes_with(profile, cli->ignore);
    uint32_t *moved = cli->no_native ? without_native(profile) : NULL;
    uint32_t count, kept = 0;
    struct pp_sample *samples = pp_take_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_sample sample = samples[i];
        if (!threads[sample.thread] || !intervals[sample.interval] || (focus && !focus[sample.node]) ||
            (ignore && ignore[sample.node]))
            continue;
        if (moved)
            sample.node = moved[sample.node];
        pp_add_sample(profile, &sample);
        kept++;
    }
    free(samples);
    free(moved);
    free(ignore);
    free(focus);
    free(intervals);
    free(threads);
    if (kept || !profile->selected)
        return true;
    pp_error("nothing is left of %.3f s CPU: no sample fits --from, --to, --pid, --thread, --focus and --ignore",
             (double)profile->whole_ns / 1e9);
    return false;
}
