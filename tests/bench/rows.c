#include "preload/base/arena.h"
#include "preload/modules/module_list.h"
#include "walkers.h"

struct all_rows {
    struct bench_rows *into;
    unsigned count, max;
};

static void compile(struct pp_module *module, void *arg)
{
    struct all_rows *all = arg;
    struct pp_section_copy sections[PP_SECTIONS];
    struct pp_unwind_rows rows;
    if (all->count == all->max)
        return;
    uint64_t start = bench_now();
    bool compiled = pp_module_read_sections(module, sections) &&
                    pp_unwind_rows_compile(&sections[PP_SECTION_HDR], &sections[PP_SECTION_EH_FRAME], module->start,
                                           module->end, 0, NULL, &rows);
    pp_module_sections_free(sections);
    uint64_t end = bench_now();
    if (!compiled)
        return;
    all->into[all->count++] =
        (struct bench_rows){module->path, end - start, rows.mapped, rows.functions, rows.row_count, rows.rule_count};
    pp_unmap(rows.mapping, rows.mapped);
}

unsigned bench_rows(struct bench_rows *into, unsigned max)
{
    struct all_rows all = {into, 0, max};
    pp_modules_refresh(PP_ROWS_WANTED);
    pp_modules_each(compile, &all);
    return all.count;
}
