/* JSON as a stream. */
#ifndef PP_EXPORT_JSON_H
#define PP_EXPORT_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string in quotes; the text must be UTF-8, as all strings of a profile are. */
void pp_json_text(FILE *out, const char *text);

/* An array of numbers in brackets; PP_NONE is null. */
void pp_json_numbers(FILE *out, const uint32_t *numbers, uint32_t count);

#endif
