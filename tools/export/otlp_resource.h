/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that OpenTelemetry's profiles and logs have in common. */
#ifndef PT_EXPORT_OTLP_RESOURCE_H
#define PT_EXPORT_OTLP_RESOURCE_H

#include "../model/model.h"

/* Appends a KeyValue as a field; value NULL: the number. None if the value is "". Plain text, not ids: some receivers
 * do not resolve ids here. */
void pt_otlp_append_attribute(struct pt_buffer *to, unsigned field, const char *key, const char *value,
                              uint64_t number);

/* Appends the process as the resource of a ResourceProfiles or ResourceLogs. shown_ns: CPU time of what is exported. */
void pt_otlp_append_resource(struct pt_buffer *to, const struct pt_profile *profile, uint32_t process,
                             uint64_t shown_ns);

/* Appends the scope of a ScopeProfiles or ScopeLogs, with our version. */
void pt_otlp_append_scope(struct pt_buffer *to, const char *name);

#endif
