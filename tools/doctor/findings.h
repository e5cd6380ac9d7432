/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the results of `pyprof doctor`: a list of checks, each with what to do if it failed. */
#ifndef PT_DOCTOR_FINDINGS_H
#define PT_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

enum pt_level { PT_LEVEL_OK, PT_LEVEL_WARN, PT_LEVEL_FAIL };

struct pt_finding {
    enum pt_level level;
    const char *topic;   /* one word, a literal */
    char *what, *remedy; /* remedy: NULL when there is nothing to do */
};

/* Starts as {0}; pt_findings_free ends it. */
struct pt_findings {
    struct pt_finding *items;
    uint32_t count, capacity;
};

/* Adds a finding; `what` is a sentence without a full stop, topic a literal. */
void pt_find(struct pt_findings *findings, enum pt_level level, const char *topic, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets what to do about the finding that was added last. */
void pt_remedy(struct pt_findings *findings, const char *remedy, ...) __attribute__((format(printf, 2, 3)));

/* Returns the first finding of this level, NULL when there is none. */
const struct pt_finding *pt_findings_first(const struct pt_findings *findings, enum pt_level level);

void pt_findings_print(const struct pt_findings *findings);
/* Prints the findings as JSON, with the verdict. Returns false when it could not be written. */
bool pt_findings_json(const struct pt_findings *findings, bool works);
void pt_findings_free(struct pt_findings *findings);

#endif
