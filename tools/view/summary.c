/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/memory.h"
#include "../base/numbers.h"
#include "../load/control_file.h"
#include "../load/runs.h"

/* Above these shares (per cent) a reader should know before believing the figures. */
#define UNSAMPLED_PERCENT  5.0
#define UNEVEN_PERCENT     5.0
#define UNEVEN_NS          100000000u
#define LOST_PERCENT       1.0
#define TRUNCATED_PERCENT  5.0
#define OWN_PERCENT        3.0
#define SAMPLES_SHARE      4 /* own time of which handlers took this part follows the number of samples */
#define DIFFERENCE_PERCENT 0.1
/* The CPU time that profiling costs a process once, for reading unwind tables and symbols. */
#define START_NS 100000000u
/* Each thread's exit costs some CPU that no thread clock shows. */
#define EXIT_NS 10000u
/* Fewer samples than this tell little: a share of 10 % is 10 ± 6 then. */
#define FEW_SAMPLES 100u

struct warnings {
    void (*each)(void *data, const char *text);
    void *data;
};

double pt_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

struct pt_accounting pt_summary_accounting(const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum =
        process == PT_NONE ? pt_profile_accounting(profile) : profile->processes.items[process].accounting;
    sum.unsampled_ns += sum.pending_ns;
    return sum;
}

uint64_t pt_summary_program_ns(const struct pt_profile *profile)
{
    uint64_t sum = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        bool again = profile->keep == PT_KEEP_STACKS && sample->thread != PT_NONE; /* pt_add_busy */
        sum += again ? 0 : sample->cpu_ns;
    }
    return sum;
}

uint64_t pt_summary_missing_ns(const struct pt_profile *profile, uint32_t process)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (process == PT_NONE || i == process)
            missing += profile->processes.items[i].missing_ns;
    return missing;
}

uint64_t pt_summary_billed_ns(const struct pt_profile *profile)
{
    uint64_t billed_ns = 0;
    for (PT_EACH(const struct pt_process, process, &profile->processes)) {
        if (process->run != profile->processes.items[0].run)
            return 0;
        if (process->run_billed_ns > billed_ns) /* a run within the run has its own */
            billed_ns = process->run_billed_ns;
    }
    return pt_summary_accounting(profile, PT_NONE).cpu_ns > billed_ns ? 0 : billed_ns;
}

const struct pt_process *pt_summary_first_process(const struct pt_profile *profile)
{
    const struct pt_process *first = &profile->processes.items[0];
    for (uint32_t i = 1; i < profile->processes.count; i++)
        if (profile->processes.items[i].start_unix_ns < first->start_unix_ns)
            first = &profile->processes.items[i];
    return first;
}

/* A process may have several interpreters: "3.11.2, 3.13.0". */
uint32_t *pt_summary_versions(struct pt_profile *profile, uint32_t only, uint32_t *count)
{
    uint32_t capacity = 0, *versions = pt_grow(NULL, &capacity, 1, sizeof *versions);
    *count = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        if (only != PT_NONE && i != only)
            continue;
        char *list = pt_strdup(pt_string(profile, profile->processes.items[i].python_version)), *rest = list, *word;
        while ((word = strtok_r(rest, ", ", &rest))) {
            uint32_t version = pt_intern_text(profile, word), known = 0;
            while (known < *count && versions[known] != version)
                known++;
            if (known < *count)
                continue;
            versions = pt_grow(versions, &capacity, (uint64_t)*count + 1, sizeof *versions);
            versions[(*count)++] = version;
        }
        free(list);
    }
    return versions;
}

static void __attribute__((format(printf, 2, 3))) warn(const struct warnings *warnings, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    va_end(arguments);
    warnings->each(warnings->data, text);
}

static bool costs_much(const struct pt_accounting *sum, uint32_t processes)
{
    return pt_percent(sum->own_ns, sum->cpu_ns) > OWN_PERCENT && sum->own_ns > START_NS * processes;
}

bool pt_summary_is_all_paused(const struct pt_accounting *sum)
{
    return !sum->samples && sum->sampled_ns > sum->estimated_ns;
}

