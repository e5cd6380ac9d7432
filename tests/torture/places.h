/* Where in the interpreter something happened, how often. */
#ifndef TORTURE_PLACES_H
#define TORTURE_PLACES_H

#include <stdint.h>
#include <stdio.h>

enum place { PLACE_LOST, PLACE_REFUSED, PLACE_TRUNCATED, PLACE_KINDS };

void places_count(enum place kind, uintptr_t pc);
/* As symbol and offset, or as an address in the file. */
void places_print_address(FILE *out, uintptr_t pc);
/* The most frequent ones of each kind to stdout, as comments. */
void places_print(void);

#endif
