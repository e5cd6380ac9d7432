/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include <inttypes.h>
#include <stdlib.h>

enum pt_end pt_end_of(const struct pt_profile *profile, uint32_t number)
{
    static const enum pt_end ends[] = {
        [PT_ALIVE_UNKNOWN] = PT_END_UNKNOWN, [PT_ALIVE_NO] = PT_END_SIGNAL, [PT_ALIVE_YES] = PT_END_RUNNING};
    const struct pt_process *process = &profile->processes.items[number];
    return process->ended ? PT_END_ITSELF : ends[process->alive];
}

struct pt_open_ends pt_open_ends_of(const struct pt_profile *profile)
{
    struct pt_open_ends ends = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        enum pt_end end = pt_end_of(profile, i);
        ends.running += end == PT_END_RUNNING;
        ends.killed += end == PT_END_SIGNAL;
        ends.unknown += end == PT_END_UNKNOWN;
    }
    return ends;
}

static void append_count(struct pt_buffer *text, size_t before, uint32_t count, const char *what)
{
    if (count)
        pt_buffer_format(text, "%s%" PRIu32 " %s", text->length > before ? ", " : "", count, what);
}

void pt_open_ends_append(struct pt_buffer *text, const struct pt_open_ends *ends)
{
    size_t before = text->length;
    append_count(text, before, ends->running, "still running");
    append_count(text, before, ends->killed, "ended by a signal");
    append_count(text, before, ends->unknown, "still running or killed");
}

PT_DEFINE_ORDER(newest_first, struct pt_run,
                pt_compare(y->start_unix_ns, x->start_unix_ns) ?: pt_compare(x->run, y->run))

static void add_process(const struct pt_profile *profile, struct pt_run *run, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    if (!run->processes || process->start_unix_ns < run->start_unix_ns) {
        run->start_unix_ns = process->start_unix_ns;
        run->first = number;
    }
    if (process->end_unix_ns > run->end_unix_ns)
        run->end_unix_ns = process->end_unix_ns;
    run->processes++;
    run->segments += process->segments;
    run->not_ended += !process->ended;
    run->cpu_ns += process->accounting.cpu_ns;
    run->own_ns += process->accounting.own_ns;
}

struct pt_run *pt_runs_of(const struct pt_profile *profile, uint32_t *count)
{
    struct pt_run *runs = pt_alloc(profile->processes.count, sizeof *runs);
    uint32_t *run_of_string = pt_alloc(profile->strings.count, sizeof *run_of_string); /* + 1 */
    *count = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        uint32_t id = profile->processes.items[i].run;
        if (!run_of_string[id]) {
            runs[(*count)++].run = id;
            run_of_string[id] = *count;
        }
        add_process(profile, &runs[run_of_string[id] - 1], i);
    }
    free(run_of_string);
    qsort(runs, *count, sizeof *runs, newest_first);
    return runs;
}
