#include "modules.h"
#include "../base/arena.h"
#include "../capture/unwind_table.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <stdatomic.h>
#include <string.h>

/* A program that loads and unloads all the time must not keep us here. */
#define MAX_RESTARTS       4
#define SMALL_SEARCH_TABLE 8192 /* bytes of .eh_frame_hdr: 1,000 functions */

/* At the start of everything that handlers read, so that giving it back needs no memory. */
struct retirable {
    struct retirable *next;
    size_t mapped;
};
#define LEADING sizeof(struct retirable)

/* The modules, ascending by address. Replaced as a whole: a fork in the middle of a refresh finds the old or the new.
 */
struct module_list {
    size_t mapped;
    size_t count;
    struct pp_module *modules[];
};

static void no_gate(void)
{
}
static const struct pp_gate open_gate = {no_gate, no_gate, NULL};
static const struct pp_gate *gate = &open_gate;

static struct module_list *_Atomic list;
static unsigned long long known_adds, known_subs; /* of the list */
static struct retirable *_Atomic retired;
static uint32_t next_number, generation;

void pp_modules_set_gate(const struct pp_gate *new_gate)
{
    gate = new_gate;
}

static void retire(void *block)
{
    struct retirable *r = block;
    if (!r)
        return;
    r->next = atomic_load(&retired);
    atomic_store(&retired, r);
}

/* The module as handlers see it; without rows while they are not compiled. */
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

/* A new table of the list's modules; NULL when there is no memory. */
static struct pp_module_table *build_table(const struct module_list *modules)
{
    size_t size = LEADING + sizeof(struct pp_module_table) + modules->count * sizeof(struct pp_module_range);
    struct retirable *block = pp_map(size);
    if (!block)
        return NULL;
    block->mapped = size;
    struct pp_module_table *table = (struct pp_module_table *)(block + 1);
    table->generation = ++generation ? generation : ++generation;
    for (size_t i = 0; i < modules->count; i++)
        table->ranges[table->count++] = range_of(modules->modules[i]);
    return table;
}

/* What handlers asked for must not be forgotten with the table in which they did. */
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

static bool publish(const struct module_list *modules)
{
    struct pp_module_table *table = build_table(modules);
    if (!table)
        return false;
    keep_wanted(table);
    struct pp_module_table *old = atomic_exchange_explicit(&pp_module_table, table, memory_order_acq_rel);
    if (old)
        retire((struct retirable *)old - 1);
    return true;
}

static struct pp_module *known_module(const struct module_list *old, const struct pp_loaded_object *object,
                                      const char *name, bool nothing_unloaded)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->modules[i]->start == object->text.start) {
            old->modules[i]->private->passed_over = false;
            return pp_module_matches(old->modules[i], object, name, nothing_unloaded) ? old->modules[i] : NULL;
        }
    return NULL;
}

static void insert(struct module_list *into, struct pp_module *module)
{
    size_t at = into->count++;
    for (; at > 0 && into->modules[at - 1]->start > module->start; at--)
        into->modules[at] = into->modules[at - 1];
    into->modules[at] = module;
}

static bool contains(const struct module_list *modules, const struct pp_module *module)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->modules[i] == module)
            return true;
    return false;
}

/* Modules that are no longer in the list: their rows wait for the handlers. */
static void drop_missing(struct module_list *old, const struct module_list *fresh)
{
    for (size_t i = 0; i < old->count; i++) {
        struct pp_module *module = old->modules[i];
        if (contains(fresh, module))
            continue;
        retire(module->private->rows.mapping);
        pp_module_destroy(module);
    }
    pp_unmap(old, old->mapped);
}

static struct module_list *make_list(const struct pp_loaded_objects *objects, const struct module_list *old)
{
    bool nothing_unloaded = objects->subs == known_subs;
    size_t mapped = sizeof(struct module_list) + objects->count * sizeof(struct pp_module *);
    struct module_list *fresh = pp_map(mapped);
    if (!fresh)
        return NULL;
    fresh->mapped = mapped;
    for (size_t i = 0; i < objects->count; i++) {
        const struct pp_loaded_object *object = &objects->objects[i];
        const char *name = objects->names + object->name;
        if (object->text.start == object->text.end)
            continue;
        struct pp_module *module = known_module(old, object, name, nothing_unloaded);
        if (!module)
            module = pp_module_create(object, name, next_number++);
        if (module)
            insert(fresh, module);
    }
    return fresh;
}

static bool replace_list(const struct pp_loaded_objects *objects)
{
    struct module_list *old = atomic_load(&list), *fresh = make_list(objects, old);
    if (!fresh)
        return false;
    atomic_store(&list, fresh);
    known_adds = objects->adds;
    known_subs = objects->subs;
    /* Without memory for a table the old one would go on naming what is gone: keep that until the next refresh. */
    if (!publish(fresh))
        return true;
    if (old)
        drop_missing(old, fresh);
    return true;
}

