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
    bool passed_over; /* until the list is read again: it was unloaded while it was being read */

    /* The flags are set last, so that a fork in between only means that it is done once more. */
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
/* Its symbols and itself; rows are the caller's affair: handlers may still read them. */
void pp_module_destroy(struct pp_module *module);
/* Whether the object is the one that the module was made from. */
bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded);

/* Copies of .eh_frame_hdr and .eh_frame: what rows are made from. False when there is no such thing, or not all of it
 * can be read. Afterwards pp_module_sections_free in any case. */
enum { PP_SECTION_HDR, PP_SECTION_EH_FRAME, PP_SECTIONS };
bool pp_module_read_sections(const struct pp_module *module, struct pp_section_copy sections[PP_SECTIONS]);
void pp_module_sections_free(struct pp_section_copy sections[PP_SECTIONS]);

#endif
