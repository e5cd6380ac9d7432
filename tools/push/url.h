/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the URL of --to: which server, and what it speaks. */
#ifndef PT_PUSH_URL_H
#define PT_PUSH_URL_H

#include "../base/memory.h"

enum pt_push_protocol { PT_PUSH_PYROSCOPE, PT_PUSH_OTLP, PT_PUSH_PARCA, PT_PUSH_PROTOCOLS };

struct pt_push_url {
    enum pt_push_protocol protocol;
    char *text;     /* as it was given: it names the target in messages and in the state */
    char *endpoint; /* what is posted to: http://host:4040/push.v1.PusherService/Push */
};

/* Reads pyroscope+http://HOST[:PORT][/PATH] and the like. Returns NULL, or what an option takes (static): "takes …".
 * The caller ends *url with pt_push_url_free in either case. */
const char *pt_push_url_read(struct pt_push_url *url, const char *text);
/* Reads what was given to the option. False after a message, which has no password. */
bool pt_push_url_take(struct pt_push_url *url, const char *option, const char *text);
void pt_push_url_free(struct pt_push_url *url);

#endif