static bool is_uneven(const struct pt_accounting *sum)
{
    return pt_percent(sum->uneven_ns, sum->cpu_ns) > UNEVEN_PERCENT && sum->uneven_ns > UNEVEN_NS;
}

bool pt_summary_is_uneven(const struct pt_profile *profile)
{
    struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
    return is_uneven(&sum);
}

/* Adds why a process had no perf events, and what gives it some; nothing if all had them. */
static void append_no_events(struct pt_buffer *text, const struct pt_profile *profile, uint32_t process)
{
    static const char refused[] = "no perf events: ";
    for (uint32_t i = 0; i < profile->processes.count && !text->length; i++) {
        const char *clock = pt_string(profile, profile->processes.items[i].clock), *why = strstr(clock, refused);
        if (process != PT_NONE && i != process)
            continue;
        if (why)
            pt_buffer_format(text, "Perf events see that; there were none: %s", why + sizeof refused - 1);
        else if (!strstr(clock, "perf events"))
            pt_buffer_text(text,
                           "PYPROF_CLOCK=perf sees that, where 'pyprof doctor' says that perf events are permitted");
    }
}

/* no_events: as append_no_events has it. */
static void warn_of_shares(const struct warnings *warnings, const struct pt_accounting *sum, uint32_t processes,
                           const char *no_events)
{
    double unsampled = pt_percent(sum->unsampled_ns, sum->cpu_ns), lost = pt_percent(sum->lost_ns, sum->cpu_ns),
           own = pt_percent(sum->own_ns, sum->cpu_ns);
    if (unsampled > UNSAMPLED_PERCENT) {
        bool known = sum->reasons[PP_REASON_TIMER_FAILED] || sum->reasons[PP_REASON_UNREACHABLE] ||
                     sum->reasons[PP_REASON_SMALL_STACK] || sum->reasons[PP_REASON_NO_SLOT] ||
                     sum->reasons[PP_REASON_ACTION_GONE];
        warn(warnings,
             "%.1f %% of the CPU (%.2f s) was not sampled: no function has it, it is " PP_PSEUDO_UNSAMPLED "; %s%s%s",
             unsampled, pt_seconds(sum->unsampled_ns),
             known ? "there was no signal for it, see below"
                   : "threads, or the process, were over before the next sample was due",
             known        ? ""
             : *no_events ? ", or worked between two clock ticks. "
                          : ", or were in system calls that no clock tick met",
             known ? "" : no_events);
    }
    if (is_uneven(sum))
        warn(warnings,
             "%.1f %% (%.2f s) was sampled at clock ticks alone: of threads that wait often, work between two ticks is "
             "not seen, and shares can be wrong. %s",
             pt_percent(sum->uneven_ns, sum->cpu_ns), pt_seconds(sum->uneven_ns),
             *no_events ? no_events
                        : "Perf events would cost these threads more than PYPROF_MAX_OVERHEAD; PYPROF_CLOCK=perf gives "
                          "them events all the same");
    if (lost > LOST_PERCENT) {
        warn(warnings,
             "%.1f %% of the CPU time (%.2f s, %" PRIu64
             " samples) was seen but could not be kept; it is counted as " PP_PSEUDO_LOST,
             lost, pt_seconds(sum->lost_ns), sum->lost_samples);
    }
    if (costs_much(sum, processes))
        warn(warnings, "profiling took %.1f %% of the CPU (%.2f s): %s", own, pt_seconds(sum->own_ns),
             sum->handler_sum_ns * SAMPLES_SHARE >= sum->own_ns ? "a lower PYPROF_HZ costs less"
                                                                : "most of it to read the symbols of libraries and to "
                                                                  "write the profile, whatever the number of samples");
    uint64_t difference = sum->difference_ns < 0 ? 0 - (uint64_t)sum->difference_ns : (uint64_t)sum->difference_ns;
    if (pt_percent(difference, sum->cpu_ns) > DIFFERENCE_PERCENT && difference > EXIT_NS * (sum->exited_threads + 1))
        warn(warnings, "the sums do not close: %.3f s of %.2f s CPU time are in none of them",
             pt_seconds(difference) * (sum->difference_ns < 0 ? -1 : 1), pt_seconds(sum->cpu_ns));
}

