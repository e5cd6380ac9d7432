/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_sources.h"

#include <string.h>

#include "summary.h"

#define SPANS "spans of " /* begins the sources of traces in what the library says (preload/labels/context_text.c) */

struct sources {
    bool read;
    struct pt_buffer unread; /* those of an unknown layout, with the reasons */
};

static void add_source(void *data, bool read, const char *text)
{
    struct sources *sources = data;
    if (read)
        sources->read |= strstr(text, SPANS) != NULL;
    else if (strncmp(text, SPANS, sizeof SPANS - 1) == 0 &&
             (!sources->unread.length || !strstr(sources->unread.data, text)))
        pt_buffer_format(&sources->unread, "%s%s", sources->unread.length ? ", " : "", text);
}

void pt_trace_sources_append(struct pt_buffer *text, const struct pt_profile *profile, uint32_t process, uint32_t run)
{
    struct sources sources = {0};
    uint32_t setting = 0;
    if (profile->traces.count)
        return;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        bool wanted =
            (process == PT_NONE || i == process) && (run == PT_NONE || profile->processes.items[i].run == run);
        if (!wanted || !profile->processes.items[i].traces)
            continue;
        setting = setting ? setting : profile->processes.items[i].traces;
        pt_summary_contexts(profile, i, add_source, &sources);
    }
    if (setting && sources.read && profile->keep != PT_KEEP_SUMS)
        pt_buffer_format(text, "PYPROF_TRACES=%s: no sample was in a span of a trace that is kept",
                         pt_string(profile, setting));
    else if (setting && !sources.read && sources.unread.length)
        pt_buffer_format(text, "PYPROF_TRACES=%s: no trace was seen: %s cannot be read", pt_string(profile, setting),
                         sources.unread.data);
    else if (setting && !sources.read)
        pt_buffer_format(text,
                         "PYPROF_TRACES=%s: no trace was seen: the program has imported none of the OpenTelemetry "
                         "SDK, Sentry and ddtrace, and nothing publishes a thread context (OTEP 4947)",
                         pt_string(profile, setting));
    pt_buffer_free(&sources.unread);
}
