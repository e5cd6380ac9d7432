#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../view/summary.h"

#define FIGURES_WIDTH 28   /* of a row, before its text */
#define HIDDEN_BELOW  0.05 /* per cent: shown as 0.0 % otherwise */

static int by_self(const void *a, const void *b)
{
    const struct pt_total *x = a, *y = b;
    return pt_compare(y->self_ns, x->self_ns) ?: pt_compare(y->total_ns, x->total_ns) ?: pt_compare(x->text, y->text);
}

static int by_total(const void *a, const void *b)
{
    const struct pt_total *x = a, *y = b;
    return pt_compare(y->total_ns, x->total_ns) ?: by_self(a, b);
}

void pt_rows_sort(struct pt_total *rows, uint32_t count, bool total)
{
    qsort(rows, count, sizeof *rows, total ? by_total : by_self);
}

bool pt_rows_by_total(const struct pt_report *report, bool by_default)
{
    return report->cli->sort ? strcmp(report->cli->sort, "total") == 0 : by_default;
}

static bool is_function(const struct pt_report *report, const struct pt_total *row)
{
    return row->frame == PT_NONE || report->profile->frames.items[row->frame].kind != PP_FRAME_PSEUDO;
}

static void print_row(const struct pt_report *report, const struct pt_rows *rows, const struct pt_total *row,
                      bool by_total)
{
    double self = pt_percent(row->self_ns, rows->whole_ns), total = pt_percent(row->total_ns, rows->whole_ns);
    uint32_t columns = pt_print_columns(stdout);
    struct pt_buffer text = {0};
    enum pt_style style = is_function(report, row) ? PT_STYLE_PLAIN : PT_STYLE_FAINT;
    pt_print_styled(stdout, style ?: pt_style_of_share(by_total ? 0 : self), "%7.2f s %5.1f %%",
                    pt_seconds(row->self_ns), self);
    pt_print_styled(stdout, style ?: pt_style_of_share(by_total ? total : 0), "  %5.1f %%", total);
    fputs("  ", stdout);
    pt_fit_frame(&text, pt_string(report->profile, row->text), columns ? columns - FIGURES_WIDTH : 0);
    pt_print_styled(stdout, style, "%s", text.length ? text.data : "");
    putchar('\n');
    pt_buffer_free(&text);
}

void pt_rows_print(const struct pt_report *report, const struct pt_rows *rows)
{
    bool total = pt_rows_by_total(report, rows->by_total);
    uint32_t most = report->top, shown = 0, hidden = 0;
    uint64_t hidden_ns = 0;
    double least = report->cli->top ? HIDDEN_BELOW : rows->least > HIDDEN_BELOW ? rows->least : HIDDEN_BELOW;
    pt_rows_sort(rows->items, rows->count, total);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct pt_total *row = &rows->items[i];
        if (shown >= most || pt_percent(total ? row->total_ns : row->self_ns, rows->whole_ns) < least) {
            hidden++;
            hidden_ns += row->self_ns;
            continue;
        }
        if (!shown++)
            pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%9s  %s%s\n", "SELF", "TOTAL", rows->title,
                            total ? ", by total" : "");
        print_row(report, rows, row, total);
    }
    if (shown && hidden && pt_percent(hidden_ns, rows->whole_ns) >= HIDDEN_BELOW)
        printf("%7.2f s %5.1f %%           and %u more (--top %u)\n", pt_seconds(hidden_ns),
               pt_percent(hidden_ns, rows->whole_ns), hidden, shown + hidden);
    else if (shown && hidden)
        printf("%28sand %u more (--top %u)\n", "", hidden, shown + hidden);
}
