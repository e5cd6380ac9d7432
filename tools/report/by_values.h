/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by what --by asks for (group.h): a row for each value, with what most of it is in. */
#ifndef PT_REPORT_BY_VALUES_H
#define PT_REPORT_BY_VALUES_H

#include "awaited.h"
#include "hot_function.h"
#include "report.h"
#include "request_columns.h"

/* What is no value, in the order of its rows, which come last. */
enum pt_by_rank { PT_BY_VALUE, PT_BY_IMPORTS, PT_BY_PAUSED, PT_BY_UNKNOWN_ROUTE, PT_BY_NONE };

struct pt_by_value {
    uint32_t value; /* string; 0: none */
    uint32_t name;  /* string, of a trace (pt_report_trace_names); 0: none */
    enum pt_by_rank rank;
    uint64_t ns, count;
    struct pt_hot_function most;
    struct pt_request_sums requests;
    struct pt_per_request each;
};

struct pt_by_values {
    const struct pt_report *report;
    const char *by;
    struct pt_by_value *items;
    uint32_t count, ranked; /* ranked: how many of them, the last, are no values */
    uint64_t whole_ns;      /* what shares are of */
    struct pt_draws draws;  /* the samples that they come from */
    bool counted, measured; /* requests were, and the CPU time of some */
    bool named;             /* they are traces */
    bool uneven;            /* pt_summary_is_uneven */
};

/* Returns the values, those with most CPU time first, or as --sort says; of one process or thread only, unless PT_NONE.
 * For people, tasks and greenlets whose names differ in their numbers only are joined; imports and pauses are apart
 * where else nothing is known of them; and they, what has no route and what has no value come last. The caller frees
 * items. */
struct pt_by_values pt_by_values_of(const struct pt_report *report, const char *by, uint32_t process, uint32_t thread,
                                    bool for_people);

/* Returns the share of a value, with its interval. */
struct pt_share pt_by_share(const struct pt_by_values *values, const struct pt_by_value *value);
const char *pt_by_text(const struct pt_by_values *values, const struct pt_by_value *value);
/* Returns whether it is a value, or requests whose CPU time was measured. */
bool pt_by_is_shown(const struct pt_by_values *values, const struct pt_by_value *value);

/* Returns what most of an endpoint awaits. awaits: NULL unless endpoints are shown. */
struct pt_awaited pt_by_awaited(const struct pt_by_values *values, const struct pt_awaits *awaits,
                                const struct pt_by_value *value);

/* Prints what a reader has to know of the first `shown` rows. */
void pt_by_notes(const struct pt_by_values *values, uint32_t shown);

#endif
