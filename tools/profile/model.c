#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "select.h"

/* Appends a zeroed item to a PT_TABLE_OF and returns a pointer to it. */
#define APPEND(table)                                                                                                  \
    ((table)->items =                                                                                                  \
         pt_grow((table)->items, &(table)->capacity, (uint64_t)(table)->count + 1, sizeof *(table)->items),            \
     &(table)->items[(table)->count++])

static void add_root(struct pt_profile *profile)
{
    APPEND(&profile->nodes)->frame = PT_NONE;
}

struct pt_profile *pt_profile_new(const struct pt_load_request *request)
{
    static const struct pt_load_request everything = {0};
    struct pt_profile *profile = pt_alloc(1, sizeof *profile);
    profile->request = request ? request : &everything;
    profile->keep = pt_keep_for(profile->request);
    pt_intern(profile, "", 0);
    add_root(profile);
    APPEND(&profile->label_sets);
    APPEND(&profile->intervals);
    return profile;
}

#define FREE_TABLE(table) (free((table)->items), pt_index_free(&(table)->index))

void pt_profile_free(struct pt_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; i < profile->strings.count; i++)
        free(profile->strings.items[i]);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        FREE_TABLE(&profile->processes.items[i].notices);
        FREE_TABLE(&profile->processes.items[i].parts);
        FREE_TABLE(&profile->processes.items[i].usage);
    }
    FREE_TABLE(&profile->strings);
    FREE_TABLE(&profile->modules);
    FREE_TABLE(&profile->functions);
    FREE_TABLE(&profile->frames);
    FREE_TABLE(&profile->nodes);
    FREE_TABLE(&profile->threads);
    FREE_TABLE(&profile->labels);
    FREE_TABLE(&profile->label_sets);
    FREE_TABLE(&profile->intervals);
    FREE_TABLE(&profile->samples);
    FREE_TABLE(&profile->processes);
    free(profile);
}

const char *pt_string(const struct pt_profile *profile, uint32_t string)
{
    return string < profile->strings.count ? profile->strings.items[string] : "";
}

/* Length of the well-formed UTF-8 character at `text`, 0 when there is none. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t length = 1; length <= 4 && length <= left; length++) {
        if ((text[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        uint32_t value = text[0] & (unsigned char)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (text[i] & 0x3f);
        }
        bool surrogate = value >= 0xd800 && value <= 0xdfff;
        return value >= forms[length - 1].least && value <= 0x10ffff && !surrogate ? length : 0;
    }
    return 0;
}

static char *clean_text(const char *text, size_t length)
{
    struct pt_buffer clean = {0};
    size_t sound = 0; /* length of the well-formed beginning that is not yet copied */
    size_t at = 0;
    while (at < length) {
        size_t step = utf8_length((const unsigned char *)text + at, length - at);
        at += step ? step : 1;
        sound += step;
        if (!step) {
            pt_buffer_append(&clean, text + at - 1 - sound, sound);
            pt_buffer_text(&clean, "\xef\xbf\xbd");
            sound = 0;
        }
    }
    pt_buffer_append(&clean, text + at - sound, sound);
    return clean.data;
}

static bool same_string(const void *table, uint32_t item, const void *key)
{
    const struct pt_profile *profile = table;
    return strcmp(profile->strings.items[item], key) == 0;
}

uint32_t pt_intern_text(struct pt_profile *profile, const char *text)
{
    uint32_t hash = pt_hash_bytes(text, strlen(text));
    uint32_t found = pt_index_find(&profile->strings.index, hash, same_string, profile, text);
    if (found != PT_NONE)
        return found;
    *APPEND(&profile->strings) = pt_strdup(text);
    pt_index_add(&profile->strings.index, hash, profile->strings.count - 1);
    return profile->strings.count - 1;
}

uint32_t pt_intern(struct pt_profile *profile, const char *text, size_t length)
{
    char *clean = clean_text(text, length);
    uint32_t string = pt_intern_text(profile, clean);
    free(clean);
    return string;
}

/* Defines find-or-add for a table. What comes after the type are the words of an `item` that make it what it is: items
 * with equal ones are the same. */
