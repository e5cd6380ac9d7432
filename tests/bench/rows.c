#include "preload/modules/module_list.h"
#include "walkers.h"
#include <string.h>

#define STRIDE 7919 /* samples meet functions in no order */

struct all_rows {
    struct bench_rows *into;
    unsigned count, max;
};

/* Meets every function of the module's search table, and packs the rows. */
static void meet_all(struct pp_module *module, void *arg)
{
    static struct pp_unwind_draft draft;
    struct all_rows *all = arg;
    const struct pp_loaded_object *object = &module->private->object;
    uintptr_t hdr = object->eh_frame_hdr.start;
    struct pp_unwind_source source = {
        .text_start = module->start,
        .text_end = module->end,
        .hdr_start = hdr,
        .hdr_end = object->eh_frame_hdr.end,
        .segment_end = object->eh_segment.end,
        .index = &module->private->fdes,
    };
    struct pp_module_range range = {.start = module->start, .end = module->end};
    uint32_t functions; /* after the version, three encodings and a pointer */
    if (all->count == all->max || object->eh_frame_hdr.end - hdr < 12)
        return;
    memcpy(&functions, (const void *)(hdr + 8), sizeof functions);
    const int32_t(*table)[2] = (const void *)(hdr + 12);
    uint64_t start = bench_now();
    bool met = functions % STRIDE && pp_unwind_draft_start(&draft, &range);
    for (uint64_t i = 0; met && i < functions; i++)
        met = pp_unwind_draft_add(&draft, &source, hdr + (uintptr_t)(intptr_t)table[i * STRIDE % functions][0]);
    struct pp_unwind_rows *rows = met ? pp_unwind_draft_pack(&draft, &source) : NULL;
    uint64_t end = bench_now();
    if (rows) {
        all->into[all->count++] =
            (struct bench_rows){module->path, end - start, rows->mapped, functions, rows->row_count, rows->rule_count};
        pp_unmap(rows, rows->mapped);
    }
    pp_unwind_draft_free(&draft);
}

unsigned bench_rows(struct bench_rows *into, unsigned max)
{
    struct all_rows all = {into, 0, max};
    pp_modules_refresh();
    pp_modules_each(meet_all, &all);
    return all.count;
}
