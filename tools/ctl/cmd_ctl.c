/* SPDX-License-Identifier: Apache-2.0 */
/* Switches sampling off and on in running processes: changes the control file of their directory, and waits a little
 * until their logs say that they have obeyed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/json.h"
#include "../base/print.h"
#include "../cli/options.h"
#include "../doctor/checks.h"
#include "../load/control_file.h"
#include "../load/files.h"
#include "running.h"

#define WAIT_NS    UINT64_C(3000000000) /* a process that uses CPU time obeys within a second, and then writes */
#define STEP_NS    50000000
#define MAX_DIGITS 9

enum action { ACTION_PAUSE, ACTION_RESUME, ACTION_RATE, ACTION_FLUSH, ACTION_STATUS, ACTIONS };
static const char *const action_names[ACTIONS] = {"pause", "resume", "rate", "flush", "status"};

struct subject {
    char *directory;
    struct pp_control_scope scope; /* pid 0: all processes of the directory */
    struct pt_starting starting;
};

static enum action action_named(const char *text)
{
    enum action action = 0;
    while (action < ACTIONS && strcmp(text, action_names[action]) != 0)
        action++;
    return action;
}

static bool is_rate(const char *text)
{
    return strcmp(text, "default") == 0 || (*text && !text[strspn(text, "0123456789")]);
}

/* Says how rate is written, with the directory that was typed before or after it. */
static void advise_rate(const char *target, char *const *words, int count)
{
    const char *rate = "50";
    for (int i = 1; i < count; i++)
        if (is_rate(words[i]))
            rate = words[i];
        else if (!target)
            target = words[i];
    pt_error("rate takes a number of samples per second of CPU time, or default: pyprof ctl %s%srate %s",
             target ? target : "", target ? " " : "", rate);
}

/* Finds the action, and the directory or pid before it or at the end. Returns ACTIONS after a message. */
static enum action parse(const struct pt_cli *cli, const char **target, const char **rate)
{
    char *const *words = cli->arguments;
    int count = cli->argument_count;
    enum action action = count ? action_named(words[0]) : ACTIONS;
    *target = NULL;
    int alone = 1 + (action == ACTION_RATE); /* words without a target */
    if (action == ACTIONS && count > 1) {
        *target = *words++;
        count--;
        action = action_named(words[0]);
    } else if (action != ACTIONS && count == alone + 1 && (action != ACTION_RATE || is_rate(words[1]))) {
        *target = words[--count];
    }
    if (action == ACTIONS) {
        pt_error("%s%s%s: pyprof ctl [DIR | PID] pause, resume, rate HZ, flush or status", count ? "'" : "",
                 count ? words[0] : "an action is missing", count ? "' is no action" : "");
        return ACTIONS;
    }
    *rate = action == ACTION_RATE && count == 2 ? words[1] : NULL;
    if (count != 1 + (action == ACTION_RATE)) {
        if (action == ACTION_RATE)
            advise_rate(*target, words, count);
        else if (*target)
            pt_error("nothing comes after '%s': pyprof ctl %s %s", words[0], *target, words[0]);
        else
            pt_error("nothing comes after '%s'; a directory or a pid comes before it: pyprof ctl %s %s", words[0],
                     words[1], words[0]);
        return ACTIONS;
    }
    if (cli->duration_ns && action != ACTION_PAUSE && action != ACTION_RESUME)
        return pt_exit_with(ACTIONS, "--for goes with pause and resume");
    return action;
}

static bool is_pid(const char *text)
{
    return *text && strlen(text) <= MAX_DIGITS && !text[strspn(text, "0123456789")] && access(text, F_OK) != 0;
}

