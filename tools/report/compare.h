/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two profiles, function by function and stack by stack. */
#ifndef PT_REPORT_COMPARE_H
#define PT_REPORT_COMPARE_H

#include <stdio.h>

#include "../cli/options.h"
#include "../model/model.h"
#include "../view/uncertainty.h"

/* PT_COMPARE_REQUEST: of endpoints whose requests both sides have counted (http_requests.h); no others are compared
 * then. */
enum pt_compare_by { PT_COMPARE_SHARE, PT_COMPARE_TIME, PT_COMPARE_CPU, PT_COMPARE_REQUEST };

/* Returns the word of --by, and of JSON. */
const char *pt_compare_word(enum pt_compare_by by);

struct pt_side {
    struct pt_profile *profile;
    struct pt_accounting sum;
    struct pt_draws draws;
    uint64_t whole_ns; /* CPU time that shares are of */
    uint64_t start_unix_ns;
    struct pt_several
        runs; /* CPU seconds of the program in each of the side's runs; no runs: only a part is selected */
    uint32_t run_count;
};

/* CPU time of a function, a file or a stack in both profiles; 0 where it is not there. */
struct pt_change {
    uint64_t ns[2], counts[2], requests[2];
    struct pt_several
        runs[2];   /* CPU seconds in each of a side's runs; count 0: it has one, or they were not told apart */
    double chance; /* pt_change_chance */
    bool marked;   /* it is more than chance, of sampling and of what runs differ by */
};

struct pt_compared {
    const char *text; /* of one of the profiles */
    struct pt_change self, total;
    struct pt_change clock;      /* of requests that were measured: what their own clock says; without counts */
    struct pt_several clocks[2]; /* the same, and how it spreads */
};

/* Functions (or lines) and files, or instead of both what --by asks for (group.h). Those whose change is more than
 * chance come first, self time before total time, by its size; then the others. Files and groups have self time only.
 */
struct pt_comparison {
    const struct pt_side *sides; /* A, B */
    enum pt_compare_by by;
    const char *group; /* the word of --by; NULL: functions are compared */
    struct pt_compared *functions, *files;
    uint32_t function_count, file_count;
    bool without_group, without_route; /* what has no value was left out, too; and requests without a route */
    uint32_t uncounted;                /* values that are left out: one side has not counted their requests */
    uint32_t tested;                   /* how many changes were held against chance; the marks are corrected for that */
    bool service; /* it serves requests that were not counted: CPU is as much as there were requests */
};

/* Returns the side of a profile. Removes the first lines of its functions, which change whenever something above them
 * is edited. */
struct pt_side pt_side_of(struct pt_profile *profile);

/* Returns what a nanosecond of a side is in the unit of the comparison: per cent of its CPU, milliseconds per second of
 * its runs, or seconds of one run. */
double pt_compare_unit(const struct pt_side *side, enum pt_compare_by by);

/* Returns what a side has, in that unit; milliseconds per request if requests are compared. */
double pt_compare_value(const struct pt_comparison *comparison, const struct pt_change *change, int side);

/* Returns by how much more B has than A. */
double pt_compare_change(const struct pt_comparison *comparison, const struct pt_change *change);

/* The caller ends it with pt_comparison_free; the sides must live as long. */
struct pt_comparison pt_comparison_of(const struct pt_side sides[2], enum pt_compare_by by, const char *group,
                                      bool lines);
void pt_comparison_free(struct pt_comparison *comparison);

/* Returns whether the CPU times of the sides' runs differ by more than chance. */
bool pt_has_cpu_changed(const struct pt_side sides[2]);

/* Says whether B is faster or slower, by how much, and how sure that is. */
void pt_comparison_verdict(const struct pt_comparison *comparison, FILE *out);

/* Write a comparison for people, and for programs. */
void pt_comparison_print(const struct pt_comparison *comparison, const struct pt_cli *cli, FILE *out);
void pt_comparison_json(const struct pt_comparison *comparison, const struct pt_cli *cli, FILE *out);

enum pt_gate {
    PT_GATE_PASSED,
    PT_GATE_FAILED,
    PT_GATE_OPEN, /* the program's CPU has grown, and single runs do not tell whether that is chance */
};

/* Says on stderr what uses more CPU in B than in A: more than `percent` of A's CPU, and more than chance. */
enum pt_gate pt_comparison_judge(const struct pt_comparison *comparison, double percent);

/* Returns stacks as "root;…;leaf", sorted; only ns of self is set. The caller frees with pt_compared_stacks_free. */
struct pt_compared *pt_compare_stacks(const struct pt_side sides[2], bool lines, uint32_t *count);
void pt_compared_stacks_free(struct pt_compared *stacks, uint32_t count);

#endif
