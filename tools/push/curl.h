/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posts by the program curl: the tool of a wheel is static and loads no library, and libcurl is thirty of them. Proxies
 * and authorities of certificates are those of curl's variables. Headers, which may hold a token, go through a pipe:
 * they are neither among curl's arguments nor in its environment.
 */
#ifndef PT_PUSH_CURL_H
#define PT_PUSH_CURL_H

#include "answer.h"
#include "pairs.h"

struct pt_post {
    const char *endpoint;
    const struct pt_pairs *headers;
    const void *body;
    size_t length;
    uint64_t timeout_ns;
};

/* Posts, and fills the answer. Returns false if there is no curl. */
bool pt_curl_post(const struct pt_post *post, struct pt_answer *answer);

#endif
