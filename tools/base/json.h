/* JSON as a stream. */
#ifndef PT_EXPORT_JSON_H
#define PT_EXPORT_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string in quotes; the text must be UTF-8, as all strings of a profile are. */
void pt_json_text(FILE *out, const char *text);

/* An array of numbers in brackets; PT_NONE is null. */
void pt_json_numbers(FILE *out, const uint32_t *numbers, uint32_t count);

#endif