/* Fills the subject from a running process. Returns false after a message. */
static bool find_process(struct subject *subject, const char *text)
{
    PT_AUTO(pt_process_info_free) struct pt_process_info process;
    if (!pt_process_info_read(atoi(text), &process)) {
        process = (struct pt_process_info){0};
        return pt_error("%s: no such process, and no such directory", text);
    }
    const char *at = process.maps;
    PT_AUTO_FREE char *library = process.maps ? pt_next_mapped(&at, "libpyprof") : NULL;
    if (!process.maps || !process.environment) {
        bool mine = geteuid() == 0 || geteuid() == process.uid;
        return pt_error(mine ? "process %s of user %u may not be inspected: the capability SYS_PTRACE is missing"
                             : "process %s belongs to user %u: run pyprof as that user or as root",
                        text, (unsigned)process.uid);
    }
    if (!library)
        return pt_error("process %s is not profiled: 'pyprof doctor %s' says why", text, text);
    PT_AUTO_FREE char *inside = pt_output_directory(&process), *other = pt_output_fallback(&process);
    PT_AUTO_FREE char *fallback = pt_process_info_path(&process, other);
    subject->directory = pt_process_info_path(&process, inside);
    if (!pt_has_log(subject->directory, process.pid_inside) && pt_has_log(fallback, process.pid_inside)) {
        char *unused = subject->directory;
        subject->directory = fallback;
        fallback = unused;
    }
    subject->scope = (struct pp_control_scope){(uint64_t)process.pid_inside, process.start_ticks};
    subject->starting = (struct pt_starting){0, 0, process.pid, process.uid, process.gid};
    return true;
}

static bool find_subject(struct subject *subject, const char *target)
{
    if (target && is_pid(target))
        return find_process(subject, target);
    subject->directory = target ? pt_strdup(target) : pt_default_directory();
    struct stat status;
    if (!pt_can_list(subject->directory))
        return false;
    bool is_there = stat(subject->directory, &status) == 0, is_missing = !is_there && errno == ENOENT;
    subject->starting = pt_starting_find(subject->directory);
    if ((is_there && S_ISDIR(status.st_mode)) || (is_missing && subject->starting.count))
        return true;
    return pt_error("%s: %s; 'pyprof ctl PID' reaches a process that has written nothing so far", subject->directory,
                    is_missing ? "there is no such directory, and no process that writes there"
                               : "that is no directory");
}

/* A process that was paused from its start has made no directory: it is made for it. */
static bool make_directory(const struct subject *subject)
{
    const struct pt_starting *starting = &subject->starting;
    if (access(subject->directory, F_OK) == 0 || !starting->pid)
        return true;
    if (mkdir(subject->directory, 0700) == 0 &&
        (geteuid() != 0 || chown(subject->directory, starting->uid, starting->gid) == 0))
        return true;
    return pt_error("cannot make %s, where the process writes: %s", subject->directory, strerror(errno));
}

/* Fills the order. Returns false after a message. */
static bool make_order(const struct pt_cli *cli, enum action action, const char *rate, struct pp_control_line *order)
{
    uint64_t now_s = pt_clock_ns(CLOCK_REALTIME) / PT_SECOND;
    order->kind = action == ACTION_PAUSE    ? PP_CONTROL_PAUSED
                  : action == ACTION_RESUME ? PP_CONTROL_RUNNING
                                            : PP_CONTROL_HZ;
    order->until_unix_s = PP_CONTROL_NEVER;
    if (cli->duration_ns)
        order->until_unix_s = now_s + (cli->duration_ns + PT_SECOND - 1) / PT_SECOND;
    if (rate && strcmp(rate, "default") != 0) {
        const char *wrong = pp_setting_read(PP_SETTING_HZ, rate, &order->number);
        return (!wrong && *rate) ||
               pt_error("rate takes a number from 1 to %d (samples per second of CPU time) or default, not '%s'",
                        PP_HIGHEST_HZ, rate);
    }
    return true;
}

static uint64_t hz_of(const struct pt_process *process)
{
    return process->period_ns ? (PT_SECOND + process->period_ns / 2) / process->period_ns : 0;
}

