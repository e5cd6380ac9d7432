/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"

#include <stdlib.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/numbers.h"
#include "gil_gc.h"
#include "id_map.h"
#include "selection.h"
#include "traces.h"

void pt_sums_accept(struct pt_process *process, const struct pt_segment *segment)
{
    struct pt_part *part = pt_part_of(process, segment->process.segment);
    if (part) {
        part->earlier = segment->earlier;
        part->last = segment->accounting;
        part->has_last = true;
        process->sums_open = true;
    } else {
        process->accounting = segment->accounting;
    }
    process->has_accounting = true;
    if (segment->accounting.end_unix_ns > process->end_unix_ns)
        process->end_unix_ns = segment->accounting.end_unix_ns;
}

PT_DEFINE_ORDER(by_number, struct pt_part *const, pt_compare((*x)->number, (*y)->number))

PT_DEFINE_ORDER(by_time, struct pt_usage, pt_compare(x->wall_ns, y->wall_ns))

/* Sets the sums to the last ones, less what the process did in parts that are missing. */
static void close_sums(struct pt_process *process)
{
    uint32_t count = process->parts.count;
    PT_AUTO_FREE const struct pt_part **parts = pt_alloc(count, sizeof(struct pt_part *));
    for (uint32_t i = 0; i < count; i++)
        parts[i] = &process->parts.items[i];
    qsort(parts, count, sizeof *parts, by_number);
    struct pt_accounting before = {0}, sum = parts[count - 1]->last;
    for (uint32_t i = count - 1; !parts[i]->has_last && i > 0; i--)
        sum = parts[i - 1]->last;
    process->missing_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i]->earlier.cpu_ns > before.cpu_ns) {
            struct pt_accounting missing = pt_accounting_between(&before, &parts[i]->earlier);
            sum = pt_accounting_between(&missing, &sum);
            if (missing.cpu_ns > missing.pending_ns)
                process->missing_ns += missing.cpu_ns - missing.pending_ns;
        }
        if (parts[i]->has_last)
            before = parts[i]->last;
    }
    process->accounting = sum;
}

void pt_profile_close_sums(struct pt_profile *profile)
{
    for (PT_EACH(struct pt_process, process, &profile->processes)) {
        if (process->sums_open)
            close_sums(process);
        process->sums_open = false;
        if (process->usage.count)
            qsort(process->usage.items, process->usage.count, sizeof *process->usage.items, by_time);
    }
}

void pt_profile_finish(struct pt_profile *profile)
{
    pt_profile_close_sums(profile);
    if (profile->request->traces == PT_TRACES_APART && profile->traces.count)
        pt_traces_set_apart(profile);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (!process->accounting.pending_ns)
            continue;
        struct pt_thread thread = {.process = i, .name = pt_intern_text(profile, "(process)")};
        struct pt_sample sample = {
            .thread = pt_add_thread(profile, &thread),
            .node = pt_add_node(profile, 0, pt_add_pseudo(profile, PP_PSEUDO_UNSAMPLED)),
            .cpu_ns = process->accounting.pending_ns,
        };
        if (profile->request->traces == PT_TRACES_ONLY ||
            !pt_clip_interval(profile, process, &(struct pt_interval){process->accounting.end_unix_ns, 0}) ||
            !pt_accepts_thread(profile, sample.thread))
            continue;
        if (profile->request->timed)
            sample.interval = pt_add_interval(profile, process->accounting.end_unix_ns, 0);
        if (profile->keep == PT_KEEP_STACKS) {
            pt_states_add(&profile->threads.items[sample.thread].states, 0, sample.cpu_ns);
            pt_add_stack(profile, &sample);
            if (profile->request->timed)
                pt_add_busy(profile, sample.thread, 0, sample.interval, sample.cpu_ns);
        } else {
            pt_append_sample(profile, &sample);
        }
    }
}
