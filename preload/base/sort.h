/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts in place: a heap sort, which has no bad case and needs no memory. */
#ifndef PP_BASE_SORT_H
#define PP_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PP_SORT_ITEM_MAX 32 /* bytes */

typedef bool pp_sort_before(const void *first, const void *second, const void *argument);

/* Inlined, so that size and order are constants: sorting is as fast as if written for the type. */
static inline __attribute__((always_inline)) void pp_swap_items(char *a, char *b, size_t size)
{
    char item[PP_SORT_ITEM_MAX];
    memcpy(item, a, size);
    memcpy(a, b, size);
    memcpy(b, item, size);
}

static inline __attribute__((always_inline)) void pp_sort(void *items, size_t count, size_t size,
                                                          pp_sort_before *before, const void *argument)
{
    char *item = items;
    for (size_t start = count / 2, end = count; end > 1;) {
        if (start)
            start--;
        else
            pp_swap_items(item, item + --end * size, size);
        size_t at = start;
        for (size_t child; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end && before(item + child * size, item + (child + 1) * size, argument))
                child++;
            if (!before(item + at * size, item + child * size, argument))
                break;
            pp_swap_items(item + at * size, item + child * size, size);
        }
    }
}

#endif
