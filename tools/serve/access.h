/* SPDX-License-Identifier: Apache-2.0 */
/* Says where the server listens, and which requests are answered. */
#ifndef PT_SERVE_ACCESS_H
#define PT_SERVE_ACCESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "request.h"

struct pt_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
};

struct pt_access {
    struct pt_address address;
    char *token; /* NULL: none is asked for */
};

/* Fills *access by --listen and --token-file, NULL without. Returns false after a message. The caller frees the token.
 */
bool pt_access_parse(struct pt_access *access, const char *listen, const char *token_file);

/* Returns PT_HTTP_OK, or the status that refuses the request. Without a token the request must name this server by an
 * address or "localhost": a page elsewhere that has its own name resolve to this machine would read all otherwise. */
enum pt_http pt_access_check(const struct pt_access *access, const struct pt_http_request *request);

/* Returns the listening socket, and sets the address to its own; -1 after a message. */
int pt_access_listen(struct pt_access *access);

/* Writes "127.0.0.1:4040" or "[::1]:4040". */
void pt_access_name(const struct pt_access *access, char name[INET6_ADDRSTRLEN + 8]);

#endif
