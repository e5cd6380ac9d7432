/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../model/gil_gc.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "report.h"
#include "sums_json.h"

#define CPU_WIDTH    22 /* of a row, before shares and text */
#define SHARE_WIDTH  11
#define SPLIT_GROUPS 16  /* tables of functions; more would not be read */
#define ALWAYS_SHOWN 4   /* rows, however little they have */
#define THREAD_FROM  2.0 /* per cent that a second thread of a process has, or there is no table of threads */
#define HIDDEN_BELOW 0.5 /* per cent, of the others, unless --top asks for them */
#define SHORTEST_CUT 20  /* bytes that rows have in common, from which on they are not repeated */

/* Returns the process that forked this one or ran its command; PT_NONE if it was not profiled. */
static uint32_t parent_of(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *other = &profile->processes.items[i];
        bool by_id = process->parent_instance && process->parent_instance == other->instance;
        if (i != number && (by_id || (other->pid == process->ppid && other->boot_id == process->boot_id)))
            return i;
    }
    return PT_NONE;
}

/* Returns the parent of a process that runs its parent's command; PT_NONE for others. */
static uint32_t master_of(const struct pt_profile *profile, uint32_t number)
{
    uint32_t parent = parent_of(profile, number);
    const struct pt_process *all = profile->processes.items;
    return parent != PT_NONE && all[parent].command_line == all[number].command_line ? parent : PT_NONE;
}

static bool has_workers(const struct pt_profile *profile, uint32_t number)
{
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (master_of(profile, i) == number)
            return true;
    return false;
}

/* Returns how much of the beginning both have, up to the end of a word or a directory. */
static size_t common(const char *text, const char *previous)
{
    size_t length = 0, words = 0;
    for (; text[length] && text[length] == previous[length]; length++)
        if (text[length] == ' ' || text[length] == '/')
            words = length + 1;
    return text[length] || previous[length] ? words : 0;
}

/* Appends what a process of multiprocessing's is for, in place of its long command. Returns false for other processes.
 */
static bool append_role(struct pt_buffer *text, const struct pt_process *process, const char *command)
{
    if (strstr(command, " --multiprocessing-fork"))
        pt_buffer_format(text, "worker of %" PRIu64 " (multiprocessing, spawned)", process->ppid);
    else if (strstr(command, "from multiprocessing.resource_tracker import"))
        pt_buffer_format(text, "resource tracker of %" PRIu64 " (multiprocessing)", process->ppid);
    else if (strstr(command, "from multiprocessing.forkserver import"))
        pt_buffer_format(text, "fork server of %" PRIu64 " (multiprocessing)", process->ppid);
    else
        return false;
    return true;
}

/* Appends the pid and what the process runs: its command line as it was typed, from where it differs from `previous`
 * on, which may be "", or of whom it is a worker if it was forked and runs the same. */
static void append_process(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number,
                           const char *previous)
{
    const struct pt_process *process = &profile->processes.items[number];
    uint32_t master = master_of(profile, number);
    pt_buffer_format(text, "%" PRIu64 " ", process->pid);
    if (master != PT_NONE) {
        pt_buffer_format(text, "worker of %" PRIu64, profile->processes.items[master].pid);
        return;
    }
    if (append_role(text, process, pt_string(profile, process->command_line)))
        return;
    PT_AUTO_BUFFER command = {0}, before = {0};
    pt_typed_command(&command, pt_string(profile, process->command_line));
    pt_typed_command(&before, previous);
    size_t same = common(command.data, before.data);
    pt_buffer_text(text, same >= SHORTEST_CUT ? "…" : "");
    pt_buffer_text(text, command.data + (same >= SHORTEST_CUT ? same : 0));
    pt_buffer_text(text, has_workers(profile, number) ? " (master)" : "");
}

struct row {
    uint32_t number; /* of a thread or a process */
    struct pt_states states;
};

PT_DEFINE_ORDER(by_time, struct row, pt_compare(y->states.cpu_ns, x->states.cpu_ns) ?: pt_compare(x->number, y->number))

/* Returns the threads or processes with CPU time, those with most first. The caller frees. */
static struct row *rows_of(const struct pt_profile *profile, bool threads, uint32_t *count)
{
    uint32_t room = threads ? profile->threads.count : profile->processes.count;
    struct row *rows = pt_alloc(room, sizeof *rows);
    struct pt_states *states = pt_states_by(profile, threads);
    for (uint32_t i = 0; i < room; i++)
        rows[i] = (struct row){i, states[i]};
    free(states);
    qsort(rows, room, sizeof *rows, by_time);
    for (*count = 0; *count < room && rows[*count].states.cpu_ns; ++*count)
        ;
    return rows;
}

static void append_name(struct pt_buffer *text, const struct pt_profile *profile, bool threads, uint32_t number)
{
    if (threads)
        pt_thread_of_process_text(text, profile, number);
    else
        append_process(text, profile, number, "");
}

/* Prints a share of the known part, which may be nothing, in SHARE_WIDTH columns. */
static void print_share(uint64_t ns, uint64_t known_ns)
{
    if (known_ns)
        printf("%6.1f %%   ", pt_percent(ns, known_ns));
    else
        printf("     -     ");
}

