/* What a profile says of itself and its processes, as JSON (jansson): the same wherever it stands. */
#ifndef PT_TOOLS_SUMS_JSON_H
#define PT_TOOLS_SUMS_JSON_H

#include <jansson.h>

#include "../profile/model.h"

void pt_set_number(json_t *object, const char *key, uint64_t value);
/* null when nothing is known: that is not 0. */
void pt_set_known(json_t *object, const char *key, uint64_t value, uint64_t known);

/* Accounting, states, cost and warnings of one process, or of all (PT_NONE). */
void pt_set_sums(json_t *object, const struct pt_profile *profile, uint32_t process);

/* A string of the profile, null for none. */
json_t *pt_string_json(const struct pt_profile *profile, uint32_t string);

/* The Python versions of one process, or of all (PT_NONE). */
json_t *pt_versions_json(struct pt_profile *profile, uint32_t process);

#endif