static void print_rows(const struct pt_running *running, uint64_t written)
{
    pt_print_styled(stdout, PT_STYLE_HEADING, "%7s  %-8s  %-19s  %4s  COMMAND\n", "PID", "STATE", "SINCE", "HZ");
    for (uint32_t i = 0; running->profile && i < running->profile->processes.count; i++) {
        const struct pt_process *process = &running->profile->processes.items[i];
        PT_AUTO_BUFFER since = {0};
        if (!pt_running_still(running, i))
            continue;
        pt_buffer_time(&since, process->control_since_ns ? process->control_since_ns : process->start_unix_ns);
        int used = printf("%7" PRIu64 "  %-8s  %-19s  %4" PRIu64 "  ", process->pid,
                          process->paused ? "paused" : "sampled", since.data, hz_of(process));
        bool late = process->control_ns < written;
        if (late)
            used += printf("(rests: has not read the last order yet) ");
        pt_print_text(stdout, pt_string(running->profile, process->command_line), (uint32_t)used, PT_STYLE_PLAIN);
    }
}

static void print_orders(const char *text)
{
    uint64_t written = 0, now_s = pt_clock_ns(CLOCK_REALTIME) / PT_SECOND;
    struct pp_control_line line;
    while (pp_control_next(&text, &written, &line)) {
        PT_AUTO_BUFFER row = {0};
        if (line.scope.pid)
            pt_buffer_format(&row, "process %" PRIu64 ": ", line.scope.pid);
        else
            pt_buffer_text(&row, "all processes: ");
        bool over = line.until_unix_s <= now_s, paused = (line.kind == PP_CONTROL_PAUSED) != over;
        if (line.kind == PP_CONTROL_HZ && !line.number)
            pt_buffer_text(&row, "the rate that they were started with");
        else if (line.kind == PP_CONTROL_HZ)
            pt_buffer_format(&row, "%" PRIu64 " samples per second of CPU time", line.number);
        else
            pt_buffer_text(&row, paused ? "paused" : "sampled");
        if (line.until_unix_s != PP_CONTROL_NEVER && !over) {
            pt_buffer_text(&row, " until ");
            pt_buffer_time(&row, line.until_unix_s * PT_SECOND);
        }
        printf("%s\n", row.data);
    }
    if (!text)
        puts("The control file is damaged, or of another version of pyprof: it is not obeyed.");
}

static void print_json(const struct pt_running *running, uint64_t written)
{
    struct pt_json json = pt_json_document(stdout);
    pt_json_known(&json, "ordered_unix_ns", written, written != 0);
    pt_json_begin(&json, "processes", '[');
    for (uint32_t i = 0; running->profile && i < running->profile->processes.count; i++) {
        const struct pt_process *process = &running->profile->processes.items[i];
        if (!pt_running_still(running, i))
            continue;
        pt_json_begin(&json, NULL, '{');
        pt_json_number(&json, "pid", process->pid);
        pt_json_bool(&json, "paused", process->paused);
        pt_json_known(&json, "since_unix_ns", process->control_since_ns, process->control_since_ns != 0);
        pt_json_number(&json, "hz", hz_of(process));
        pt_json_bool(&json, "obeyed", process->control_ns >= written);
        pt_json_text(&json, "cmdline", pt_string(running->profile, process->command_line));
        pt_json_end(&json, '}');
    }
    pt_json_end(&json, ']');
    pt_json_end_document(&json);
}

static uint64_t written_of(const char *text)
{
    struct pp_control_line line;
    uint64_t written = 0;
    if (text)
        pp_control_next(&text, &written, &line);
    return written;
}

/* then: what becomes of them. */
static void print_starting(const struct pt_starting *starting, const char *then)
{
    if (starting->count == 1)
        printf("1 process that has written nothing so far%s: %d\n", then, starting->pid);
    else if (starting->count)
        printf("%" PRIu32 " processes that have written nothing so far%s: %d …\n", starting->count, then,
               starting->pid);
}

