/* What `pyprof doctor` has found out: a list of checks, each with what to do when it is not good. */
#ifndef PP_DOCTOR_FINDINGS_H
#define PP_DOCTOR_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum pp_level { PP_LEVEL_OK, PP_LEVEL_WARN, PP_LEVEL_FAIL };

struct pp_finding {
    enum pp_level level;
    const char *topic;   /* one word, a literal */
    char *what, *remedy; /* remedy: NULL when there is nothing to do */
};

/* Starts as {0}; pp_findings_free ends it. */
struct pp_findings {
    struct pp_finding *items;
    uint32_t count, capacity;
};

/* Adds one; `what` is a sentence without a full stop. */
void pp_find(struct pp_findings *findings, enum pp_level level, const char *topic, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* What to do about the one that was added last. */
void pp_remedy(struct pp_findings *findings, const char *remedy, ...) __attribute__((format(printf, 2, 3)));

/* The first one with this level, NULL when there is none. */
const struct pp_finding *pp_findings_first(const struct pp_findings *findings, enum pp_level level);

void pp_findings_print(const struct pp_findings *findings);
json_t *pp_findings_json(const struct pp_findings *findings);
void pp_findings_free(struct pp_findings *findings);

#endif