static void print_table(const struct pt_report *report, bool threads)
{
    const struct pt_profile *profile = report->profile;
    uint32_t count;
    PT_AUTO_FREE struct row *rows = rows_of(profile, threads, &count);
    PT_AUTO_BUFFER text = {0}, fitted = {0};
    const char *previous = "";
    uint64_t rest_ns = 0;
    uint32_t rest = 0, columns = pt_print_columns(stdout);
    struct pt_states all = pt_states_of(profile, PT_NONE);
    bool gil = all.gil_known_ns, gc = all.gc_known_ns;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n        CPU           %s%s%s\n", gil ? "GIL HELD   " : "",
                    gc ? "      GC   " : "", threads ? "THREAD" : "PROCESS");
    for (uint32_t i = 0; i < count; i++) {
        if (i >= report->top || (i >= ALWAYS_SHOWN && !report->cli->top &&
                                 pt_percent(rows[i].states.cpu_ns, report->whole_ns) < HIDDEN_BELOW)) {
            rest_ns += rows[i].states.cpu_ns;
            rest++;
            continue;
        }
        pt_buffer_clear(&text);
        if (threads) {
            pt_thread_of_process_text(&text, profile, rows[i].number);
        } else {
            append_process(&text, profile, rows[i].number, previous);
            previous = pt_string(profile, profile->processes.items[rows[i].number].command_line);
        }
        printf("%9.2f s %5.1f %%   ", (double)rows[i].states.cpu_ns / 1e9,
               pt_percent(rows[i].states.cpu_ns, report->whole_ns));
        const struct pt_states *own = &rows[i].states;
        if (gil)
            print_share(own->gil_ns, own->gil_known_ns);
        if (gc)
            print_share(own->gc_ns, own->gc_known_ns);
        pt_buffer_clear(&fitted);
        pt_fit_text(&fitted, text.data, columns ? columns - CPU_WIDTH - (uint32_t)(SHARE_WIDTH * (gil + gc)) : 0);
        puts(fitted.data);
    }
    if (rest)
        printf("%9.2f s %5.1f %%   %*sand %u more (--top %u)\n", (double)rest_ns / 1e9,
               pt_percent(rest_ns, report->whole_ns), SHARE_WIDTH * (gil + gc), "", rest, count);
}

/* Returns whether some process has several threads worth a row; its sums as a whole are no thread. */
static bool has_threads(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint32_t count, threads = 0;
    PT_AUTO_FREE struct row *rows = rows_of(profile, true, &count);
    PT_AUTO_FREE uint32_t *of_process = pt_alloc(profile->processes.count, sizeof *of_process);
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_thread *thread = &profile->threads.items[rows[i].number];
        bool counts = thread->tid && pt_percent(rows[i].states.cpu_ns, report->whole_ns) >= THREAD_FROM;
        uint32_t here = counts ? ++of_process[thread->process] : 0;
        threads = here > threads ? here : threads;
    }
    return threads > 1;
}

void pt_report_threads(const struct pt_report *report)
{
    if (report->profile->processes.count > 1)
        print_table(report, false);
    if (has_threads(report))
        print_table(report, true);
}

void pt_report_threads_json(const struct pt_report *report, bool threads, struct pt_json *json)
{
    const struct pt_profile *profile = report->profile;
    bool split = threads ? report->cli->threads : report->cli->processes;
    uint32_t count;
    PT_AUTO_FREE struct row *rows = rows_of(profile, threads, &count);
    pt_json_begin(json, threads ? "threads" : "processes", '[');
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = rows[i].number;
        const struct pt_thread *thread = threads ? &profile->threads.items[number] : NULL;
        const struct pt_process *process = &profile->processes.items[thread ? thread->process : number];
        pt_json_begin(json, NULL, '{');
        pt_json_number(json, "pid", process->pid);
        if (thread) {
            pt_json_known(json, "tid", thread->tid, thread->tid != UINT64_MAX);
            pt_json_string(json, "name", profile, thread->name);
        } else {
            pt_json_string(json, "cmdline", profile, process->command_line);
        }
        pt_json_number(json, "shown_ns", rows[i].states.cpu_ns);
        pt_json_states(json, &rows[i].states);
        if (split)
            pt_report_functions_json(report, threads ? PT_NONE : number, threads ? number : PT_NONE, json);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

void pt_report_split(const struct pt_report *report, bool threads)
{
    uint32_t count;
    PT_AUTO_FREE struct row *rows = rows_of(report->profile, threads, &count);
    PT_AUTO_BUFFER text = {0};
    for (uint32_t i = 0; i < count && i < SPLIT_GROUPS; i++) {
        pt_buffer_clear(&text);
        append_name(&text, report->profile, threads, rows[i].number);
        pt_buffer_format(&text, ": %.2f s CPU, %.1f %% of all", (double)rows[i].states.cpu_ns / 1e9,
                         pt_percent(rows[i].states.cpu_ns, report->whole_ns));
        pt_print_styled(stdout, PT_STYLE_HEADING, "\n%s ", threads ? "Thread" : "Process");
        pt_print_text(stdout, text.data, 0, PT_STYLE_HEADING);
        pt_report_tables(report, threads ? PT_NONE : rows[i].number, threads ? rows[i].number : PT_NONE);
    }
    if (count > SPLIT_GROUPS)
        printf("\nNot listed, having less CPU: %u %s%s.\n", count - SPLIT_GROUPS, threads ? "thread" : "process",
               pt_plural(count - SPLIT_GROUPS, threads ? "s" : "es"));
}