/* Returns whether the outer end of a stack that was too deep is missing: all that is kept of it is below the mark. */
static bool lacks_outer_end(const struct pt_profile *profile)
{
    bool *lacks = pt_alloc(profile->nodes.count, sizeof *lacks), found = false;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        const struct pt_frame *frame = &profile->frames.items[node->frame];
        const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
        lacks[i] = node->parent ? lacks[node->parent] : strstr(text, pt_reason_text(PP_REASON_PYTHON_TOO_DEEP)) != NULL;
    }
    for (uint32_t i = 0; i < profile->samples.count && !found; i++)
        found = lacks[profile->samples.items[i].node];
    free(lacks);
    return found;
}

/* A stack may be cut on both sides, and both its Python and its native frames may be too many. */
static void warn_of_stacks(const struct warnings *warnings, const struct pt_profile *profile,
                           const struct pt_accounting *sum)
{
    uint64_t cut = 0, deep = sum->reasons[PP_REASON_PYTHON_TOO_DEEP];
    for (uint32_t i = PP_REASON_NATIVE_NO_MODULE; i <= PP_REASON_PYTHON_UNPAIRED; i++)
        cut += i == PP_REASON_PYTHON_TOO_DEEP || i == PP_REASON_NATIVE_TOO_DEEP ? 0 : sum->reasons[i];
    if (sum->reasons[PP_REASON_NATIVE_TOO_DEEP] > deep)
        deep = sum->reasons[PP_REASON_NATIVE_TOO_DEEP];
    if (cut > sum->samples)
        cut = sum->samples;
    if (pt_percent(cut, sum->samples) > TRUNCATED_PERCENT)
        warn(warnings,
             "%.1f %% of the stacks are not complete (%" PRIu64 " of %" PRIu64
             "): totals of outer functions are too low by up to that much",
             pt_percent(cut, sum->samples), cut, sum->samples);
    if (pt_percent(deep, sum->samples) > TRUNCATED_PERCENT)
        warn(warnings, "%.1f %% of the stacks (%" PRIu64 " of %" PRIu64 ") are too deep to be kept whole: %s",
             pt_percent(deep, sum->samples), deep, sum->samples,
             lacks_outer_end(profile)
                 ? "some lack their outer end, so totals of outer functions are too low by up to that much"
                 : "both ends are kept, so totals of the outermost functions are exact; those of functions in the "
                   "middle are too low");
}

static void warn_of_reasons(const struct warnings *warnings, const struct pt_accounting *sum)
{
    static const uint32_t named[] = {PP_REASON_TIMER_FAILED, PP_REASON_NO_SLOT,     PP_REASON_WRITE_FAILED,
                                     PP_REASON_TIMER_GONE,   PP_REASON_UNREACHABLE, PP_REASON_ACTION_GONE,
                                     PP_REASON_SMALL_STACK};
    for (unsigned i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (!sum->reasons[named[i]])
            continue;
        warn(warnings, "%s (%" PRIu64 " times)", pt_reason_text(named[i]), sum->reasons[named[i]]);
    }
}

/* Each interpreter of a thread has a chain of frames of its own; the library adds the callers' where it is certain. */
static void warn_of_subinterpreters(const struct warnings *warnings, const struct pt_accounting *sum)
{
    double unpaired = pt_percent(sum->reasons[PP_REASON_PYTHON_UNPAIRED], sum->samples);
    if (unpaired > TRUNCATED_PERCENT)
        warn(warnings,
             "%.1f %% of the stacks lack Python functions that called others: of a thread that runs a subinterpreter, "
             "those of the interpreter that called it may not be known",
             unpaired);
}