static int show_status(const struct pt_cli *cli, const struct subject *subject)
{
    PT_AUTO_FREE char *text = pt_control_text(subject->directory);
    PT_AUTO(pt_running_free) struct pt_running running;
    uint64_t written = written_of(text);
    pt_running_find(&running, subject->directory, subject->scope.pid);
    pt_running_read(&running, written);
    if (cli->json) {
        print_json(&running, written);
        return PT_EXIT_OK;
    }
    if (text)
        print_orders(text);
    if (running.profile)
        print_rows(&running, written);
    else if (!subject->starting.count)
        printf("No process that runs has written to %s.\n", subject->directory);
    PT_AUTO_BUFFER paused = {0};
    pt_buffer_text(&paused, subject->starting.paused ? ", paused" : "");
    if (subject->starting.paused < subject->starting.count && paused.length)
        pt_buffer_format(&paused, " %" PRIu32 " of them", subject->starting.paused);
    print_starting(&subject->starting, paused.data);
    return PT_EXIT_OK;
}

/* Waits until all have obeyed, or rest. */
static void wait_for(struct pt_running *running, const struct subject *subject, uint64_t written)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    uint64_t end = pt_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
    pt_running_find(running, subject->directory, subject->scope.pid);
    while (pt_running_read(running, written) && pt_clock_ns(CLOCK_MONOTONIC) < end)
        nanosleep(&step, NULL);
}

static void append_done(struct pt_buffer *text, enum action action, const struct pt_cli *cli, uint64_t hz)
{
    static const char *const done[ACTIONS] = {"paused", "sampled again", "the rate of the start from now on",
                                              "written"};
    if (action == ACTION_RATE && hz)
        pt_buffer_format(text, "%" PRIu64 " sample%s per second from now on", hz, pt_plural(hz, "s"));
    else
        pt_buffer_text(text, done[action]);
    if (cli->duration_ns) /* whole seconds, as they are ordered */
        pt_buffer_format(text, " for %" PRIu64 " s", (cli->duration_ns + PT_SECOND - 1) / PT_SECOND);
}

static void say_result(enum action action, const struct pt_cli *cli, const struct pt_running *running,
                       const char *directory, uint64_t written, uint64_t hz)
{
    PT_AUTO_BUFFER done = {0};
    append_done(&done, action, cli, hz);
    uint32_t obeyed = 0, late = 0;
    for (uint32_t i = 0; running->profile && i < running->profile->processes.count; i++)
        if (pt_running_still(running, i))
            *(running->profile->processes.items[i].control_ns >= written ? &obeyed : &late) += 1;
    if (obeyed)
        printf("%" PRIu32 " process%s: %s\n", obeyed, pt_plural(obeyed, "es"), done.data);
    if (late)
        printf("%" PRIu32 " process%s rest%s, and will obey when %s CPU time is used, or within ten seconds\n", late,
               pt_plural(late, "es"), late == 1 ? "s" : "", late == 1 ? "its" : "their");
    const struct pt_starting starting = pt_starting_find(directory); /* others have written meanwhile */
    print_starting(&starting, ", to obey within ten seconds");
    if (!obeyed && !late && !starting.count)
        puts("ordered; no process that runs has a profile there yet: all that write to it will obey");
}

int pt_cmd_ctl(const struct pt_cli *cli)
{
    struct subject subject = {0};
    const char *target, *rate;
    enum action action = parse(cli, &target, &rate);
    struct pp_control_line order = {0};
    if (action == ACTIONS || !make_order(cli, action, rate, &order))
        return PT_EXIT_USAGE;
    int status = PT_EXIT_DATA;
    uint64_t written;
    if (!find_subject(&subject, target)) {
        status = PT_EXIT_DATA;
    } else if (action == ACTION_STATUS) {
        status = show_status(cli, &subject);
    } else if (make_directory(&subject)) {
        order.scope = subject.scope;
        if (pt_control_change(subject.directory, action == ACTION_FLUSH ? NULL : &order, &written)) {
            PT_AUTO(pt_running_free) struct pt_running running;
            wait_for(&running, &subject, written);
            if (cli->json)
                print_json(&running, written);
            else
                say_result(action, cli, &running, subject.directory, written, order.number);
            status = PT_EXIT_OK;
        }
    }
    free(subject.directory);
    return status;
}
