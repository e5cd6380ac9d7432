/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "../base/terminal_text.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/call_tree.h"
#include "../view/uncertainty.h"

void pt_row_text(struct pt_buffer *text, const struct pt_live *live, enum pt_rows_of of, const struct pt_row *row)
{
    const struct pt_profile *profile = live->follow->profile;
    if (of == PT_ROWS_FUNCTIONS) {
        pt_buffer_text(text, pt_string(profile, row->number));
    } else if (of == PT_ROWS_GROUPS) {
        pt_buffer_text(text, row->number ? pt_string(profile, row->number) : PT_NO_GROUP);
    } else if (of == PT_ROWS_PROCESSES) {
        const struct pt_process *process = &profile->processes.items[row->number];
        pt_buffer_format(text, "%" PRIu64 " ", process->pid);
        pt_typed_command(text, pt_string(profile, process->command_line));
    } else {
        pt_thread_of_process_text(text, profile, row->number);
    }
}

static int by_time(const void *a, const void *b, void *by_total_first)
{
    const struct pt_row *x = a, *y = b;
    int by_self = pt_compare(y->self_ns, x->self_ns), by_total = pt_compare(y->total_ns, x->total_ns);
    return (*(const bool *)by_total_first ? by_total ?: by_self : by_self ?: by_total) ?: pt_compare(y->since_total_ns, x->since_total_ns) ?: pt_compare(x->number, y->number);
}

static struct pt_row *functions(const struct pt_live *live, bool since_start, uint32_t *count, uint64_t *whole_ns)
{
    const struct pt_tally *shown = since_start ? &live->since : &live->window;
    uint32_t strings = live->follow->profile->strings.count, capacity = 0;
    struct pt_row *rows = pt_grow(NULL, &capacity, 1, sizeof *rows);
    /* As if all samples weighed the same. */
    const struct pt_draws draws = {.count = shown->count, .ns = shown->whole_ns, .spread = 1};
    *whole_ns = shown->whole_ns;
    for (uint32_t i = 0; i < strings && i < shown->capacity; i++) {
        if (!shown->items[i].total_ns)
            continue;
        rows = pt_grow(rows, &capacity, (uint64_t)*count + 1, sizeof *rows);
        rows[(*count)++] = (struct pt_row){
            .number = i,
            .self_ns = shown->items[i].self_ns,
            .total_ns = shown->items[i].total_ns,
            .unsure =
                !pt_share_of(&draws, shown->items[i].total_count, shown->items[i].total_ns, shown->whole_ns).known,
            .since_self_ns = live->since.items[i].self_ns,
            .since_total_ns = live->since.items[i].total_ns};
    }
    return rows;
}

/* Returns how much of the window the process existed: workers may be younger. */
static uint64_t wall_of(const struct pt_live *live, uint32_t number, bool since_start)
{
    const struct pt_process *process = &live->follow->profile->processes.items[number];
    uint64_t age = process->end_unix_ns > process->start_unix_ns ? process->end_unix_ns - process->start_unix_ns : 0;
    if (since_start)
        return age;
    return pt_live_is_alive(live, number) && age < live->wall_ns ? age : live->wall_ns;
}

