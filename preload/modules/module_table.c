/* Publishes the modules to handlers, and keeps tables that handlers may still read. */
#include "../capture/module_table.h"
#include "../base/arena.h"
#include "module_list.h"
#include <stdatomic.h>

/* The head of a table's memory, so that retiring it needs no memory. */
struct block {
    struct block *next;
    size_t mapped;
    struct pp_module_table table;
};

static struct block *_Atomic retired;
static uint32_t generation = 1; /* handlers use it while there is no table */

static struct block *block_of(struct pp_module_table *table)
{
    return (struct block *)((char *)table - offsetof(struct block, table));
}

void pp_modules_reclaim(bool (*quiescent)(void))
{
    if (!atomic_load(&retired) || !quiescent())
        return;
    struct block *block;
    while ((block = atomic_load(&retired))) {
        /* Unlinked before it is unmapped: a fork in between must not leave the child with a dangling list. */
        atomic_store(&retired, block->next);
        pp_unmap(block, block->mapped);
    }
}

bool pp_module_table_publish(const struct pp_module_list *modules, bool unloaded)
{
    size_t size = sizeof(struct block) + modules->count * sizeof(struct pp_module_range);
    struct block *block = pp_map(size);
    if (!block)
        return false;
    struct pp_module_table *old = atomic_load(&pp_module_table), *table = &block->table;
    block->mapped = size;
    generation += unloaded || !old;
    generation += !generation;
    table->generation = generation;
    for (size_t i = 0; i < modules->count; i++)
        table->ranges[table->count++] = pp_module_range_for(modules->modules[i]);
    atomic_store_explicit(&pp_module_table, table, memory_order_release);
    if (old) {
        block = block_of(old);
        block->next = atomic_load(&retired);
        atomic_store(&retired, block);
    }
    return true;
}
