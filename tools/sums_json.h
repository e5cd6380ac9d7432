/* What a profile says of itself and its processes, as JSON (jansson): the same wherever it stands. */
#ifndef PP_TOOLS_SUMS_JSON_H
#define PP_TOOLS_SUMS_JSON_H

#include <jansson.h>

#include "profile/model.h"

void pp_set_number(json_t *object, const char *key, uint64_t value);
/* null when nothing is known: that is not 0. */
void pp_set_known(json_t *object, const char *key, uint64_t value, uint64_t known);

/* Accounting, states, cost and warnings of one process, or of all (PP_NONE). */
void pp_set_sums(json_t *object, const struct pp_profile *profile, uint32_t process);

/* A string of the profile, null for none. */
json_t *pp_string_json(const struct pp_profile *profile, uint32_t string);

/* The Python versions of one process, or of all (PP_NONE). */
json_t *pp_versions_json(struct pp_profile *profile, uint32_t process);

#endif