static void warn_of_pause(const struct warnings *warnings, const struct pt_profile *profile, uint32_t only)
{
    uint32_t paused = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        enum pt_end end = pt_end_of(profile, i);
        bool may_run = end == PT_END_RUNNING || end == PT_END_UNKNOWN;
        paused += (only == PT_NONE || only == i) && profile->processes.items[i].paused && may_run;
    }
    if (!paused)
        return;
    const struct pt_load_request *request = profile->request;
    PT_AUTO_BUFFER command = {0};
    struct stat status;
    if (request && request->path_count == 1 && stat(request->paths[0], &status) == 0 && S_ISDIR(status.st_mode))
        pt_append_resume(&command, request->paths[0]);
    else
        pt_buffer_text(&command, "pyprof ctl resume");
    warn(warnings, "paused (%" PRIu32 " process%s): %s", paused, pt_plural(paused, "es"), command.data);
}

/* Compares what the log says was written with what was found in it. */
static void warn_of_missing(const struct warnings *warnings, uint64_t found, const struct pt_accounting *raw)
{
    uint64_t written = raw->sampled_ns + raw->unsampled_ns + raw->lost_ns + raw->thread_exit_ns;
    if (written > found && pt_percent(written - found, written) > DIFFERENCE_PERCENT)
        warn(warnings, "%.3f s of CPU time were recorded in parts of the log that are missing",
             pt_seconds(written - found));
}

/* Returns whether the texts differ in numbers only. */
static bool are_alike(const char *a, const char *b)
{
    static const char number[] = "0123456789.";
    while (*a && *a == *b) {
        a += 1 + strspn(a + 1, number);
        b += 1 + strspn(b + 1, number);
    }
    return *a == *b;
}

/* Adds what the library itself warned of, in a process or in all (PT_NONE); of alike warnings (the rate was lowered,
 * and lowered again) only the last. */
static void add_notices(const struct warnings *warnings, const struct pt_profile *profile, uint32_t only)
{
    struct {
        struct {
            const char *text;
            uint64_t pid;
            uint32_t process, processes, count;
        } * items;
        uint32_t count, capacity;
    } kinds = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        for (uint32_t j = 0; j < process->notices.count && (only == PT_NONE || i == only); j++) {
            const char *text = pt_string(profile, process->notices.items[j].text);
            uint32_t known = 0;
            if (process->notices.items[j].severity == 0)
                continue;
            while (known < kinds.count && !are_alike(kinds.items[known].text, text))
                known++;
            if (known == kinds.count) {
                kinds.items = pt_grow(kinds.items, &kinds.capacity, (uint64_t)known + 1, sizeof *kinds.items);
                kinds.count++;
            }
            kinds.items[known].processes += !kinds.items[known].count || kinds.items[known].process != i;
            kinds.items[known].process = i;
            kinds.items[known].text = text;
            kinds.items[known].pid = process->pid;
            kinds.items[known].count++;
        }
    }
    for (uint32_t i = 0; i < kinds.count; i++) {
        PT_AUTO_BUFFER line = {0};
        if (only == PT_NONE && profile->processes.count > 1)
            pt_buffer_format(&line, "process %" PRIu64, kinds.items[i].pid);
        if (kinds.items[i].processes > 1)
            pt_buffer_format(&line, " and %" PRIu32 " more", kinds.items[i].processes - 1);
        pt_buffer_format(&line, "%s%s", line.length ? ": " : "", kinds.items[i].text);
        if (kinds.items[i].count > kinds.items[i].processes)
            pt_buffer_format(&line, "; the last of %" PRIu32 " like this", kinds.items[i].count);
        warn(warnings, "%s", line.data);
    }
    free(kinds.items);
}

void pt_summary_append_accounting(const struct pt_profile *profile, struct pt_buffer *line)
{
    struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
    pt_buffer_format(line,
                     "cpu_ns=%" PRIu64 " sampled=%" PRIu64 " unsampled=%" PRIu64 " lost=%" PRIu64 " own=%" PRIu64
                     " thread_exit=%" PRIu64 " difference=%" PRId64 " estimated=%" PRIu64 " shown=%" PRIu64,
                     sum.cpu_ns, sum.sampled_ns, sum.unsampled_ns, sum.lost_ns, sum.own_ns, sum.thread_exit_ns,
                     sum.difference_ns, sum.estimated_ns, pt_summary_program_ns(profile));
}

