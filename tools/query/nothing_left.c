/* SPDX-License-Identifier: Apache-2.0 */
#include "nothing_left.h"

#include <inttypes.h>
#include <time.h>

#include "../../preload/common/label_kinds.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../model/ready.h"
#include "../model/selection.h"

#define MAX_LISTED     8
#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-"
#define THREAD         "thread"

/* Times of the clock are written as local ones, as --from takes them. */
static void append_time(struct pt_buffer *line, const char *name, const struct pt_when *when)
{
    time_t seconds = (time_t)(when->unix_ns / 1000000000u);
    char text[32];
    struct tm time;
    if (when->ready)
        pt_buffer_format(line, " --%s ready", name);
    else if (when->of_run_ns)
        pt_buffer_format(line, " --%s %.12gs", name, pt_seconds(when->of_run_ns));
    else if (when->before_end_ns)
        pt_buffer_format(line, " --%s -%.12gs", name, pt_seconds(when->before_end_ns));
    else if (when->unix_ns && localtime_r(&seconds, &time) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &time))
        pt_buffer_format(line, when->unix_ns % 1000000000u ? " --%s %s.%09u" : " --%s %s", name, text,
                         (unsigned)(when->unix_ns % 1000000000u));
}

static void append_text(struct pt_buffer *line, const char *name, const char *value)
{
    if (!value)
        return;
    pt_buffer_format(line, " --%s ", name);
    pt_append_argument(line, value);
}

void pt_append_selection(struct pt_buffer *line, const struct pt_selection *select)
{
    append_time(line, "from", &select->from);
    append_time(line, "to", &select->to);
    append_text(line, "pid", select->pid);
    append_text(line, "thread", select->thread);
    append_text(line, "not-thread", select->not_thread);
    append_text(line, "focus", select->focus);
    append_text(line, "ignore", select->ignore);
    append_text(line, "trace", select->trace);
}

void pt_append_stack_options(struct pt_buffer *line, const struct pt_selection *select)
{
    append_text(line, "hide", select->hide);
    if (select->native != PT_NATIVE_LIBRARIES)
        pt_buffer_text(line, select->native == PT_NATIVE_NONE ? " --native=none" : " --native=all");
    if (select->no_awaiters)
        pt_buffer_text(line, " --no-awaiters");
    if (select->join_pools)
        pt_buffer_text(line, " --join-pools");
}

/* Appends words with `between` them, up to a limit. */
struct list {
    struct pt_buffer text;
    uint32_t count;
};

static void __attribute__((format(printf, 3, 4))) add(struct list *list, const char *between, const char *format, ...)
{
    if (list->count++ >= MAX_LISTED) {
        if (list->count == MAX_LISTED + 1)
            pt_buffer_text(&list->text, " …");
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    va_end(arguments);
    pt_buffer_format(&list->text, "%s%s", list->count > 1 ? between : "", text);
}

static struct list process_ids(const struct pt_profile *profile)
{
    struct list list = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++)
        add(&list, ", ", "%" PRIu64, profile->processes.items[i].pid);
    return list;
}

/* Each name once. */
static struct list thread_names(const struct pt_profile *profile)
{
    struct list list = {0};
    PT_AUTO_FREE bool *listed = pt_alloc(profile->strings.count, sizeof *listed);
    for (PT_EACH(const struct pt_thread, thread, &profile->threads)) {
        if (thread->tid && !listed[thread->name])
            add(&list, ", ", "%s", pt_string(profile, thread->name));
        listed[thread->name] = true;
    }
    return list;
}

static void append_list(struct pt_buffer *text, const char *what, struct list list)
{
    pt_buffer_format(text, "; %s: %s", what, list.text.length ? list.text.data : "none");
    pt_buffer_free(&list.text);
}

