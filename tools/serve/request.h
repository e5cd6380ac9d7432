/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the head of an HTTP request. It is strict: what is not a plain GET or HEAD of HTTP/1 is refused. */
#ifndef PT_SERVE_REQUEST_H
#define PT_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define PT_HEAD_BYTES   8192 /* limit of request line and headers */
#define PT_TARGET_BYTES 2048

enum pt_http {
    PT_HTTP_MORE = 0, /* the head is not complete */
    PT_HTTP_OK = 200,
    PT_HTTP_BAD = 400,
    PT_HTTP_NO_TOKEN = 401,
    PT_HTTP_FORBIDDEN = 403,
    PT_HTTP_NOT_FOUND = 404,
    PT_HTTP_METHOD = 405,
    PT_HTTP_TIMEOUT = 408,
    PT_HTTP_LONG_TARGET = 414,
    PT_HTTP_MISDIRECTED = 421,
    PT_HTTP_LONG_HEAD = 431,
    PT_HTTP_FAILED = 500,
    PT_HTTP_BUSY = 503,
    PT_HTTP_VERSION = 505
};

/* The texts lie in the data that was parsed. */
struct pt_http_request {
    bool only_head;
    char *path, *query; /* as they were sent; query: "" without one */
    char *host;
    char *authorization; /* NULL: not sent */
};

/* Parses the first `length` bytes, which are followed by room for one more. Returns PT_HTTP_MORE, PT_HTTP_OK or the
 * status that refuses the request. Only PT_HTTP_OK fills *request, and writes NULs into the data. */
enum pt_http pt_http_parse(char *data, size_t length, struct pt_http_request *request);

/* Takes the next "key=value" off a query and decodes both. Returns false at the end, and when it is malformed, which
 * sets *bad: a NUL or an incomplete escape. */
bool pt_http_next_pair(char **query, char **key, char **value, bool *bad);

#endif
