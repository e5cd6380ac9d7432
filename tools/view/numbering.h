/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from 1 on for things that have a number of the profile already, in the order of their first use: what formats
 * with tables of their own need. */
#ifndef PT_VIEW_NUMBERING_H
#define PT_VIEW_NUMBERING_H

#include "../model/model.h"

struct pt_numbering {
    uint32_t *given;   /* by item; 0: none yet */
    uint32_t *order;   /* items in the order of their numbers, from order[0] on */
    uint32_t count;    /* numbers given */
    uint32_t capacity; /* of given */
    uint32_t order_capacity;
};

/* Returns the item's number, from 1 on. *numbering starts as {0}; pt_numbering_free ends it. */
uint32_t pt_number(struct pt_numbering *numbering, uint32_t item);
void pt_numbering_free(struct pt_numbering *numbering);

/* Returns the string's place in a table whose string 0 is "". */
static inline uint32_t pt_number_string(struct pt_numbering *strings, uint32_t string)
{
    return string ? pt_number(strings, string) : 0;
}

static inline uint32_t pt_number_text(struct pt_numbering *strings, struct pt_profile *profile, const char *text)
{
    return pt_number_string(strings, pt_intern_text(profile, text));
}

/* A line of a table of functions. Strings of the profile; 0: none, unknown. */
struct pt_table_function {
    uint32_t name, system_name, file, first_line;
};

struct pt_function_table {
    PT_TABLE_OF(struct pt_table_function) functions; /* number i is items[i - 1] */
};

/* Returns the function's number, from 1 on. The table starts as {0}; pt_function_table_free ends it. */
uint32_t pt_number_function(struct pt_function_table *table, struct pt_table_function function);
void pt_function_table_free(struct pt_function_table *table);

#endif
