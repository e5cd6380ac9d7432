/* Publishes the modules to handlers, and keeps memory that handlers may still read. */
#include "../base/arena.h"
#include "module_list.h"
#include <stdatomic.h>

/* The head of every block that handlers read, so that retiring it needs no memory. */
struct retirable {
    struct retirable *next;
    size_t mapped;
};
_Static_assert(sizeof(struct retirable) == PP_RETIRABLE_SIZE, "");

static struct retirable *_Atomic retired;
static uint32_t generation;

void pp_retire(void *block, size_t mapped)
{
    struct retirable *r = block;
    if (!r)
        return;
    *r = (struct retirable){atomic_load(&retired), mapped};
    atomic_store(&retired, r);
}

void pp_modules_reclaim(bool (*quiescent)(void))
{
    if (!atomic_load(&retired) || !quiescent())
        return;
    struct retirable *r;
    while ((r = atomic_load(&retired))) {
        /* Unlinked before it is unmapped: a fork in between must not leave the child with a dangling list. */
        atomic_store(&retired, r->next);
        pp_unmap(r, r->mapped);
    }
}

/* Returns the module as handlers see it, without rows until they are compiled. */
static struct pp_module_range range_of(const struct pp_module *module)
{
    static const struct pp_unwind_rows none;
    const struct pp_unwind_rows *rows = module->private->rows_tried ? &module->private->rows : &none;
    return (struct pp_module_range){
        .start = module->start,
        .end = module->end,
        .rows = rows->rows,
        .rules = rows->rules,
        .blocks = rows->blocks,
        .block_shift = rows->block_shift,
        .row_count = rows->row_count,
        .without = module->private->rows_tried && !rows->row_count,
        .index = module->private->number,
    };
}

static size_t block_size(size_t modules)
{
    return sizeof(struct retirable) + sizeof(struct pp_module_table) + modules * sizeof(struct pp_module_range);
}

/* Makes a table of the list's modules; NULL when there is no memory. */
static struct pp_module_table *build_table(const struct pp_module_list *modules)
{
    struct retirable *block = pp_map(block_size(modules->count));
    if (!block)
        return NULL;
    struct pp_module_table *table = (struct pp_module_table *)(block + 1);
    table->generation = ++generation ? generation : ++generation;
    for (size_t i = 0; i < modules->count; i++)
        table->ranges[table->count++] = range_of(modules->modules[i]);
    return table;
}

/* Keeps what handlers have asked for in the old table. */
static void keep_wanted(struct pp_module_table *fresh)
{
    const struct pp_module_table *old = atomic_load(&pp_module_table);
    for (uint32_t i = 0, k = 0; old && i < fresh->count; i++) {
        while (k < old->count && old->ranges[k].start < fresh->ranges[i].start)
            k++;
        if (k < old->count && old->ranges[k].index == fresh->ranges[i].index)
            fresh->ranges[i].wanted = __atomic_load_n(&old->ranges[k].wanted, __ATOMIC_RELAXED);
    }
}

bool pp_module_table_publish(const struct pp_module_list *modules)
{
    struct pp_module_table *table = build_table(modules);
    if (!table)
        return false;
    keep_wanted(table);
    struct pp_module_table *old = atomic_exchange_explicit(&pp_module_table, table, memory_order_acq_rel);
    if (old)
        pp_retire((struct retirable *)old - 1, block_size(old->count));
    return true;
}

bool pp_module_table_wants(const struct pp_module *module)
{
    struct pp_module_table *table = atomic_load(&pp_module_table);
    for (uint32_t i = 0; table && i < table->count; i++)
        if (table->ranges[i].index == module->private->number)
            return __atomic_load_n(&table->ranges[i].wanted, __ATOMIC_RELAXED);
    return false;
}

bool pp_module_function_range(const struct pp_module *module, uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    if (!module->private->rows_tried)
        return false;
    struct pp_module_range range = range_of(module);
    uint32_t from, to;
    if (address < module->start || address >= module->end ||
        !pp_unwind_rows_function(&range, (uint32_t)(address - module->start), &from, &to))
        return false;
    *start = module->start + from;
    *end = module->start + to;
    return true;
}
