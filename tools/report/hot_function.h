/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what most of a value's CPU time is in (group.h): the application's function, what it calls outside of it
 * included, with the function that led to it ("rank → price_of"), or a package, for what runs below middleware or
 * without the application; and the hottest line there. */
#ifndef PT_REPORT_HOT_FUNCTION_H
#define PT_REPORT_HOT_FUNCTION_H

#include "hot_line.h"

struct pt_hot_functions;

#define PT_HOT_PACKAGE "in " /* the text of a package begins so */

/* Begins with no samples; by: what the values are of. lines: functions have the lines that they run.
 * pt_hot_functions_free ends it. */
struct pt_hot_functions *pt_hot_functions_new(struct pt_profile *profile, const char *by, bool lines);
void pt_hot_functions_add(struct pt_hot_functions *hot, uint32_t value, const struct pt_sample *sample);
/* Gives the samples of each value to that in its row; rows: by value. Those of none stay. */
void pt_hot_functions_join(struct pt_hot_functions *hot, const uint32_t *rows);
/* Returns it for each value, a string. The caller frees. */
struct pt_hot_function *pt_hot_functions_by_value(const struct pt_hot_functions *hot);
void pt_hot_functions_free(struct pt_hot_functions *hot);

struct pt_hot_function {
    uint32_t text; /* 0: there is no Python function */
    uint64_t ns;
    struct pt_hot_line line; /* of the application, anywhere in the value's time */
};

#endif
