/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes the modules to handlers, and keeps memory that handlers may still read. */
#include "../base/arena.h"
#include "../base/check.h"
#include "../base/libc_kind.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <stdatomic.h>
#include <string.h>

#define MAX_TEXT ((uintptr_t)1 << 31) /* bytes of code: rows have 32-bit offsets, and compilers a limit of 2 GiB */

/* The head of every block that handlers read, so that retiring it needs no memory. */
struct retirable {
    struct retirable *next;
    size_t mapped;
};
_Static_assert(sizeof(struct retirable) == sizeof(((struct pp_unwind_rows *)0)->owners), "");

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

void pp_retire_rows(struct pp_unwind_rows *rows)
{
    pp_retire(rows, rows ? rows->mapped : 0);
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

struct pp_module_range pp_module_range_of(const struct pp_module *module)
{
    static const struct pp_unwind_rows none;
    const struct pp_unwind_rows *rows = module->private->rows ? module->private->rows : &none;
    const struct pp_address_range *hdr = &module->private->object.eh_frame_hdr;
    uintptr_t size = module->end - module->start;
    uint64_t id;
    memcpy(&id, module->build_id, sizeof id);
    return (struct pp_module_range){
        .start = module->start,
        .end = module->end,
        .rows = rows->rows,
        .rules = rows->rules,
        .blocks = rows->blocks,
        .block_shift = rows->block_shift,
        .row_count = rows->row_count,
        .rule_count = rows->rule_count,
        .since = module->since,
        .stays = module->flags & (PP_MODULE_MAIN | PP_MODULE_VDSO),
        .id_at = module->build_id_length >= sizeof id ? module->private->build_id_at : 0,
        .id = id,
        .without =
            (hdr->start == hdr->end && !pp_libc_kind.undescribed && !(PP_UNDESCRIBED_BYTES && size <= PP_SMALL_TEXT)) ||
            size >= MAX_TEXT,
    };
}

static size_t block_size(size_t modules)
{
    return sizeof(struct retirable) + sizeof(struct pp_module_table) + modules * sizeof(struct pp_module_range);
}

struct pp_module_table *pp_module_table_make(const struct pp_module_list *modules, bool modules_changed)
{
    struct retirable *block = pp_map(block_size(modules->count));
    if (!block)
        return NULL;
    struct pp_module_table *table = (struct pp_module_table *)(block + 1);
    if (modules_changed && !++generation)
        generation = 1;
    table->generation = generation;
    for (size_t i = 0; i < modules->count; i++)
        table->ranges[table->count++] = pp_module_range_of(modules->modules[i]);
    return table;
}

void pp_module_table_free(struct pp_module_table *table)
{
    if (table)
        pp_unmap((struct retirable *)table - 1, block_size(table->count));
}

/* Handlers search a table by halves. */
static bool is_sorted(const struct pp_module_table *table)
{
    for (uint32_t i = 0; table && i < table->count; i++)
        if (table->ranges[i].end < table->ranges[i].start || (i && table->ranges[i].start < table->ranges[i - 1].end))
            return false;
    return true;
}

void pp_module_table_publish(struct pp_module_table *table)
{
    PP_CHECK(is_sorted(table));
    const struct pp_module_table *old = atomic_exchange_explicit(&pp_module_table, table, memory_order_acq_rel);
    if (old)
        pp_retire((struct retirable *)(uintptr_t)old - 1, block_size(old->count));
}
