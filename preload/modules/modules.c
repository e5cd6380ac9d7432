#include "modules.h"
#include "../base/arena.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <stdatomic.h>
#include <string.h>

/* A program that loads and unloads all the time must not keep us here. */
#define MAX_RESTARTS       4
#define SMALL_SEARCH_TABLE 8192 /* bytes of .eh_frame_hdr: 1,000 functions */

static struct pp_module_list *_Atomic list;
static unsigned long long known_adds, known_subs; /* of the list */
static uint32_t next_number;
static bool (*ask_hurry)(void);

void pp_modules_set_gate(const struct pp_gate *gate)
{
    pp_loaded_objects_set_gate(gate->enter, gate->leave);
    ask_hurry = gate->hurry;
}

static bool hurry(void)
{
    return ask_hurry && ask_hurry();
}

static struct pp_module *known_module(const struct pp_module_list *old, const struct pp_loaded_object *object,
                                      const char *name, bool nothing_unloaded)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->modules[i]->start == object->text.start) {
            old->modules[i]->private->passed_over = false;
            return pp_module_matches(old->modules[i], object, name, nothing_unloaded) ? old->modules[i] : NULL;
        }
    return NULL;
}

static void insert(struct pp_module_list *into, struct pp_module *module)
{
    size_t at = into->count++;
    for (; at > 0 && into->modules[at - 1]->start > module->start; at--)
        into->modules[at] = into->modules[at - 1];
    into->modules[at] = module;
}

static bool contains(const struct pp_module_list *modules, const struct pp_module *module)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->modules[i] == module)
            return true;
    return false;
}

/* Destroys modules that are no longer in the list; their rows are retired. */
static void drop_missing(struct pp_module_list *old, const struct pp_module_list *fresh)
{
    for (size_t i = 0; i < old->count; i++) {
        struct pp_module *module = old->modules[i];
        if (contains(fresh, module))
            continue;
        pp_retire(module->private->rows.mapping, module->private->rows.mapped);
        pp_module_destroy(module);
    }
    pp_unmap(old, old->mapped);
}

static struct pp_module_list *make_list(const struct pp_loaded_objects *objects, const struct pp_module_list *old)
{
    bool nothing_unloaded = objects->subs == known_subs;
    size_t mapped = sizeof(struct pp_module_list) + objects->count * sizeof(struct pp_module *);
    struct pp_module_list *fresh = pp_map(mapped);
    if (!fresh)
        return NULL;
    fresh->mapped = mapped;
    const struct pp_loaded_object *object = objects->objects.items;
    for (size_t i = 0; i < objects->count; i++, object++) {
        const char *name = (const char *)objects->names.items + object->name;
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
    struct pp_module_list *old = atomic_load(&list), *fresh = make_list(objects, old);
    if (!fresh)
        return false;
    atomic_store(&list, fresh);
    known_adds = objects->adds;
    known_subs = objects->subs;
    /* Without memory for a new table the old one still names what is gone: nothing is freed until the next refresh. */
    if (!pp_module_table_publish(fresh))
        return true;
    if (old)
        drop_missing(old, fresh);
    return true;
}

/* The order of compilation: modules where samples are most likely come first. Nearly every stack goes through the first
 * two. */
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

static struct pp_module *next_to_compile(const struct pp_module_list *modules, enum pp_modules_rows rows)
{
    struct pp_module *best = NULL;
    for (size_t i = 0; i < modules->count; i++) {
        struct pp_module *module = modules->modules[i];
        if (!module->private->rows_tried && !module->private->passed_over && (!best || rank(module) < rank(best)) &&
            (rows == PP_ROWS_ALL || rank(module) <= RANK_ALWAYS || is_small(module) || pp_module_table_wants(module)))
            best = module;
    }
    return best;
}

/* Whether what was read of the module is its own. An unload of something else does not matter: where plugins come and
 * go all the time, the interpreter's rows are needed nevertheless. */
static bool is_still_there(const struct pp_module *module, bool read,
                           const struct pp_section_copy sections[PP_SECTIONS])
{
    const struct pp_module_private *private = module->private;
    if (!pp_loaded_objects_unloaded_since(known_subs))
        return true;
    if (private->object.eh_frame_hdr.start == private->object.eh_frame_hdr.end)
        return true; /* there is nothing to read */
    return read && pp_loaded_objects_hold(&private->object, private->loader_name, sections, PP_SECTIONS);
}

/* False when a module was unloaded meanwhile. */
static bool compile_missing(struct pp_module_list *modules, enum pp_modules_rows which, bool *changed)
{
    struct pp_module *module;
    bool complete = true;
    while (!hurry() && (module = next_to_compile(modules, which))) {
        struct pp_unwind_rows rows = {0};
        struct pp_section_copy sections[PP_SECTIONS];
        bool read = pp_module_read_sections(module, sections);
        bool compiled = read && pp_unwind_rows_compile(&sections[PP_SECTION_HDR], &sections[PP_SECTION_EH_FRAME],
                                                       module->start, module->end, PP_RETIRABLE_SIZE, hurry, &rows);
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
        if (compiled)
            module->private->rows = rows;
        module->private->rows_tried = true;
        pp_module_table_publish(modules);
        *changed |= compiled;
    }
    return complete;
}

bool pp_modules_refresh(enum pp_modules_rows rows)
{
    bool changed = false;
    for (unsigned n = 0; n < MAX_RESTARTS; n++) {
        struct pp_loaded_objects objects;
        if (pp_loaded_objects_read(known_adds, known_subs, &objects)) {
            changed |= replace_list(&objects);
            pp_loaded_objects_free(&objects);
        }
        struct pp_module_list *modules = atomic_load(&list);
        if (!modules || compile_missing(modules, rows, &changed))
            break;
    }
    return changed;
}

struct pp_module *pp_module_find(uintptr_t address)
{
    const struct pp_module_list *modules = atomic_load(&list);
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
    const struct pp_module_list *modules = atomic_load(&list);
    for (size_t i = 0; modules && i < modules->count; i++)
        each(modules->modules[i], arg);
}

void pp_modules_after_fork(void)
{
    /* Everything above is changed by single stores, so the child can continue with it. A list that was replaced before
     * its counts were stored is read again. */
    known_adds = known_subs = 0;
}
