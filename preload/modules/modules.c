/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"
#include "../base/arena.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <stdatomic.h>
#include <string.h>

#define FIRST_READING 2 /* a reading counts when it begins, and when its result is there */

static struct pp_known_objects known; /* the list; no adds: it is read again */
/* How much was ever unloaded, by the last reading, and the first one that found so much. */
static unsigned long long unloaded;
static uint32_t unloaded_reading;
static uint32_t begun_before; /* calls of dlclose that had begun at the last reading */

static struct pp_module *known_module(const struct pp_module_list *old, const struct pp_loaded_object *object,
                                      const char *name, bool nothing_unloaded)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (old->modules[i]->start == object->text.start)
            return pp_module_matches(old->modules[i], object, name, nothing_unloaded) ? old->modules[i] : NULL;
    return NULL;
}

/* Of a new module: a module without a build-id is made again after each unload, though it mostly is the one it was. */
static struct pp_module_time since_of(const struct pp_module_list *old, const struct pp_loaded_object *object,
                                      const char *name, struct pp_module_time now)
{
    const struct pp_module *before = known_module(old, object, name, true);
    return before && before->private->identified && !before->build_id_length ? before->since : now;
}

/* Whether the list has the object. It is the first of the modules whose code begins after its first byte. */
static bool is_known(const struct dl_phdr_info *info)
{
    const struct pp_module_list *modules = pp_module_list();
    size_t low = 0, high = modules->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (modules->modules[middle]->start < info->dlpi_addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct pp_module *module = low < modules->count ? modules->modules[low] : NULL;
    return module && module->bias == info->dlpi_addr && module->tls_module == info->dlpi_tls_modid &&
           strcmp(module->private->loader_name, info->dlpi_name ? info->dlpi_name : "") == 0;
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
        pp_retire_rows(module->private->rows);
        pp_module_destroy(module);
    }
    pp_unmap(old, old->mapped);
}

static struct pp_module_list *make_list(const struct pp_loaded_objects *objects, const struct pp_module_list *old,
                                        struct pp_module_time now)
{
    bool nothing_unloaded = objects->subs == known.subs;
    size_t mapped = sizeof(struct pp_module_list) + objects->count * sizeof(struct pp_module *);
    struct pp_module_list *fresh = pp_map(mapped);
    if (!fresh)
        return NULL;
    fresh->mapped = mapped;
    if (objects->known_count) {
        memcpy(fresh->modules, old->modules, old->count * sizeof *old->modules);
        fresh->count = old->count;
    }
    const struct pp_loaded_object *object = objects->objects.items;
    for (size_t i = objects->known_count; i < objects->count; i++, object++) {
        const char *name = (const char *)objects->names.items + object->name;
        if (object->text.start == object->text.end)
            continue;
        struct pp_module *module = known_module(old, object, name, nothing_unloaded);
        if (!module && (module = pp_module_create(object, name)))
            module->since = since_of(old, object, name, now);
        if (module)
            insert(fresh, module);
    }
    return fresh;
}

static bool replace_list(const struct pp_loaded_objects *objects, struct pp_module_time now)
{
    struct pp_module_list *old = pp_module_list(), *fresh = make_list(objects, old, now);
    if (!fresh)
        return false;
    pp_modules_forget_draft();
    pp_module_list_set(fresh);
    known = (struct pp_known_objects){objects->adds, objects->subs, fresh->count, is_known};
    pp_module_table_publish(pp_module_table_make(fresh, true)); /* none, without memory */
    if (old)
        drop_missing(old, fresh);
    return true;
}

/* Notes what the loader had unloaded by a reading; returns from when on the modules are known that it finds. What was
 * unloaded past our dlclose, by libc itself or by a library that does not call ours, was at an unknown time since the
 * last reading. */
static struct pp_module_time note_reading(uint32_t begun, unsigned long long subs)
{
    struct pp_module_time time = {begun, atomic_load(&pp_unloads.readings) + 1};
    if (subs != unloaded && (time.readings > FIRST_READING || begun)) {
        unloaded_reading = time.readings;
        if (begun == begun_before)
            time.unloads = UINT32_MAX;
    }
    unloaded = subs;
    begun_before = begun;
    return time;
}

bool pp_modules_refresh(void)
{
    struct pp_loaded_objects objects;
    uint32_t ended = atomic_load(&pp_unloads.ended), begun = atomic_load(&pp_unloads.begun);
    atomic_fetch_add(&pp_unloads.readings, 1);
    bool read = pp_loaded_objects_read(&known, &objects);
    if (!read && !objects.known)
        return false;
    struct pp_module_time now = note_reading(begun, objects.subs);
    bool changed = read && replace_list(&objects, now);
    if (read)
        pp_loaded_objects_free(&objects);
    if (read && !changed) {
        unloaded = ~unloaded; /* no memory: the next reading finds the change */
        return false;
    }
    atomic_store(&pp_unloads.known, ended);
    atomic_store(&pp_unloads.readings, now.readings);
    return changed;
}

bool pp_modules_may_lack(struct pp_module_time time)
{
    return time.readings + 1 >= atomic_load(&pp_unloads.readings);
}

bool pp_modules_hold_for(struct pp_module_time time)
{
    return time.readings >= unloaded_reading;
}

struct pp_module *pp_module_find(uintptr_t address)
{
    const struct pp_module_list *modules = pp_module_list();
    size_t i = pp_module_list_find(modules, address);
    if (!modules || i == modules->count)
        return NULL;
    pp_module_identify(modules->modules[i]);
    return modules->modules[i];
}

/* Writes only where there is something to forget: a page that is written to is copied. */
static void forget_unfinished(struct pp_module_private *of)
{
    if (of->draft)
        of->draft = NULL;
    if (of->replaced)
        of->replaced = NULL;
    if (of->fdes.functions.items && !atomic_load(&of->fdes.ready))
        of->fdes.functions = (struct pp_vector){0};
    pp_elf_symbols_after_fork(&of->symbols);
}

void pp_modules_after_fork(void)
{
    /* The list is replaced by a single store, so the child can continue with it. A list that was replaced before its
     * counts were stored is read again. */
    const struct pp_module_list *modules = pp_module_list();
    known = (struct pp_known_objects){0};
    atomic_store(&pp_unloads.ended,
                 atomic_load(&pp_unloads.begun)); /* what other threads were at does not go on here */
    pp_modules_forget_files();
    pp_fde_after_fork();
    for (size_t i = 0; modules && i < modules->count; i++)
        forget_unfinished(modules->modules[i]->private);
    pp_modules_forget_draft();
}
