/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <inttypes.h>
#include <string.h>

#include "../view/command.h"

#define SHORTEST_CUT 20 /* bytes that rows have in common, from which on they are not repeated */

/* Returns the process that forked this one or ran its command; PT_NONE if it was not profiled. */
static uint32_t parent_of(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *other = &profile->processes.items[i];
        bool by_id = process->parent_instance && process->parent_instance == other->instance;
        if (i != number && (by_id || (other->pid == process->ppid && other->boot_id == process->boot_id)))
            return i;
    }
    return PT_NONE;
}

/* Returns the parent of a process that runs its parent's command; PT_NONE for others. */
static uint32_t master_of(const struct pt_profile *profile, uint32_t number)
{
    uint32_t parent = parent_of(profile, number);
    const struct pt_process *all = profile->processes.items;
    return parent != PT_NONE && all[parent].command_line == all[number].command_line ? parent : PT_NONE;
}

static bool has_workers(const struct pt_profile *profile, uint32_t number)
{
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (master_of(profile, i) == number)
            return true;
    return false;
}

/* Returns how much of the beginning both have, up to the end of a word or a directory. */
static size_t common(const char *text, const char *previous)
{
    size_t length = 0, words = 0;
    for (; text[length] && text[length] == previous[length]; length++)
        if (text[length] == ' ' || text[length] == '/')
            words = length + 1;
    return text[length] || previous[length] ? words : 0;
}

/* Appends what a process of multiprocessing's is for, in place of its long command. Returns false for other processes.
 */
static bool append_role(struct pt_buffer *text, const struct pt_process *process, const char *command)
{
    if (strstr(command, " --multiprocessing-fork"))
        pt_buffer_format(text, "worker of %" PRIu64 " (multiprocessing, spawned)", process->ppid);
    else if (strstr(command, "from multiprocessing.resource_tracker import"))
        pt_buffer_format(text, "resource tracker of %" PRIu64 " (multiprocessing)", process->ppid);
    else if (strstr(command, "from multiprocessing.forkserver import"))
        pt_buffer_format(text, "fork server of %" PRIu64 " (multiprocessing)", process->ppid);
    else
        return false;
    return true;
}

void pt_report_process(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number, const char *previous)
{
    const struct pt_process *process = &profile->processes.items[number];
    uint32_t master = master_of(profile, number);
    pt_buffer_format(text, "%" PRIu64 " ", process->pid);
    if (master != PT_NONE) {
        pt_buffer_format(text, "worker of %" PRIu64, profile->processes.items[master].pid);
        return;
    }
    if (append_role(text, process, pt_string(profile, process->command_line)))
        return;
    struct pt_buffer command = {0}, before = {0};
    pt_typed_command(&command, pt_string(profile, process->command_line));
    pt_typed_command(&before, previous);
    size_t same = common(command.data, before.data);
    pt_buffer_text(text, same >= SHORTEST_CUT ? "…" : "");
    pt_buffer_text(text, command.data + (same >= SHORTEST_CUT ? same : 0));
    pt_buffer_text(text, has_workers(profile, number) ? " (master)" : "");
    pt_buffer_free(&before);
    pt_buffer_free(&command);
}