#define HASH_AND_SAME(table, type, ...)                                                                                \
    static uint32_t table##_hash(const type *item)                                                                     \
    {                                                                                                                  \
        const uint64_t words[] = {__VA_ARGS__};                                                                        \
        return pt_hash_words(words, sizeof words / sizeof words[0]);                                                   \
    }                                                                                                                  \
    static bool table##_same(const void *items, uint32_t number, const void *key)                                      \
    {                                                                                                                  \
        const type *item = key;                                                                                        \
        const uint64_t wanted[] = {__VA_ARGS__};                                                                       \
        item = (const type *)items + number;                                                                           \
        const uint64_t there[] = {__VA_ARGS__};                                                                        \
        return memcmp(wanted, there, sizeof there) == 0;                                                               \
    }
#define FIND_OR_ADD(function, table, type, ...)                                                                        \
    HASH_AND_SAME(table, type, __VA_ARGS__)                                                                            \
    function(struct pt_profile *profile, const type *item)                                                             \
    {                                                                                                                  \
        uint32_t hash = table##_hash(item);                                                                            \
        uint32_t found = pt_index_find(&profile->table.index, hash, table##_same, profile->table.items, item);         \
        if (found != PT_NONE)                                                                                          \
            return found;                                                                                              \
        *APPEND(&profile->table) = *item;                                                                              \
        pt_index_add(&profile->table.index, hash, profile->table.count - 1);                                           \
        return profile->table.count - 1;                                                                               \
    }

FIND_OR_ADD(uint32_t pt_add_module, modules, struct pt_module, item->path, item->build_id, item->start, item->limit,
            item->file_offset, item->flags)
FIND_OR_ADD(uint32_t pt_add_function, functions, struct pt_function, item->name, item->file, item->first_line)
FIND_OR_ADD(uint32_t pt_add_frame, frames, struct pt_frame, item->kind, item->subject, item->address, item->symbol,
            item->line, item->end_line, item->column, item->end_column, item->source, item->inlined_into)
FIND_OR_ADD(static uint32_t add_node, nodes, struct pt_node, item->parent, item->frame)
FIND_OR_ADD(static uint32_t add_thread, threads, struct pt_thread, item->process, item->tid, item->start_unix_ns)
FIND_OR_ADD(static uint32_t add_interval, intervals, struct pt_interval, item->start_unix_ns, item->wall_ns)
HASH_AND_SAME(samples, struct pt_sample, item->thread, item->node, item->labels, item->state, item->interval)
FIND_OR_ADD(static uint32_t add_process, processes, struct pt_process, item->instance)

uint32_t pt_add_node(struct pt_profile *profile, uint32_t parent, uint32_t frame)
{
    return add_node(profile, &(struct pt_node){parent, frame});
}

struct pt_node *pt_take_nodes(struct pt_profile *profile, uint32_t *count)
{
    struct pt_node *nodes = profile->nodes.items;
    *count = profile->nodes.count;
    pt_index_free(&profile->nodes.index);
    profile->nodes.items = NULL;
    profile->nodes.count = profile->nodes.capacity = 0;
    add_root(profile);
    return nodes;
}

uint32_t pt_add_thread(struct pt_profile *profile, const struct pt_thread *thread)
{
    uint32_t number = add_thread(profile, thread);
    struct pt_thread *known = &profile->threads.items[number];
    if (thread->name)
        known->name = thread->name;
    known->flags |= thread->flags;
    return number;
}

uint32_t pt_add_interval(struct pt_profile *profile, uint64_t start_unix_ns, uint64_t wall_ns)
{
    return add_interval(profile, &(struct pt_interval){start_unix_ns, wall_ns});
}

void pt_append_sample(struct pt_profile *profile, const struct pt_sample *sample)
{
    profile->samples.items = pt_grow_raw(profile->samples.items, &profile->samples.capacity,
                                         (uint64_t)profile->samples.count + 1, sizeof *sample);
    profile->samples.items[profile->samples.count++] = *sample;
}

void pt_add_sample(struct pt_profile *profile, const struct pt_sample *sample)
{
    for (uint32_t i = profile->samples.index.count; i < profile->samples.count; i++)
        pt_index_add(&profile->samples.index, samples_hash(&profile->samples.items[i]), i);
    uint32_t hash = samples_hash(sample);
    uint32_t number = pt_index_find(&profile->samples.index, hash, samples_same, profile->samples.items, sample);
    if (number != PT_NONE) {
        profile->samples.items[number].count += sample->count;
        profile->samples.items[number].cpu_ns += sample->cpu_ns;
        return;
    }
    pt_append_sample(profile, sample);
    pt_index_add(&profile->samples.index, hash, profile->samples.count - 1);
}

void pt_add_stack(struct pt_profile *profile, uint32_t node, bool in_gc, uint32_t interval, uint64_t count,
                  uint64_t cpu_ns)
{
    const uint32_t state = in_gc ? PP_STATE_GC_KNOWN | PP_STATE_GC : 0;
    const struct pt_sample stack = {.thread = PT_NONE,
                                    .node = node,
                                    .state = state & PT_MOST_STATES,
                                    .interval = interval,
                                    .count = count,
                                    .cpu_ns = cpu_ns};
    pt_add_sample(profile, &stack);
}

void pt_add_busy(struct pt_profile *profile, uint32_t thread, uint32_t state, uint32_t interval, uint64_t cpu_ns)
{
    const struct pt_sample busy = {.thread = thread,
                                   .state = state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
                                   .interval = interval,
                                   .cpu_ns = cpu_ns};
    if (cpu_ns)
        pt_add_sample(profile, &busy);
}

struct pt_sample *pt_take_samples(struct pt_profile *profile, uint32_t *count)
{
    struct pt_sample *samples = profile->samples.items;
    *count = profile->samples.count;
    pt_index_free(&profile->samples.index);
    profile->samples.items = NULL;
    profile->samples.count = profile->samples.capacity = 0;
    return samples;
}

const struct pt_sample *pt_retake_samples(struct pt_profile *profile, uint32_t *count)
{
    uint32_t capacity = profile->samples.capacity;
    profile->samples.items = pt_take_samples(profile, count);
    profile->samples.capacity = capacity;
    return profile->samples.items;
}

uint32_t pt_add_process(struct pt_profile *profile, uint32_t instance)
{
    return add_process(profile, &(struct pt_process){.instance = instance});
}

uint32_t pt_add_pseudo(struct pt_profile *profile, const char *text)
{
    return pt_add_frame(profile, &(struct pt_frame){.kind = PP_FRAME_PSEUDO, .subject = pt_intern_text(profile, text)});
}

struct label_key {
    const struct pt_profile *profile;
    const struct pt_label *labels;
    uint32_t count;
};

static bool same_labels(const void *table, uint32_t item, const void *key)
{
    const struct pt_profile *profile = table;
    const struct label_key *wanted = key;
    const struct pt_label_set *set = &profile->label_sets.items[item];
    return set->count == wanted->count &&
           memcmp(&profile->labels.items[set->first], wanted->labels, set->count * sizeof *wanted->labels) == 0;
}

uint32_t pt_add_label_set(struct pt_profile *profile, const struct pt_label *labels, uint32_t count)
{
    if (!count)
        return 0;
    struct label_key key = {profile, labels, count};
    uint32_t hash = pt_hash_bytes(labels, count * sizeof *labels);
    uint32_t found = pt_index_find(&profile->label_sets.index, hash, same_labels, profile, &key);
    if (found != PT_NONE)
        return found;
    *APPEND(&profile->label_sets) = (struct pt_label_set){profile->labels.count, count};
    for (uint32_t i = 0; i < count; i++)
        *APPEND(&profile->labels) = labels[i];
    pt_index_add(&profile->label_sets.index, hash, profile->label_sets.count - 1);
    return profile->label_sets.count - 1;
}

struct pt_accounting pt_profile_accounting(const struct pt_profile *profile)
{
    struct pt_accounting sum = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++)
        pt_accounting_add(&sum, &profile->processes.items[i].accounting);
    return sum;
}

uint64_t pt_profile_cpu_ns(const struct pt_profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++)
        sum += profile->samples.items[i].cpu_ns;
    return sum;
}

void pt_profile_span(const struct pt_profile *profile, uint64_t *start_unix_ns, uint64_t *end_unix_ns)
{
    *start_unix_ns = *end_unix_ns = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (process->start_unix_ns && (!*start_unix_ns || process->start_unix_ns < *start_unix_ns))
            *start_unix_ns = process->start_unix_ns;
        if (process->end_unix_ns > *end_unix_ns)
            *end_unix_ns = process->end_unix_ns;
    }
}
