/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sums of a profile and its processes as JSON, alike in all commands. */
#ifndef PT_REPORT_SUMS_JSON_H
#define PT_REPORT_SUMS_JSON_H

#include "../base/json.h"
#include "../model/model.h"

/* Puts the keys of accounting, states, cost and warnings of one process, or of all (PT_NONE). */
void pt_json_sums(struct pt_json *json, const struct pt_profile *profile, uint32_t process);

/* Puts the times of GIL and collector: null where nothing is known, which is not 0. */
struct pt_states;
void pt_json_states(struct pt_json *json, const struct pt_states *states);

/* Puts a string of the profile; null for none. */
void pt_json_string(struct pt_json *json, const char *key, const struct pt_profile *profile, uint32_t string);

/* Puts the Python versions of one process, or of all (PT_NONE). */
void pt_json_versions(struct pt_json *json, struct pt_profile *profile, uint32_t process);

#endif
