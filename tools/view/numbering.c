/* SPDX-License-Identifier: Apache-2.0 */
#include "numbering.h"

#include <stdlib.h>
#include <string.h>

uint32_t pt_number(struct pt_numbering *numbering, uint32_t item)
{
    numbering->given = pt_grow(numbering->given, &numbering->capacity, (uint64_t)item + 1, sizeof *numbering->given);
    if (!numbering->given[item]) {
        numbering->order = pt_grow(numbering->order, &numbering->order_capacity, (uint64_t)numbering->count + 1,
                                   sizeof *numbering->order);
        numbering->order[numbering->count++] = item;
        numbering->given[item] = numbering->count;
    }
    return numbering->given[item];
}

void pt_numbering_free(struct pt_numbering *numbering)
{
    free(numbering->given);
    free(numbering->order);
    *numbering = (struct pt_numbering){0};
}

PT_DEFINE_ADD(static uint32_t add, struct pt_function_table, functions, struct pt_table_function, item->name,
              item->system_name, item->file, item->first_line)

uint32_t pt_number_function(struct pt_function_table *table, struct pt_table_function function)
{
    return add(table, &function) + 1;
}

void pt_function_table_free(struct pt_function_table *table)
{
    PT_FREE_TABLE(&table->functions);
    *table = (struct pt_function_table){0};
}
