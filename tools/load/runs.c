/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include <stdlib.h>
#include <string.h>

static int newest_first(const void *a, const void *b)
{
    const struct pt_run *x = a, *y = b;
    if (x->start_unix_ns != y->start_unix_ns)
        return x->start_unix_ns > y->start_unix_ns ? -1 : 1;
    return x->run < y->run ? -1 : x->run > y->run;
}

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
