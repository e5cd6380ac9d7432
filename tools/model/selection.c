/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"
#include "ready.h"
#include "time_bins.h"

#include <stdlib.h>
#include <string.h>

/* Returns the moment in unix ns; `otherwise` if it is not given. */
static uint64_t unix_ns_of(const struct pt_profile *profile, const struct pt_when *when, uint64_t otherwise)
{
    uint64_t start = profile->run_start_unix_ns, end = profile->run_end_unix_ns;
    if (when->unix_ns)
        return when->unix_ns;
    if (when->before_end_ns)
        return when->before_end_ns < end ? end - when->before_end_ns : 0;
    if (!when->of_run_ns)
        return otherwise;
    return when->of_run_ns < UINT64_MAX - start ? start + when->of_run_ns : UINT64_MAX;
}

void pt_selected_times(const struct pt_profile *profile, uint64_t *from, uint64_t *to)
{
    *from = unix_ns_of(profile, &profile->request->select.from, 0);
    *to = unix_ns_of(profile, &profile->request->select.to, UINT64_MAX);
}

void pt_selected_window(const struct pt_profile *profile, uint64_t *start, uint64_t *end)
{
    const struct pt_selection *select = &profile->request->select;
    bool as_asked = select->from.unix_ns && select->to.unix_ns;
    uint64_t from, to;
    pt_selected_times(profile, &from, &to);
    if (select->from.ready) {
        from = UINT64_MAX;
        for (uint32_t i = 0; i < profile->processes.count; i++) {
            uint64_t ready = pt_ready_unix_ns(&profile->processes.items[i].ready);
            from = ready < from ? ready : from;
        }
    }
    *start = as_asked || (from > *start && from < UINT64_MAX) ? from : *start;
    *end = as_asked || to < *end ? to : *end;
}

bool pt_clip_interval(const struct pt_profile *profile, const struct pt_process *process, struct pt_interval *interval)
{
    const struct pt_selection *select = &profile->request->select;
    uint64_t start = interval->start_unix_ns, end = start + interval->wall_ns, from, to;
    uint64_t ready = pt_ready_unix_ns(&process->ready);
    bool becomes = pt_ready_in(&process->ready, interval);
    if ((select->from.ready && start < ready && !becomes) || (select->to.ready && start >= ready && !becomes))
        return false;
    pt_selected_times(profile, &from, &to);
    if (!pt_interval_has_time(interval))
        return start >= from && (start < to || to == UINT64_MAX);
    from = from > start ? from : start;
    to = to < end ? to : end;
    if (from >= to)
        return false;
    *interval = (struct pt_interval){from, to - from};
    return true;
}

bool pt_accepts_sample(const struct pt_profile *profile, const struct pt_process *process,
                       const struct pt_segment *segment, const struct pt_interval *interval,
                       const struct pt_log_sample *sample)
{
    const struct pt_selection *select = &profile->request->select;
    if (!(select->from.ready || select->to.ready) || !pt_ready_in(&process->ready, interval))
        return true;
    return pt_is_of_start(segment, sample) ? !select->from.ready : !select->to.ready;
}

bool pt_accepts_process(const struct pt_profile *profile, uint32_t process)
{
    const char *pids = profile->request->select.pid;
    return !pids || pt_pid_is_listed(pids, profile->processes.items[process].pid);
}

bool pt_accepts_thread(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_selection *select = &profile->request->select;
    const struct pt_thread *thread = &profile->threads.items[number];
    return pt_accepts_process(profile, thread->process) &&
           (!pt_names_ids(select->thread) || pt_pid_is_listed(select->thread, thread->tid)) &&
           (!pt_names_ids(select->not_thread) || !pt_pid_is_listed(select->not_thread, thread->tid));
}

bool pt_accepts_all(const struct pt_profile *profile)
{
    return !pt_selects_early(&profile->request->select);
}

bool pt_names_ids(const char *thread)
{
    return thread && *thread && !thread[strspn(thread, "0123456789")];
}

bool pt_selects_names(const struct pt_selection *select)
{
    return (select->thread && !pt_names_ids(select->thread)) ||
           (select->not_thread && !pt_names_ids(select->not_thread));
}

bool pt_selects_contents(const struct pt_selection *select)
{
    return select->focus || select->ignore;
}

bool pt_selects_time(const struct pt_selection *select)
{
    return pt_when_is_given(&select->from) || pt_when_is_given(&select->to);
}

bool pt_selects_early(const struct pt_selection *select)
{
    return pt_selects_time(select) || select->pid || pt_names_ids(select->thread) || pt_names_ids(select->not_thread);
}

bool pt_selects_a_part(const struct pt_selection *select)
{
    return pt_selects_early(select) || pt_selects_names(select) || pt_selects_contents(select);
}

bool pt_selects_stacks(const struct pt_selection *select)
{
    return select->thread || select->not_thread || pt_selects_contents(select);
}

enum pt_keep pt_keep_for(const struct pt_load_request *request)
{
    /* Sums of threads are of all their stacks, and traces know what thread they ran in. */
    bool by_thread = request->by && strcmp(request->by, "thread") == 0;
    bool needs_samples = by_thread || request->traces || pt_selects_names(&request->select) ||
                         (!request->timed && pt_selects_contents(&request->select));
    return request->keep == PT_KEEP_STACKS && needs_samples ? PT_KEEP_SAMPLES : request->keep;
}

bool pt_pid_is_listed(const char *list, uint64_t number)
{
    while (*list) {
        char *end;
        if (strtoull(list, &end, 10) == number && end != list)
            return true;
        list = end + strspn(end, ",");
    }
    return false;
}
