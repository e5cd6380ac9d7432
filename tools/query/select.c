/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../model/frame_text.h"
#include "../model/selection.h"
#include "../model/task_stacks.h"
#include "../model/traces.h"
#include "fold.h"
#include "group.h"
#include "nothing_left.h"
#include "recursion.h"

/* Lists how the names of functions that spin begin. */
static const struct spinner {
    const char *function, *advice;
} spinners[] = {
    {"blas_thread_server", "OPENBLAS_NUM_THREADS=1"},
    {"exec_blas_async_wait", "OPENBLAS_NUM_THREADS=1"},
    {"gomp_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_team_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_simple_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_thread_start", "OMP_WAIT_POLICY=passive"},
    {"__kmp_hyper_barrier_release", "KMP_BLOCKTIME=0"},
    {"__kmp_wait_", "KMP_BLOCKTIME=0"},
    {"kmp_flag_", "KMP_BLOCKTIME=0"},
};
#define SPINNERS (sizeof spinners / sizeof spinners[0])

/* Returns the spinner + 1 in which a stack with this leaf waits, 0 if it does something else. */
static size_t spinner_of(const struct pt_profile *profile, uint32_t node)
{
    for (; node; node = profile->nodes.items[node].parent) {
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
        const char *name = frame->kind == PP_FRAME_NATIVE ? pt_string(profile, frame->symbol) : "";
        for (size_t i = 0; *name && i < SPINNERS; i++)
            if (strncmp(name, spinners[i].function, strlen(spinners[i].function)) == 0)
                return i + 1;
        if (!strstr(name, "sched_yield") && !frame->inlined_into)
            return 0;
    }
    return 0;
}

/* Returns it for the samples of the profile, whose native frames were not folded yet (fold.h). */
static struct pt_spinning spinning_of(const struct pt_profile *profile)
{
    uint64_t ns[SPINNERS + 1] = {0};
    size_t most = 1;
    struct pt_spinning spinning = {0};
    for (uint32_t i = 0; i < profile->samples.count; i++)
        ns[spinner_of(profile, profile->samples.items[i].node)] += profile->samples.items[i].cpu_ns;
    for (size_t i = 1; i <= SPINNERS; i++) {
        spinning.ns += ns[i];
        most = ns[i] > ns[most] ? i : most;
    }
    spinning.function = spinners[most - 1].function;
    spinning.advice = spinners[most - 1].advice;
    return spinning;
}

/* If more than one nanosecond in so many is of intervals that --from or --to cut, that is said. */
#define CUT_PART 10

/* Returns, by thread, whether its name matches; NULL without a pattern. The last name of a thread counts, which is not
 * known while the log is read. */
static bool *threads_with(const struct pt_profile *profile, const char *pattern)
{
    regex_t names;
    if (!pattern || pt_names_ids(pattern) || regcomp(&names, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return NULL;
    bool *matching = pt_alloc(profile->threads.count, sizeof *matching);
    for (uint32_t i = 0; i < profile->threads.count; i++)
        matching[i] = regexec(&names, pt_string(profile, profile->threads.items[i].name), 0, NULL, 0) == 0;
    regfree(&names);
    return matching;
}

/* Returns, by frame, whether its text matches. The caller frees. */
static bool *frames_with(const struct pt_profile *profile, const regex_t *regex)
{
    bool *frames = pt_alloc(profile->frames.count, sizeof *frames);
    PT_AUTO_BUFFER text = {0};
    for (uint32_t i = 0; regex && i < profile->frames.count; i++) {
        pt_buffer_clear(&text);
        pt_frame_text(&text, profile, i, false);
        frames[i] = regexec(regex, text.data, 0, NULL, 0) == 0;
    }
    return frames;
}

/* Returns, by node, whether a frame of the stack that ends there matches; NULL: none does. */
static bool *nodes_with(struct pt_profile *profile, const regex_t *regex)
{
    PT_AUTO_FREE bool *frames = frames_with(profile, regex);
    bool *nodes = pt_alloc(profile->nodes.count, sizeof *nodes);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        nodes[i] = nodes[node->parent] || frames[node->frame];
    }
    return nodes;
}

/* Whether the pattern is the text itself: values have braces and the like. Its ends may be marked. */
static bool is_literally(const char *pattern, const char *text)
{
    size_t length = strlen(text);
    pattern += *pattern == '^';
    return strncmp(pattern, text, length) == 0 && (!pattern[length] || strcmp(pattern + length, "$") == 0);
}

/* Returns, by label set, whether "key=value" of a label matches. regex: NULL if the pattern is none. */
static bool *label_sets_with(const struct pt_profile *profile, const regex_t *regex, const char *pattern)
{
    bool *sets = pt_alloc(profile->label_sets.count, sizeof *sets);
    PT_AUTO_BUFFER text = {0};
    for (uint32_t i = 1; i < profile->label_sets.count; i++) {
        const struct pt_label_set *set = &profile->label_sets.items[i];
        for (uint32_t j = set->first; j < set->first + set->count && !sets[i]; j++) {
            const struct pt_label *label = &profile->labels.items[j];
            pt_buffer_clear(&text);
            pt_buffer_format(&text, "%s=%s", pt_string(profile, label->key), pt_string(profile, label->value));
            sets[i] = (regex && regexec(regex, text.data, 0, NULL, 0) == 0) || is_literally(pattern, text.data);
        }
    }
    return sets;
}

/* What --focus or --ignore matches. */
struct matches {
    bool *nodes, *label_sets; /* NULL: there is no pattern for them */
    struct pt_group absent;   /* has values: what has none of them matches */
};

/* Finds what has no value of KEY if the pattern is KEY=(none), as tables call it. As a regular expression that means
 * something else, which no sample has. */
static bool find_absent(struct pt_profile *profile, const char *pattern, struct matches *matches)
{
    static const char *const rows[] = {"=" PT_NO_GROUP, "=" PT_NO_GROUP "$", "=\\(none\\)", "=\\(none\\)$"};
    const char *key = pattern + (*pattern == '^');
    bool found = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !found; i++) {
        size_t length = strcspn(key, "=");
        if (!length || strcmp(key + length, rows[i]) != 0)
            continue;
        PT_AUTO_BUFFER by = pt_formatted(PT_GROUP_OWN "%.*s", (int)length, key);
        found = pt_has_group(profile, by.data);
        if (found)
            matches->absent = pt_group_by(profile, by.data);
    }
    return found;
}

