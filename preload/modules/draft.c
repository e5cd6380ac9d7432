/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the rows of functions that samples met since the last table was published. */
#include "../base/arena.h"
#include "module_list.h"

struct pp_module_table *pp_draft_table;

void pp_modules_forget_draft(void)
{
    struct pp_module_table *table = pp_draft_table;
    pp_draft_table = NULL; /* first: the child of a fork in between has no such table */
    pp_module_table_free(table);
}

struct pp_module_range pp_module_present_range(const struct pp_module *module)
{
    struct pp_module_range range = pp_module_range_of(module);
    if (module->private->draft)
        pp_unwind_draft_show(module->private->draft, &range);
    return range;
}

void pp_module_free_draft(struct pp_module *module)
{
    struct pp_unwind_draft *draft = module->private->draft;
    module->private->draft = NULL;
    if (draft) {
        pp_unwind_draft_free(draft);
        pp_unmap(draft, sizeof *draft);
    }
}

const struct pp_module_table *pp_modules_draft(void)
{
    const struct pp_module_list *modules = pp_module_list();
    if (!pp_draft_table && modules) {
        pp_draft_table = pp_module_table_make(modules, false);
        for (size_t i = 0; pp_draft_table && i < modules->count; i++)
            pp_draft_table->ranges[i] = pp_module_present_range(modules->modules[i]);
    }
    return pp_draft_table;
}
