/* What a process has used interval by interval, of a profile that was loaded with keep_usage: part of `info`. */
#ifndef PT_TOOLS_INTERVALS_H
#define PT_TOOLS_INTERVALS_H

#include <jansson.h>

#include "../profile/model.h"

/* An array of objects, in the order of time; the caller's. */
json_t *pt_intervals_json(const struct pt_process *process);
/* A table, on stdout. */
void pt_intervals_print(const struct pt_process *process);

#endif
