/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of modules.h: what a module has besides what its users see. Flush thread only. */
#ifndef PP_MODULES_MODULE_LIST_H
#define PP_MODULES_MODULE_LIST_H

#include "../unwind/unwind_rows.h"
#include "elf_symbols.h"
#include "loaded_objects.h"
#include "modules.h"

struct pp_module_private {
    struct pp_module_block *block; /* that holds struct pp_module, this, its names */
    const char *loader_name;
    struct pp_loaded_object object;

    struct pp_unwind_rows *rows;     /* of the functions that were met; NULL: none */
    struct pp_unwind_rows *replaced; /* by these, until the table that has them is published */
    struct pp_unwind_draft *draft;   /* with functions met since then, NULL: none */
    struct pp_fde_index fdes;
    struct pp_elf_identity unwind_file; /* of the file that has .eh_frame as it is loaded; all zero: not known */
    bool unwind_in_memory;              /* no such file was found */
    _Atomic bool identified;
    uintptr_t build_id_at; /* in memory; of an identified module that has one */

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

/* Returns the present list, NULL before the first refresh. */
struct pp_module_list *pp_module_list(void);
/* Replaces it. */
void pp_module_list_set(struct pp_module_list *fresh);
/* Returns the index of the module that holds the address, modules->count if none does; 0 without a list. */
size_t pp_module_list_find(const struct pp_module_list *modules, uintptr_t address);

/* The table that pp_modules_draft has made: of the modules and their drafts. NULL: it is not made. */
extern struct pp_module_table *pp_draft_table;
/* Returns the module with the rows of its draft, if it has one. */
struct pp_module_range pp_module_present_range(const struct pp_module *module);
/* Frees the table that pp_modules_draft has made, not the drafts. */
void pp_modules_forget_draft(void);
/* Gives up a module's draft, published or not. */
void pp_module_free_draft(struct pp_module *module);
/* Returns what handlers see of the module. */
struct pp_module_range pp_module_range_of(const struct pp_module *module);
/* Makes a table of the modules, with their published rows; of a new generation if the modules themselves have changed.
 * NULL: no memory. */
struct pp_module_table *pp_module_table_make(const struct pp_module_list *modules, bool modules_changed);
/* Publishes a table. */
void pp_module_table_publish(struct pp_module_table *table);
/* Frees a table that was not published. */
void pp_module_table_free(struct pp_module_table *table);

/* Memory that pp_modules_reclaim gives back; its first 16 bytes are free for that. NULL: nothing. */
void pp_retire(void *block, size_t mapped);
void pp_retire_rows(struct pp_unwind_rows *rows);

/* Makes a module of an object: its place and path. Reads none of its memory. NULL when there is no memory. */
struct pp_module *pp_module_create(const struct pp_loaded_object *object, const char *name);
/* Unmaps its symbols, its draft and itself. The caller retires its rows, which handlers may still read. */
void pp_module_destroy(struct pp_module *module);
/* Frees the module's index of symbols, which is made again when a name is asked for. */
void pp_module_drop_index(struct pp_module *module, void *unused);
/* Runs in the child of fork, which has no such descriptors. */
void pp_modules_forget_files(void);
/* Returns what of the module's unwind information can be read from its file, valid until the next call here or of
 * pp_module_symbol; all zero: nothing. */
struct pp_unwind_file pp_module_unwind_file(struct pp_module *module);
/* Reads the module's build-id and kind, which all that is kept of its contents depends on; once. */
void pp_module_identify(struct pp_module *module);
/* Whether the module was made from this object. */
bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded);

#endif