/* The order of compilation: where samples are most likely to be. Nearly every stack goes through the first two. */
#define RANK_ALWAYS 1
static unsigned rank(const struct pp_module *module)
{
    const char *base = strrchr(module->path, '/');
    base = base ? base + 1 : module->path;
    if (module->flags & PP_MODULE_PYTHON)
        return 0;
    if (strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libc-2", 6) == 0)
        return 1;
    return module->flags & PP_MODULE_MAIN ? 2 : 3;
}

/* Compiled in a fraction of a millisecond. */
static bool is_small(const struct pp_module *module)
{
    const struct pp_loaded_object *object = &module->private->object;
    return object->eh_frame_hdr.end - object->eh_frame_hdr.start <= SMALL_SEARCH_TABLE;
}

/* Whether a handler has come to the module since the last table was published. */
static bool is_wanted(const struct pp_module *module)
{
    struct pp_module_table *table = atomic_load(&pp_module_table);
    for (uint32_t i = 0; table && i < table->count; i++)
        if (table->ranges[i].index == module->private->number)
            return __atomic_load_n(&table->ranges[i].wanted, __ATOMIC_RELAXED);
    return false;
}

static struct pp_module *next_to_compile(const struct module_list *modules, enum pp_modules_rows rows)
{
    struct pp_module *best = NULL;
    for (size_t i = 0; i < modules->count; i++) {
        struct pp_module *module = modules->modules[i];
        if (!module->private->rows_tried && !module->private->passed_over && (!best || rank(module) < rank(best)) &&
            (rows == PP_ROWS_ALL || rank(module) <= RANK_ALWAYS || is_small(module) || is_wanted(module)))
            best = module;
    }
    return best;
}

/* Whether what was read of the module is its own. Something else may have been unloaded in the meantime: where plugins
 * come and go all the time, the interpreter's rows must be had nevertheless. */
static bool is_still_there(const struct pp_module *module, bool read,
                           const struct pp_section_copy sections[PP_SECTIONS])
{
    const struct pp_module_private *private = module->private;
    if (!pp_loaded_objects_unloaded_since(known_subs, gate->enter, gate->leave))
        return true;
    if (private->object.eh_frame_hdr.start == private->object.eh_frame_hdr.end)
        return true; /* there is nothing to read */
    return read && pp_loaded_objects_hold(&private->object, private->loader_name, sections, PP_SECTIONS, gate->enter,
                                          gate->leave);
}

static bool hurry(void)
{
    return gate->hurry && gate->hurry();
}

/* False when a module was unloaded meanwhile. */
static bool compile_missing(struct module_list *modules, enum pp_modules_rows which, bool *changed)
{
    struct pp_module *module;
    bool complete = true;
    while (!hurry() && (module = next_to_compile(modules, which))) {
        struct pp_unwind_rows rows = {0};
        struct pp_section_copy sections[PP_SECTIONS];
        bool read = pp_module_read_sections(module, sections);
        bool compiled = read && pp_unwind_rows_compile(&sections[PP_SECTION_HDR], &sections[PP_SECTION_EH_FRAME],
                                                       module->start, module->end, LEADING, hurry, &rows);
        bool given_up = !compiled && hurry(), there = given_up || is_still_there(module, read, sections);
        pp_module_sections_free(sections);
        if (given_up)
            break;
        if (!there) {
            pp_unmap(rows.mapping, rows.mapped);
            module->private->passed_over = true;
            complete = false;
            continue;
        }
        if (compiled) {
            ((struct retirable *)rows.mapping)->mapped = rows.mapped;
            module->private->rows = rows;
        }
        module->private->rows_tried = true;
        publish(modules);
        *changed |= compiled;
    }
    return complete;
}

bool pp_modules_refresh(enum pp_modules_rows rows)
{
    bool changed = false;
    for (unsigned n = 0; n < MAX_RESTARTS; n++) {
        struct pp_loaded_objects objects;
        enum pp_loaded_result result =
            pp_loaded_objects_read(known_adds, known_subs, gate->enter, gate->leave, &objects);
        if (result == PP_LOADED_CHANGED) {
            changed |= replace_list(&objects);
            pp_loaded_objects_free(&objects);
        }
        struct module_list *modules = atomic_load(&list);
        if (!modules || compile_missing(modules, rows, &changed))
            break;
    }
    return changed;
}

struct pp_module *pp_module_find(uintptr_t address)
{
    const struct module_list *modules = atomic_load(&list);
    size_t low = 0, high = modules ? modules->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct pp_module *module = modules->modules[middle];
        if (address < module->start)
            high = middle;
        else if (address >= module->end)
            low = middle + 1;
        else
            return module;
    }
    return NULL;
}

void pp_modules_each(void (*each)(struct pp_module *module, void *arg), void *arg)
{
    const struct module_list *modules = atomic_load(&list);
    for (size_t i = 0; modules && i < modules->count; i++)
        each(modules->modules[i], arg);
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

void pp_modules_reclaim(bool (*quiescent)(void))
{
    if (!atomic_load(&retired) || !quiescent())
        return;
    struct retirable *r;
    while ((r = atomic_load(&retired))) {
        /* Unlinked before it goes: a fork in between must not leave the child with a list of what is not there. */
        atomic_store(&retired, r->next);
        pp_unmap(r, r->mapped);
    }
}

void pp_modules_after_fork(void)
{
    /* Everything above is changed by single stores: the child continues with whatever was there. A list that had been
     * replaced but whose objects were not yet noted as known is simply read again. */
    known_adds = known_subs = 0;
}
