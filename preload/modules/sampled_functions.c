/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the rows of functions that samples met. Rows are added to drafts, which nothing but the flush thread sees;
 * publishing packs each changed module's draft and stores a new table. */
#include "../base/arena.h"
#include "../base/libc_kind.h"
#include "module_list.h"

#define REST_AFTER_FIRST 2u
#define REST_AFTER_MAX   32u
#define DRAFTS_KEPT      16u

static bool has_drafts; /* false: no module has one that is to be published */
/* Calls of pp_modules_rest since a function was met, and after how many it gives memory back: more each time that this
 * was followed by another function, as to read a table of symbols again takes longer than all else in a second. */
static unsigned rests, rest_after = REST_AFTER_FIRST;

static bool is_compiled(const struct pp_module_range *range, uintptr_t address)
{
    return range->row_count &&
           PP_ROW_RULE(range->rows[pp_unwind_find_row(range, (uint32_t)(address - range->start))].rule) !=
               PP_RULE_UNKNOWN;
}

static struct pp_unwind_source source_of(struct pp_module *module, struct pp_unwind_file file)
{
    const struct pp_loaded_object *object = &module->private->object;
    return (struct pp_unwind_source){
        .least_gap = pp_libc_kind.undescribed ? 1 : PP_READS_GAPS,
        .text_start = module->start,
        .text_end = module->end,
        .hdr_start = object->eh_frame_hdr.start,
        .hdr_end = object->eh_frame_hdr.end,
        .segment_end = object->eh_segment.end,
        .index = &module->private->fdes,
        .file = file,
    };
}

static void note_sampled(void)
{
    if (rests >= rest_after && rest_after < REST_AFTER_MAX)
        rest_after *= 2;
    rests = 0;
}

static struct pp_unwind_draft *draft_of(struct pp_module *module)
{
    struct pp_unwind_draft **draft = &module->private->draft;
    has_drafts = true;
    if (!*draft) {
        struct pp_module_range range = pp_module_range_of(module);
        struct pp_unwind_draft *fresh = pp_map(sizeof *fresh);
        pp_module_identify(module);
        *draft = fresh;
        if (fresh && !pp_unwind_draft_start(fresh, &range))
            pp_module_free_draft(module);
    }
    return *draft;
}

static bool add_sampled(uintptr_t address, enum pp_place place)
{
    const struct pp_module_list *modules = pp_module_list();
    size_t i = pp_module_list_find(modules, address);
    if (!modules || i == modules->count)
        return false;
    struct pp_module *module = modules->modules[i];
    struct pp_module_range range = pp_module_present_range(module);
    if (range.without || is_compiled(&range, address))
        return true;
    note_sampled();
    struct pp_unwind_draft *draft = draft_of(module);
    struct pp_unwind_source source = source_of(module, pp_module_unwind_file(module));
    source.place = place;
    bool added = draft && pp_unwind_draft_add(draft, &source, address);
    if (draft && pp_draft_table)
        pp_unwind_draft_show(draft, &pp_draft_table->ranges[i]); /* rows may have moved, added or not */
    return added;
}

bool pp_module_add_sampled(uintptr_t address)
{
    return add_sampled(address, PP_PLACE_UNKNOWN);
}

bool pp_module_add_stopped(uintptr_t address, bool at_call)
{
    return add_sampled(address, at_call ? PP_PLACE_CALL : PP_PLACE_INSTRUCTION);
}

/* Packs the draft's rows, if functions were added. What they replace is retired when no table that handlers can find
 * refers to it. Returns whether the draft stays: the next functions that are met are mostly of the same modules. */
static bool pack(struct pp_module *module, bool may_stay)
{
    struct pp_module_private *private = module->private;
    struct pp_unwind_source source = source_of(module, (struct pp_unwind_file){0});
    if (!private->draft)
        return false;
    bool stays = private->draft->changed && may_stay && !private->draft->builder.out_of_memory;
    if (private->draft->changed) {
        struct pp_unwind_rows *packed = pp_unwind_draft_pack(private->draft, &source);
        if (!packed)
            return true;
        private->replaced = private->rows;
        private->rows = packed;
    }
    if (!stays)
        pp_module_free_draft(module);
    return stays;
}

bool pp_modules_publish(void)
{
    if (!has_drafts)
        return false;
    bool changed = pp_modules_refresh();
    if (!pp_modules_draft())
        return changed;
    const struct pp_module_list *modules = pp_module_list();
    struct pp_module_table *table = pp_draft_table;
    unsigned kept = 0;
    pp_draft_table = NULL;
    for (size_t i = 0; i < modules->count; i++) {
        kept += pack(modules->modules[i], kept < DRAFTS_KEPT);
        table->ranges[i] = pp_module_range_of(modules->modules[i]);
    }
    pp_module_table_publish(table);
    has_drafts = false;
    for (size_t i = 0; i < modules->count; i++) {
        struct pp_module_private *private = modules->modules[i]->private;
        pp_retire_rows(private->replaced);
        private->replaced = NULL;
        has_drafts |= private->draft && private->draft->changed;
    }
    return changed;
}

static void drop_draft(struct pp_module *module, void *unused)
{
    (void)unused;
    if (module->private->draft && !module->private->draft->changed)
        pp_module_free_draft(module);
}

void pp_modules_rest(void)
{
    if (++rests != rest_after)
        return;
    pp_modules_forget_draft(); /* which shows what is freed */
    pp_modules_each(drop_draft, NULL);
    pp_modules_each(pp_module_drop_index, NULL);
    pp_arena_trim();
}

bool pp_module_function_range(const struct pp_module *module, uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    uint32_t from, to;
    if (!pp_module_add_sampled(address))
        return false;
    struct pp_module_range range = pp_module_present_range(module);
    if (!pp_unwind_rows_function(&range, (uint32_t)(address - module->start), &from, &to))
        return false;
    *start = module->start + from;
    *end = module->start + to;
    return true;
}
