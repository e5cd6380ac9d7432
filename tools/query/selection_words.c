/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_words.h"

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../base/output.h"

static void append_time(struct pt_buffer *line, const char *name, uint64_t ns)
{
    if (ns)
        pt_buffer_format(line, " --%s %.12gs", name, pt_seconds(ns));
}

static void append_text(struct pt_buffer *line, const char *name, const char *value)
{
    if (!value)
        return;
    pt_buffer_format(line, " --%s ", name);
    pt_append_argument(line, value);
}

void pt_append_selection(struct pt_buffer *line, const struct pt_selection *select)
{
    append_time(line, "from", select->from_ns);
    append_time(line, "to", select->to_ns);
    append_text(line, "pid", select->pid);
    append_text(line, "thread", select->thread);
    append_text(line, "not-thread", select->not_thread);
    append_text(line, "focus", select->focus);
    append_text(line, "ignore", select->ignore);
    append_text(line, "trace", select->trace);
}

void pt_append_stack_options(struct pt_buffer *line, const struct pt_selection *select)
{
    if (select->native != PT_NATIVE_LIBRARIES)
        pt_buffer_text(line, select->native == PT_NATIVE_NONE ? " --native=none" : " --native=all");
    if (select->no_awaiters)
        pt_buffer_text(line, " --no-awaiters");
    if (select->join_pools)
        pt_buffer_text(line, " --join-pools");
}