static struct pt_row *tasks(const struct pt_live *live, bool threads, bool since_start, uint32_t *count,
                            uint64_t *whole_ns)
{
    const struct pt_profile *profile = live->follow->profile;
    uint32_t room = threads ? profile->threads.count : profile->processes.count;
    struct pt_row *rows = pt_alloc((size_t)room + 1, sizeof *rows);
    for (PT_EACH(const struct pt_recent, recent, &live->recent)) {
        uint32_t thread = recent->thread;
        if (pt_live_is_in_window(live, recent))
            rows[threads ? thread : profile->threads.items[thread].process].self_ns += recent->cpu_ns;
    }
    for (uint32_t i = 0; i < profile->threads.count; i++)
        rows[threads ? i : profile->threads.items[i].process].since_self_ns += profile->threads.items[i].states.cpu_ns;
    for (uint32_t i = 0; i < room; i++) {
        struct pt_row row = rows[i];
        uint32_t process = threads ? profile->threads.items[i].process : i;
        row.number = i;
        if (since_start)
            row.self_ns = row.since_self_ns;
        row.total_ns = row.self_ns;
        row.since_total_ns = row.since_self_ns;
        row.wall_ns = wall_of(live, process, since_start);
        *whole_ns += row.self_ns;
        if (row.self_ns || (!threads && (since_start || pt_live_is_alive(live, i))))
            rows[(*count)++] = row;
    }
    return rows;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

bool pt_rows_have_requests(const struct pt_live *live, const char *by)
{
    return live->request_counts && strcmp(by, PT_COUNTED_BY) == 0;
}

/* Adds the requests to the rows of their endpoints, by string. */
static void add_requests(const struct pt_live *live, bool since_start, struct pt_row *rows)
{
    uint32_t strings = least(live->follow->profile->strings.count, live->request_capacity);
    for (uint32_t i = 0; since_start && i < strings; i++)
        rows[i].requests = live->request_counts[i];
    for (uint32_t i = 0; !since_start && i < live->requests.count; i++)
        if (pt_live_are_in_window(live, &live->requests.items[i]))
            rows[live->requests.items[i].endpoint].requests += live->requests.items[i].count;
}

/* Returns no rows if none has a value. */
static struct pt_row *groups(const struct pt_live *live, const char *by, bool since_start, uint32_t *count,
                             uint64_t *whole_ns)
{
    struct pt_profile *profile = live->follow->profile;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, by);
    bool of_labels = group.of == PT_GROUP_OF_LABELS, of_thread = group.of == PT_GROUP_OF_THREAD;
    /* Items that are new since the last sums have none. */
    uint32_t items = of_labels   ? least(profile->label_sets.count, live->labels_capacity)
                     : of_thread ? profile->threads.count
                                 : least(profile->nodes.count, live->node_capacity);
    struct pt_row *rows = pt_alloc((size_t)profile->strings.count + 1, sizeof *rows); /* by string */
    bool any = pt_has_group(profile, by);
    for (PT_EACH(const struct pt_recent, recent, &live->recent)) {
        struct pt_sample sample = {.thread = recent->thread, .node = recent->node};
        sample.labels = recent->labels & PT_MAX_LABEL_SETS;
        if (pt_live_is_in_window(live, recent))
            rows[pt_group_value(&group, &sample)].self_ns += recent->cpu_ns;
    }
    for (uint32_t i = 0; i < items; i++)
        rows[group.values[i]].since_self_ns += of_labels   ? live->labels_ns[i]
                                               : of_thread ? profile->threads.items[i].states.cpu_ns
                                                           : live->node_ns[i];
    for (unsigned i = 0; of_labels && i < PT_GROUP_UNKNOWN; i++) {
        const struct pt_group_unknown *unknown = &group.unknown[i];
        uint64_t ns = unknown->node < live->node_capacity ? live->node_ns[unknown->node] : 0;
        ns = ns < rows[0].since_self_ns ? ns : rows[0].since_self_ns; /* some of it may have a value */
        rows[unknown->value].since_self_ns += ns;
        rows[0].since_self_ns -= ns;
    }
    if (pt_rows_have_requests(live, by))
        add_requests(live, since_start, rows);
    for (uint32_t i = 0; any && i < profile->strings.count; i++) {
        struct pt_row row = rows[i];
        row.number = i;
        row.self_ns = row.total_ns = since_start ? row.since_self_ns : row.self_ns;
        row.since_total_ns = row.since_self_ns;
        *whole_ns += row.self_ns;
        if (row.self_ns || row.requests)
            rows[(*count)++] = row;
    }
    return rows;
}

static void keep_matching(const struct pt_live *live, const struct pt_rows_options *options, struct pt_row *rows,
                          uint32_t *count)
{
    regex_t regex;
    if (!*options->filter || regcomp(&regex, options->filter, REG_EXTENDED | REG_NOSUB | REG_ICASE) != 0)
        return;
    PT_AUTO_BUFFER text = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        pt_buffer_clear(&text);
        pt_row_text(&text, live, options->of, &rows[i]);
        if (regexec(&regex, text.data, 0, NULL, 0) == 0)
            rows[kept++] = rows[i];
    }
    *count = kept;
    regfree(&regex);
}

struct pt_row *pt_rows_new(struct pt_live *live, const struct pt_rows_options *options, uint32_t *count,
                           uint64_t *whole_ns)
{
    struct pt_row *rows;
    *count = 0;
    *whole_ns = 0;
    if (options->of == PT_ROWS_FUNCTIONS)
        rows = functions(live, options->since_start, count, whole_ns);
    else if (options->of == PT_ROWS_GROUPS)
        rows = groups(live, options->by, options->since_start, count, whole_ns);
    else
        rows = tasks(live, options->of == PT_ROWS_THREADS, options->since_start, count, whole_ns);
    keep_matching(live, options, rows, count);
    qsort_r(rows, *count, sizeof *rows, by_time, &(bool){options->by_total});
    return rows;
}
