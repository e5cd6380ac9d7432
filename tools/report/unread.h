/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes services of which no endpoint is read, by the frames of their requests. */
#ifndef PT_REPORT_UNREAD_H
#define PT_REPORT_UNREAD_H

#include "../model/model.h"

/* Returns whether an endpoint is known, by its route or as a counted request. */
bool pt_has_endpoints(struct pt_profile *profile);

struct pt_unread {
    const char *package; /* the framework's, or the server's; NULL: there are no requests, or an endpoint is read */
    const char *wrapper; /* what names its requests: "asgi" or "wsgi" */
};
struct pt_unread pt_unread_endpoints(struct pt_profile *profile);

#endif