static struct matches matches_of(struct pt_profile *profile, const char *pattern)
{
    struct matches matches = {0};
    regex_t regex;
    if (pattern && strncmp(pattern, PT_GROUP_OWN, strlen(PT_GROUP_OWN)) == 0 && strchr(pattern, '='))
        pattern += strlen(PT_GROUP_OWN); /* as --by has it */
    if (!pattern || find_absent(profile, pattern, &matches))
        return matches;
    bool compiled = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0; /* not endpoint=/cart/{user} */
    matches.nodes = nodes_with(profile, compiled ? &regex : NULL);
    matches.label_sets = label_sets_with(profile, compiled ? &regex : NULL, pattern);
    if (compiled)
        regfree(&regex);
    return matches;
}

static bool is_match(const struct matches *matches, const struct pt_sample *sample, bool without_pattern)
{
    if (matches->absent.values)
        return !pt_group_value(&matches->absent, sample);
    return matches->nodes ? matches->nodes[sample->node] || matches->label_sets[sample->labels] : without_pattern;
}

static void free_matches(struct matches *matches)
{
    free(matches->nodes);
    free(matches->label_sets);
    pt_group_free(&matches->absent);
}

static void drop_samples(struct pt_profile *profile, const struct pt_selection *select)
{
    struct matches focus = matches_of(profile, select->focus), ignore = matches_of(profile, select->ignore);
    PT_AUTO_FREE bool *threads = threads_with(profile, select->thread),
                      *others = threads_with(profile, select->not_thread);
    uint32_t count;
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        if (pt_selects_contents(select) && !sample.node)
            continue;
        if ((threads && !threads[sample.thread]) || (others && others[sample.thread]) ||
            !is_match(&focus, &sample, true) || is_match(&ignore, &sample, false))
            continue;
        pt_add_sample(profile, &sample);
    }
    free_matches(&ignore);
    free_matches(&focus);
}

static void sum_innermost(struct pt_profile *profile)
{
    free(profile->innermost_ns);
    profile->innermost_count = profile->frames.count;
    profile->innermost_ns = pt_alloc(profile->innermost_count, sizeof *profile->innermost_ns);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        uint32_t frame = profile->nodes.items[sample->node].frame;
        if (frame != PT_NONE)
            profile->innermost_ns[frame] += sample->cpu_ns;
    }
}

static void add_tasks(struct pt_profile *profile)
{
    PT_AUTO(pt_task_stacks_free) struct pt_task_stacks stacks = {.no_awaiters = profile->request->select.no_awaiters};
    uint32_t count;
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        sample.node = pt_task_stack(&stacks, profile, sample.node, sample.labels);
        pt_add_sample(profile, &sample);
    }
}

