/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"

#include <stdlib.h>
#include <string.h>

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
    return select->from_ns || select->to_ns;
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
