/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of the server: which answer each has, at once or by a command that is run. */
#ifndef PT_SERVE_ROUTES_H
#define PT_SERVE_ROUTES_H

#include "job.h"
#include "request.h"

struct pt_counters;

struct pt_service {
    const struct pt_command_table *commands;
    const char *directory;
    struct pt_counters *counters;
};

struct pt_answer {
    enum pt_http status;
    const char *type;          /* of the content */
    struct pt_buffer text;     /* the content, if no command makes it */
    struct pt_job_order order; /* the command; count 0: none */
    uint64_t wait_ns;          /* before it starts */
    bool urgent;               /* it goes before others that wait */
    bool is_page;              /* it may be framed by our page, and run its scripts unless it is a refusal */
    bool is_download;
};

/* Fills *answer, which is {0}. Changes the request's texts. */
void pt_route(const struct pt_service *service, struct pt_http_request *request, struct pt_answer *answer);

/* Makes the answer a line of text with this status. */
void pt_refuse(struct pt_answer *answer, enum pt_http status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void pt_answer_free(struct pt_answer *answer);

#endif