/* Takes frames out of all stacks: their CPU time is their callers'. */
static void hide_frames(struct pt_profile *profile, const char *pattern)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return;
    PT_AUTO_FREE bool *hidden = frames_with(profile, &regex);
    regfree(&regex);
    if (!memchr(hidden, true, profile->frames.count * sizeof *hidden))
        pt_message_to(profile->request->messages, "--hide: no frame matches '%s'", pattern);
    uint32_t nodes = profile->nodes.count, others = pt_add_pseudo(profile, PP_PSEUDO_OTHERS), count;
    PT_AUTO_FREE uint32_t *without = pt_alloc(nodes, sizeof *without);
    for (uint32_t i = 1; i < nodes; i++) {
        const struct pt_node node = profile->nodes.items[i];
        uint32_t parent = without[node.parent];
        without[i] = hidden[node.frame] ? parent : pt_add_node(profile, parent, node.frame);
    }
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        if (sample.node) /* node 0: when a thread was busy */
            sample.node = without[sample.node] ?: pt_add_node(profile, 0, others);
        pt_add_sample(profile, &sample);
    }
}

static void fold_samples(struct pt_profile *profile, enum pt_native native)
{
    PT_AUTO(pt_fold_free) struct pt_fold fold = {.native = native};
    uint32_t count;
    pt_fold_add(&fold, profile);
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        sample.node = pt_fold_node(&fold, sample.node);
        pt_add_sample(profile, &sample);
    }
}

/* Puts the value that --by asks for above each stack. */
static void add_roots(struct pt_profile *profile)
{
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, profile->request->by);
    PT_AUTO(pt_task_stacks_free) struct pt_task_stacks stacks = {0};
    uint32_t count;
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        uint32_t value = sample.node ? pt_group_value(&group, &sample) : 0;
        const char *text = value ? pt_string(profile, value) : PT_NO_GROUP;
        if (sample.node) /* node 0: when a thread was busy */
            sample.node =
                pt_stack_below(&stacks, profile, sample.node, pt_add_node(profile, 0, pt_add_pseudo(profile, text)));
        pt_add_sample(profile, &sample);
    }
}

/* Returns the CPU time of all samples of a process. Where some were not read, its sums say it. */
static uint64_t whole_of(const struct pt_process *process)
{
    const struct pt_accounting *sum = &process->accounting;
    uint64_t by_sums = sum->sampled_ns + sum->unsampled_ns + sum->pending_ns + sum->lost_ns + sum->thread_exit_ns;
    uint64_t read = process->found_ns + sum->pending_ns;
    return process->passed_over && by_sums > read ? by_sums : read;
}

bool pt_select(struct pt_profile *profile)
{
    const struct pt_selection *select = &profile->request->select;
    bool traces_only = profile->request->traces == PT_TRACES_ONLY;
    if (traces_only && !pt_traces_found(profile))
        return false;
    profile->whole_ns = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        profile->whole_ns += whole_of(&profile->processes.items[i]);
    profile->selected = traces_only || pt_selects_a_part(select);
    if (profile->label_sets.count > 1)
        add_tasks(profile);
    if (profile->request->middleware)
        profile->middleware = pt_find_middleware(profile);
    const char *by = profile->request->by;
    bool has_group = !by || pt_has_group(profile, by); /* what is selected may all be (none) */
    if (pt_selects_names(select) || pt_selects_contents(select))
        drop_samples(profile, select);
    if (select->hide)
        hide_frames(profile, select->hide);
    sum_innermost(profile);
    profile->spinning = spinning_of(profile);
    if (select->native != PT_NATIVE_ALL)
        fold_samples(profile, select->native);
    if (select->fold_recursion)
        pt_fold_recursion(profile);
    uint64_t left_ns = pt_profile_cpu_ns(profile);
    bool compacted = false;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        compacted |= profile->processes.items[i].compacted_ns != 0;
    if (profile->cut_ns > left_ns / CUT_PART)
        pt_message_to(profile->request->messages,
                      "--from and --to cut intervals of up to %.1f s%s: their CPU is taken as spread evenly, as the "
                      "profile knows nothing finer",
                      (double)profile->cut_wall_ns / 1e9, compacted ? " (compacted)" : "");
    if (!profile->samples.count && profile->selected && !profile->request->served) {
        pt_say_nothing_is_left(profile);
        return false;
    }
    if (profile->samples.count && !has_group) {
        pt_say_no_group(profile, by);
        return false;
    }
    if (by && profile->request->by_roots)
        add_roots(profile);
    return true;
}
