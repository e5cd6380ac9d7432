/* The inside of modules.h: what a module has besides what its users see. Flush thread only. */
#ifndef PP_MODULES_MODULE_LIST_H
#define PP_MODULES_MODULE_LIST_H

#include "elf_symbols.h"
#include "loaded_objects.h"
#include "modules.h"

struct pp_module_private {
    size_t mapped; /* the module's own mapping: struct pp_module, this, its names */
    const char *loader_name;
    struct pp_loaded_object object;

    /* Each flag is set last: after a fork in between, the work is repeated. */
    _Atomic bool symbols_tried;
    struct pp_elf_symbols symbols;
    _Atomic bool jit_tried;
    uintptr_t jit_descriptor;
};

/* The modules, ascending by address. Replaced as a whole: a fork in the middle of a refresh finds the old or the new.
 */
struct pp_module_list {
    size_t mapped;
    size_t count;
    struct pp_module *modules[];
};

/* Returns what finds the module's rules. */
struct pp_module_range pp_module_range_for(const struct pp_module *module);

/* Publishes the list as pp_module_table. unloaded: a module of the old table may be gone. False: no memory, the old
 * table stays. */
bool pp_module_table_publish(const struct pp_module_list *modules, bool unloaded);

/* Makes a module of an object: its path, build-id and kind. NULL when there is no memory. */
struct pp_module *pp_module_create(const struct pp_loaded_object *object, const char *name);
/* Unmaps its symbols and itself. */
void pp_module_destroy(struct pp_module *module);
/* Whether the module was made from this object. */
bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded);

#endif