void pt_summary_notes(const struct pt_profile *profile, uint32_t process, void (*each)(void *data, const char *text),
                      void *data)
{
    const struct pt_process *of = &profile->processes.items[process];
    for (uint32_t i = 0; i < of->notices.count; i++)
        if (of->notices.items[i].severity == 0)
            each(data, pt_string(profile, of->notices.items[i].text));
}

void pt_summary_warnings(const struct pt_profile *profile, uint32_t only, void (*each)(void *data, const char *text),
                         void *data)
{
    const struct warnings warnings = {.each = each, .data = data};
    uint64_t found = 0;
    uint32_t without_sums = 0, without_python = 0, checked = 0;
    bool passed_over = false; /* parts of other times, which are not missing */
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (only != PT_NONE && i != only)
            continue;
        checked++;
        found += process->found_ns;
        passed_over |= process->passed_over;
        without_sums += !process->has_accounting;
        without_python += !process->python_version;
    }
    add_notices(&warnings, profile, only);
    struct pt_accounting raw =
        only == PT_NONE ? pt_profile_accounting(profile) : profile->processes.items[only].accounting;
    struct pt_accounting sum = pt_summary_accounting(profile, only);
    if (only == PT_NONE && profile->losses.damaged_blocks)
        warn(&warnings, "the log is damaged: %" PRIu64 " block%s of %" PRIu64 " bytes cannot be read",
             profile->losses.damaged_blocks, pt_plural(profile->losses.damaged_blocks, "s"),
             profile->losses.damaged_bytes);
    if (without_sums)
        warn(&warnings, "%u of %u processes left no accounting: killed, or still in the first second", without_sums,
             checked);
    if (without_python)
        warn(&warnings, "no Python was recognised in %u of %u processes: native functions only", without_python,
             checked);
    if (!without_sums && pt_summary_is_all_paused(&sum))
        warn(&warnings, "no samples: sampling was paused all the time");
    else if (!without_sums && sum.samples < FEW_SAMPLES)
        warn(&warnings, "only %" PRIu64 " sample%s: run longer%s", sum.samples, pt_plural(sum.samples, "s"),
             costs_much(&sum, checked) ? "" : ", or pyprof run --hz 250");
    PT_AUTO_BUFFER no_events = {0};
    append_no_events(&no_events, profile, only);
    warn_of_shares(&warnings, &sum, checked, no_events.length ? no_events.data : "");
    warn_of_stacks(&warnings, profile, &sum);
    warn_of_reasons(&warnings, &sum);
    warn_of_subinterpreters(&warnings, &sum);
    warn_of_pause(&warnings, profile, only);
    if (!passed_over)
        warn_of_missing(&warnings, found, &raw);
    uint64_t missing = pt_summary_missing_ns(profile, only);
    if (missing)
        warn(&warnings,
             "%s%.3f s of CPU time are not in here: they were in parts of the profile that have been removed%s",
             sum.removed_files ? "at least " : "", pt_seconds(missing),
             sum.removed_files ? " to stay below PYPROF_MAX_DISK" : "");
}

uint64_t pt_summary_cpus(const struct pt_profile *profile)
{
    uint64_t most = 0;
    for (PT_EACH(const struct pt_process, process, &profile->processes)) {
        if (process->host != profile->processes.items[0].host)
            return 0;
        most = process->cpus > most ? process->cpus : most;
    }
    return most;
}

void pt_summary_contexts(const struct pt_profile *profile, uint32_t process,
                         void (*each)(void *data, bool read, const char *text), void *data)
{
    static const char separator[] = "; not ";
    char *text = pt_strdup(pt_string(profile, profile->processes.items[process].contexts)), *next;
    bool read = true;
    for (char *part = text; part; part = next, read = false) {
        next = strstr(part, separator);
        if (next) {
            *next = 0;
            next += sizeof separator - 1;
        }
        if (*part)
            each(data, read, part);
    }
    free(text);
}
