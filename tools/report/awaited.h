/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the task, thread or coroutine that most of an endpoint's CPU time is in, and the line that awaits it. */
#ifndef PT_REPORT_AWAITED_H
#define PT_REPORT_AWAITED_H

#include "../base/json.h"
#include "../model/model.h"

struct pt_awaited {
    uint64_t ns; /* 0: nothing that matters is awaited */
    enum { PT_AWAITED_TASK, PT_AWAITED_THREAD, PT_AWAITED_COROUTINE } what;
    uint32_t name;         /* string: of the task or coroutine */
    uint32_t function;     /* that awaits it */
    uint32_t line;         /* where */
    uint32_t outside_task; /* string: the task in which the function runs, where the endpoint awaits that; 0: none */
};

/* The steps from the functions of endpoints to what these await; NULL unless `by` is "endpoint". pt_awaits_free ends
 * it. */
struct pt_awaits;
struct pt_awaits *pt_awaits_of(struct pt_profile *profile, const char *by);
/* Returns what most of the endpoint's CPU time is in; value: a string. */
struct pt_awaited pt_hot_awaited(const struct pt_awaits *awaits, uint32_t value);
void pt_awaits_free(struct pt_awaits *awaits);

/* Prints it as a line; whole_ns: the endpoint's CPU time. */
void pt_print_awaited(const struct pt_profile *profile, const struct pt_awaited *awaited, uint64_t whole_ns);
void pt_json_awaited(struct pt_json *json, const struct pt_profile *profile, const struct pt_awaited *awaited);

#endif
