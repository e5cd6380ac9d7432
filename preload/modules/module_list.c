/* SPDX-License-Identifier: Apache-2.0 */
#include "module_list.h"
#include <stdatomic.h>

static struct pp_module_list *_Atomic list;

struct pp_module_list *pp_module_list(void)
{
    return atomic_load(&list);
}

size_t pp_module_list_find(const struct pp_module_list *modules, uintptr_t address)
{
    size_t low = 0, high = modules ? modules->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (address < modules->modules[middle]->start)
            high = middle;
        else if (address >= modules->modules[middle]->end)
            low = middle + 1;
        else
            return middle;
    }
    return modules ? modules->count : 0;
}

void pp_modules_each(void (*each)(struct pp_module *module, void *arg), void *arg)
{
    const struct pp_module_list *modules = atomic_load(&list);
    for (size_t i = 0; modules && i < modules->count; i++)
        each(modules->modules[i], arg);
}

void pp_module_list_set(struct pp_module_list *fresh)
{
    atomic_store(&list, fresh);
}
