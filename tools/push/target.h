/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a profile beside its samples: the service, and where it runs. */
#ifndef PT_PUSH_TARGET_H
#define PT_PUSH_TARGET_H

#include "../model/model.h"
#include "pairs.h"
#include "url.h"

struct pt_push_target {
    struct pt_push_url url;
    const char *service;      /* --service; NULL: each process has its own */
    char *service_default;    /* of our environment; NULL: none */
    const char *headers_file; /* NULL: the environment has them */
    struct pt_pairs resource; /* attributes, by OpenTelemetry's names, without service.name */
    uint64_t timeout_ns;
};

/* Reads the environment: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, and the variables that Kubernetes' downward API
 * usually fills. The url has been read before. */
void pt_push_target_read(struct pt_push_target *target);
void pt_push_target_free(struct pt_push_target *target);

/* Fills the headers of a request from the file or the environment: a token may be replaced while we run. Returns false
 * after a message. */
bool pt_push_headers(const struct pt_push_target *target, struct pt_pairs *headers);

/* Returns the name of the process's service, a string of the profile. */
uint32_t pt_push_service(const struct pt_push_target *target, struct pt_profile *profile, uint32_t process);

/* Returns the name of the program in a command line, as 'app.py' in "python3 -u /srv/app.py 8000". The caller frees. */
char *pt_push_program_name(const char *command_line);

#endif
