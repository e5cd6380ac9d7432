/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values: what a server is told of a profile, and the headers of a request. */
#ifndef PT_PUSH_PAIRS_H
#define PT_PUSH_PAIRS_H

#include <stdbool.h>

#include "../base/memory.h"

struct pt_pair {
    char *key, *value;
};

struct pt_pairs {
    struct pt_pair *items;
    uint32_t count, capacity;
};

void pt_pairs_add(struct pt_pairs *pairs, const char *key, size_t key_length, const char *value, size_t value_length);
/* Returns the value of the key, NULL if there is none. */
const char *pt_pairs_value(const struct pt_pairs *pairs, const char *key);

/* Reads what OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS hold: KEY=VALUE with commas between them, values
 * with %XX. What is not of that form is left out; returns false if there was any. */
bool pt_pairs_read(struct pt_pairs *pairs, const char *text);

/* Reads the lines of a file of headers, "Name: value"; empty lines and those that begin with # say nothing. Returns
 * false, with nothing added, if a line is no header. */
bool pt_pairs_read_headers(struct pt_pairs *pairs, const char *text);

/* Returns whether all can be headers: of no control characters, which would begin another one. */
bool pt_pairs_are_headers(const struct pt_pairs *pairs);

void pt_pairs_free(struct pt_pairs *pairs);

#endif
