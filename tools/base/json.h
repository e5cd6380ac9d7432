/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written as a stream: the writer puts the commas. */
#ifndef PT_BASE_JSON_H
#define PT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pt_json {
    FILE *out;
    bool indented;  /* one value a line, for people */
    unsigned depth; /* of open objects and arrays */
    bool comma;     /* a value precedes the next one */
};

/* The key of a value is NULL in an array. An object begins with '{' and ends with '}', an array with '[' and ']'; all
 * that is open when pt_json_finish is called must have been closed. */
void pt_json_begin(struct pt_json *json, const char *key, char bracket);
void pt_json_end(struct pt_json *json, char bracket);

/* A string; NULL becomes null. Bytes that are not UTF-8 become '?'. */
void pt_json_text(struct pt_json *json, const char *key, const char *text);
/* Puts a string into an array; takes any pointer so that it can be a callback. */
void pt_json_element(void *json, const char *text);
void pt_json_number(struct pt_json *json, const char *key, uint64_t value);
/* null unless `known`, which is not 0. */
void pt_json_known(struct pt_json *json, const char *key, uint64_t value, bool known);
/* Puts uint64_t fields of the struct at `from`. */
struct pt_json_field {
    const char *key;
    size_t offset;
};
void pt_json_fields(struct pt_json *json, const void *from, const struct pt_json_field *fields, size_t count);
void pt_json_bool(struct pt_json *json, const char *key, bool value);
/* Any other value, as JSON has it: signed numbers and fractions. */
void pt_json_format(struct pt_json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the document with a line end. Returns false if it could not be written. */
bool pt_json_finish(struct pt_json *json);

/* Begins and ends the JSON of a command on stdout: an object whose "version" is raised when a field changes its meaning
 * or goes away. */
struct pt_json pt_json_document(FILE *out);
bool pt_json_end_document(struct pt_json *json);

#endif
