/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says whose CPU a sample is, for all views: --by thread, task, test, greenlet, endpoint, span, trace, package, line or
 * label:KEY.
 *
 * A task has also what it gave to a thread: samples there have no task, but one that awaits them. The table: by_table.c
 * of report/.
 */
#ifndef PT_QUERY_GROUP_H
#define PT_QUERY_GROUP_H

#include "../../preload/common/label_kinds.h"
#include "../model/model.h"

/* Groups by the application's line that runs, with all that it calls outside of the application. The page has lines of
 * its own (--lines). */
#define PT_GROUP_LINES "line"

/* The words that --by takes in all views, with blanks between them (cli/options.h). */
#define PT_GROUPS                                                                                                      \
    PP_KEY_ENDPOINT " " PP_KEY_TASK " " PP_KEY_TEST " " PP_KEY_GREENLET " thread " PP_KEY_SPAN                         \
                    " package " PT_GROUP_LINES " label:KEY"

/* The same in views that can show only the samples of traces (request.h). */
#define PT_GROUPS_AND_TRACES                                                                                           \
    PP_KEY_ENDPOINT " " PP_KEY_TASK " " PP_KEY_TEST " " PP_KEY_GREENLET " thread " PP_KEY_SPAN                         \
                    " trace package " PT_GROUP_LINES " label:KEY"

/* The same of the page. */
#define PT_GROUPS_ON_PAGE                                                                                              \
    PP_KEY_ENDPOINT " " PP_KEY_TASK " " PP_KEY_TEST " " PP_KEY_GREENLET " thread " PP_KEY_SPAN                         \
                    " trace package label:KEY"

/* What the rest of a profile is called, in text. */
#define PT_NO_GROUP "(none)"

/* A word of --by begins so that is about labels of the program. */
#define PT_GROUP_OWN "label:"

#define PT_GROUP_UNKNOWN 2u

struct pt_group {
    enum pt_group_of { PT_GROUP_OF_LABELS, PT_GROUP_OF_THREAD, PT_GROUP_OF_STACK } of;
    uint32_t *values; /* strings, by label set, thread or node; 0: none */
    /* The stacks of what PYPROF_TRACES=…,only did not select, and of pauses, with their values where there is no other:
     * nothing is known of them that would be none. 0: there are none. */
    struct pt_group_unknown {
        uint32_t node, value;
    } unknown[PT_GROUP_UNKNOWN];
    /* Imports have a value of their own where nothing else is known of them (a service imports before it serves). By
     * node, 0: none; NULL: they have none. */
    uint32_t *apart;
};

/* Samples must have what it is made of: pt_load_request's `by`. Nodes, threads and label sets that the profile gets
 * later have no value. pt_group_free ends it. */
struct pt_group pt_group_by(struct pt_profile *profile, const char *by);

/* Groups likewise, with imports apart where servers and event loops run what has no value. */
#define PT_IMPORTS "[imports]"
struct pt_group pt_group_without_imports(struct pt_profile *profile, const char *by);

/* Returns whether servers and event loops run what has no value. */
bool pt_has_outside(const char *by);

/* Returns the value, a string; 0: none. */
static inline uint32_t pt_group_value(const struct pt_group *group, const struct pt_sample *sample)
{
    uint32_t value = group->values[group->of == PT_GROUP_OF_LABELS   ? sample->labels
                                   : group->of == PT_GROUP_OF_THREAD ? sample->thread
                                                                     : sample->node];
    if (!value && group->apart)
        value = group->apart[sample->node];
    for (unsigned i = 0; !value && i < PT_GROUP_UNKNOWN; i++)
        value = sample->node == group->unknown[i].node ? group->unknown[i].value : 0;
    return value;
}

void pt_group_free(struct pt_group *group);

/* Calls each with every word that samples have values for, "thread" and "package" last. */
void pt_groups_each(const struct pt_profile *profile, void (*each)(void *data, const char *word), void *data);

/* Appends these words but `except`, with commas between them. */
void pt_groups_append(struct pt_buffer *text, const struct pt_profile *profile, const char *except);

/* Appends the heading of a column of values: "ENDPOINT", "LABEL tenant". */
void pt_group_title(struct pt_buffer *text, const char *by);

/* Returns whether a sample of the profile has a value, or a counted request. */
bool pt_has_group(const struct pt_profile *profile, const char *by);

/* Says that it has none, which others it has, and where values come from. */
void pt_say_no_group(const struct pt_profile *profile, const char *by);

/* Middleware is around several endpoints: the functions of the application that much of the CPU time of several
 * endpoints is in.
 *
 * Returns, by function, whether it is middleware; NULL if no sample has an endpoint. The caller frees. It needs the
 * samples of all endpoints: what selects some of them asks before (struct pt_profile). */
bool *pt_find_middleware(struct pt_profile *profile);

/* Returns, by node, whether the stack has a function of the application that is not middleware. The caller frees. */
bool *pt_past_middleware(const struct pt_profile *profile);

#endif
