/* What a process has used interval by interval, of a profile that was loaded with keep_usage: part of `info`. */
#ifndef PP_TOOLS_INTERVALS_H
#define PP_TOOLS_INTERVALS_H

#include <jansson.h>

#include "profile/model.h"

/* An array of objects, in the order of time; the caller's. */
json_t *pp_intervals_json(const struct pp_process *process);
/* A table, on stdout. */
void pp_intervals_print(const struct pp_process *process);

#endif
