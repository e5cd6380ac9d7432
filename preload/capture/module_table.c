#include "module_table.h"

struct pp_module_table *_Atomic pp_module_table;
pp_find_object *pp_loader_find_object;

bool pp_module_of(const struct pp_module_table *table, uintptr_t address, struct pp_module_range *module)
{
    const struct pp_module_range *range = pp_module_range_of(table, address);
    struct pp_found_object object;
    if (range) {
        *module = *range;
        return true;
    }
    if (!pp_loader_find_object || pp_loader_find_object((void *)address, &object) != 0)
        return false;
    *module = (struct pp_module_range){(uintptr_t)object.map_start, (uintptr_t)object.map_end,
                                       (uintptr_t)object.eh_frame_hdr, false};
    return true;
}
