/* The inside of modules.h: what a module has besides what its users see. Flush thread only. */
#ifndef PP_MODULES_MODULE_LIST_H
#define PP_MODULES_MODULE_LIST_H

#include "../unwind/unwind_rows.h"
#include "elf_symbols.h"
#include "loaded_objects.h"
#include "modules.h"

struct pp_module_private {
    size_t mapped; /* the module's own mapping: struct pp_module, this, its names */
    const char *loader_name;
    struct pp_loaded_object object;
    uint32_t number;
    bool passed_over; /* until the next reading of the list: it was unloaded while it was being read */

    /* Each flag is set last: after a fork in between, the work is repeated. */
    _Atomic bool rows_tried;
    struct pp_unwind_rows rows;
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

/* Publishes the list as pp_module_table. False: no memory, the old table stays. */
bool pp_module_table_publish(const struct pp_module_list *modules);
/* Whether a handler has come to the module since the last table was published. */
bool pp_module_table_wants(const struct pp_module *module);

/* Memory that pp_modules_reclaim gives back; its first PP_RETIRABLE_SIZE bytes are free for that. NULL: nothing. */
#define PP_RETIRABLE_SIZE 16
void pp_retire(void *block, size_t mapped);

/* Makes a module of an object: its path, build-id and kind. NULL when there is no memory. */
struct pp_module *pp_module_create(const struct pp_loaded_object *object, const char *name, uint32_t number);
/* Unmaps its symbols and itself. The caller retires its rows, which handlers may still read. */
void pp_module_destroy(struct pp_module *module);
/* Whether the module was made from this object. */
bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded);

/* Copies .eh_frame_hdr and .eh_frame, which rows are made from. False when they are missing or cannot be read whole.
 * Call pp_module_sections_free in either case. */
enum { PP_SECTION_HDR, PP_SECTION_EH_FRAME, PP_SECTIONS };
bool pp_module_read_sections(const struct pp_module *module, struct pp_section_copy sections[PP_SECTIONS]);
void pp_module_sections_free(struct pp_section_copy sections[PP_SECTIONS]);

#endif
