/*
 * The modules as the handler knows them: code ranges, sorted by address.
 *
 * Protocol. modules/ builds a whole new pp_module_table, then stores one pointer (release). A handler loads the pointer
 * once (acquire) and uses that table to its end. A table is freed once every thread's slot has been seen outside the
 * handler after the new pointer was stored (pp_modules_reclaim). Published tables are never written.
 */
#ifndef PP_CAPTURE_MODULE_TABLE_H
#define PP_CAPTURE_MODULE_TABLE_H

#include "../unwind/find_rule.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pp_module_table {
    uint32_t generation; /* never 0; another number after a module was unloaded: addresses may mean something else */
    uint32_t count;
    struct pp_module_range ranges[];
};

/* Written by modules/ only; NULL before the first scan. A child of fork keeps its parent's. */
extern struct pp_module_table *_Atomic pp_module_table;

/* glibc's _dl_find_object (2.35 and later): finds the loaded object that holds an address, also one that was loaded
 * after the table was made. It takes no lock and is made for signal handlers. */
struct pp_found_object {
    unsigned long long flags;
    void *map_start, *map_end, *link_map, *eh_frame_hdr;
    unsigned long long reserved[7];
};
typedef int pp_find_object(void *address, struct pp_found_object *object);

/* Set once before the first timer; NULL: libc has none. */
extern pp_find_object *pp_loader_find_object;

/* Finds the module that holds the address in the table, which may be NULL, or by the loader. async-signal-safe. */
bool pp_module_of(const struct pp_module_table *table, uintptr_t address, struct pp_module_range *module);

/* Returns the range that holds the address, NULL if none. table may be NULL. O(log modules). async-signal-safe. */
static inline const struct pp_module_range *pp_module_range_of(const struct pp_module_table *table, uintptr_t address)
{
    size_t low = 0, high = table ? table->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (address < table->ranges[middle].start)
            high = middle;
        else if (address >= table->ranges[middle].end)
            low = middle + 1;
        else
            return &table->ranges[middle];
    }
    return NULL;
}

#endif