/* Keys of labels, each once. Sets *found if one is the first `length` bytes of `key`. */
static struct list label_keys(const struct pt_profile *profile, const char *key, size_t length, bool *found)
{
    struct list list = {0};
    PT_AUTO_FREE bool *listed = pt_alloc(profile->strings.count, sizeof *listed);
    for (uint32_t i = 0; i < profile->labels.count; i++) {
        uint32_t number = profile->labels.items[i].key;
        const char *known = pt_string(profile, number);
        *found |= strlen(known) == length && memcmp(known, key, length) == 0;
        if (!listed[number])
            add(&list, ", ", "%s", known);
        listed[number] = true;
    }
    return list;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* Says if a pattern is KEY=… of a context or label that no sample has, or of a task that may only have awaited others.
 */
static void append_keys(struct pt_buffer *text, const struct pt_profile *profile, const char *pattern)
{
    const char *key = pattern && *pattern == '^' ? pattern + 1 : pattern;
    size_t length = key ? strspn(key, KEY_CHARACTERS) : 0;
    bool found = false;
    if (!length || key[length] != '=')
        return;
    struct list keys = label_keys(profile, key, length, &found);
    if (found) {
        bool awaited = false;
        pt_buffer_free(&keys.text);
        keys = label_keys(profile, PP_KEY_AWAITER, strlen(PP_KEY_AWAITER), &awaited);
        if (awaited && is_word(key, length, PP_KEY_TASK))
            pt_buffer_format(text, "; what tasks await: --focus '%s%s'", PP_KEY_AWAITER, key + length);
        pt_buffer_free(&keys.text);
        return;
    }
    pt_buffer_format(text, "; no sample has a context or label %.*s", (int)length, key);
    if (is_word(key, length, THREAD))
        pt_buffer_text(text, " (--thread selects threads)");
    append_list(text, "this profile has", keys);
}

/* Says since when sampling is paused, by the process that was paused first of those that are. */
static void append_pause(struct pt_buffer *text, const struct pt_profile *profile)
{
    uint64_t since = UINT64_MAX;
    for (PT_EACH(const struct pt_process, process, &profile->processes)) {
        uint64_t own = process->control_since_ns ? process->control_since_ns : process->start_unix_ns;
        since = process->paused && !process->ended && own < since ? own : since;
    }
    if (since == UINT64_MAX)
        return;
    pt_buffer_text(text, "; sampling is paused since ");
    pt_buffer_time(text, since);
}

void pt_say_nothing_is_left(const struct pt_profile *profile)
{
    const struct pt_selection *select = &profile->request->select;
    PT_AUTO_BUFFER text = {0};
    uint64_t start, end;
    bool any = false;
    pt_profile_span(profile, &start, &end);
    pt_buffer_format(&text, "no sample of %.2f s CPU", pt_seconds(profile->whole_ns));
    if (profile->request->traces == PT_TRACES_ONLY) {
        /* What is left of them may still be in the rest of the profile. */
        uint64_t ns = 0;
        for (uint32_t i = 0; i < profile->traces.count; i++)
            ns += profile->traces.items[i].cpu_ns;
        pt_buffer_format(&text, " is of a trace that was kept (%.2f s of %" PRIu32 " trace%s) and", pt_seconds(ns),
                         profile->traces.count, pt_plural(profile->traces.count, "s"));
    }
    pt_buffer_text(&text, " fits");
    pt_append_selection(&text, select);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        any |= pt_ready_unix_ns(&profile->processes.items[i].ready) < UINT64_MAX;
    if (select->from.ready && !any)
        pt_buffer_text(&text, ": no process was ever ready, all of it is in imports or in the interpreter's start");
    else if (pt_selects_time(select))
        pt_buffer_format(&text, "; the run took %.2f s", end > start ? pt_seconds(end - start) : 0);
    append_pause(&text, profile);
    if (select->pid)
        append_list(&text, "processes", process_ids(profile));
    if (select->thread || select->not_thread)
        append_list(&text, "threads", thread_names(profile));
    append_keys(&text, profile, select->focus);
    pt_message_to(profile->request->messages, "%s", text.data);
}
