/* What a process has used, interval by interval: part of `info`, of a profile that was loaded with their usage. */
#ifndef PT_REPORT_INTERVALS_H
#define PT_REPORT_INTERVALS_H

#include "../base/json.h"
#include "../profile/model.h"

/* An array of objects, in the order of time. */
void pt_json_intervals(struct pt_json *json, const struct pt_process *process);
/* A table, on stdout. */
void pt_intervals_print(const struct pt_process *process);

#endif
