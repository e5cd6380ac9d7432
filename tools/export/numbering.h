/* Numbers from 1 on for things that have a number of the profile already, in the order of their first use: what formats
 * with tables of their own need. */
#ifndef PP_EXPORT_NUMBERING_H
#define PP_EXPORT_NUMBERING_H

#include "../profile/model.h"

struct pp_numbering {
    uint32_t *given;   /* by item; 0: none yet */
    uint32_t *order;   /* items in the order of their numbers, from order[0] on */
    uint32_t count;    /* numbers given */
    uint32_t capacity; /* of given */
    uint32_t order_capacity;
};

/* The item's number. Starts as {0}; room grows with the items asked for. pp_numbering_free ends it. */
uint32_t pp_number(struct pp_numbering *numbering, uint32_t item);
void pp_numbering_free(struct pp_numbering *numbering);

/* Place in a table of strings of which string 0 is "". */
static inline uint32_t pp_number_string(struct pp_numbering *strings, uint32_t string)
{
    return string ? pp_number(strings, string) : 0;
}

/* A line of a table of functions. Strings of the profile; 0: none, unknown. */
struct pp_table_function {
    uint32_t name, system_name, file, first_line;
};

struct pp_function_table {
    PP_TABLE_OF(struct pp_table_function) functions; /* number i is items[i - 1] */
};

/* The function's number, from 1 on. The table starts as {0}; pp_function_table_free ends it. */
uint32_t pp_number_function(struct pp_function_table *table, struct pp_table_function function);
void pp_function_table_free(struct pp_function_table *table);

#endif
