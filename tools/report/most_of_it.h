/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what most of a value's CPU time is in (group.h): the application's function, what it calls outside of it
 * included, or a package, for what runs below middleware or without the application. */
#ifndef PT_REPORT_MOST_OF_IT_H
#define PT_REPORT_MOST_OF_IT_H

#include "heaviest_path.h"

struct pt_most;

/* Begins with no samples; by: what the values are of. lines: functions have the lines that they run. pt_most_free ends
 * it. */
struct pt_most *pt_most_new(struct pt_profile *profile, const char *by, bool lines);
void pt_most_add(struct pt_most *most, uint32_t value, const struct pt_sample *sample);
/* Gives the samples of each value to that in its row; rows: by value. Those of none stay. */
void pt_most_join(struct pt_most *most, const uint32_t *rows);
/* Returns it for each value, a string. The caller frees. */
struct pt_heaviest *pt_most_by_value(const struct pt_most *most);
void pt_most_free(struct pt_most *most);

#endif
