/* SPDX-License-Identifier: Apache-2.0 */
#include "open_ends.h"

#include <inttypes.h>

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
