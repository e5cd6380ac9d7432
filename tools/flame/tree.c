/* One tree of one or two profiles: pp_flame_new. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/frame_text.h"
#include "flame.h"

#define MOST_BUCKETS 400
/* A flush interval that lies over more buckets than this was not busy all the time: it counts where its middle is. */
#define SPREAD_OVER 4

static const char *after(const char *path, const char *mark)
{
    const char *found = strstr(path, mark);
    return found ? found + strlen(mark) : NULL;
}

/* The part of a path within a directory of packages, NULL when it is in none. */
static const char *in_package(const char *path)
{
    const char *package = after(path, "/site-packages/");
    return package ? package : after(path, "/dist-packages/");
}

static enum pp_flame_kind kind_of_source(const char *path)
{
    if (in_package(path))
        return PP_FLAME_PACKAGE;
    bool standard = after(path, "/lib/python") || strncmp(path, "<frozen ", 8) == 0;
    return standard ? PP_FLAME_STANDARD : PP_FLAME_APPLICATION;
}

static enum pp_flame_kind kind_of_module(const char *path)
{
    const char *base = pp_base_name(path);
    bool interpreter = strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0;
    return interpreter ? PP_FLAME_INTERPRETER : PP_FLAME_NATIVE;
}

enum pp_flame_kind pp_flame_kind_of(const struct pp_profile *profile, const struct pp_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return kind_of_source(pp_string(profile, profile->functions.items[frame->subject].file));
    if (frame->kind == PP_FRAME_NATIVE)
        return kind_of_module(
            frame->subject == PP_NONE ? "" : pp_string(profile, profile->modules.items[frame->subject].path));
    return PP_FLAME_PSEUDO;
}

/* Up to the first '/', or up to the extension of a file: the package or the module. */
static uint32_t first_part(struct pp_profile *strings, const char *path)
{
    size_t length = strcspn(path, "/");
    if (!path[length] && length > 3 && strcmp(path + length - 3, ".py") == 0)
        length -= 3;
    return pp_intern(strings, path, length);
}

static void python_frame(struct pp_flame *flame, const struct pp_profile *from, const struct pp_frame *frame,
                         struct pp_flame_frame *to)
{
    const struct pp_function *function = &from->functions.items[frame->subject];
    const char *path = pp_string(from, function->file), *file = pp_string(from, function->short_file);
    const char *package = in_package(path);
    to->kind = kind_of_source(path);
    to->path = pp_intern_text(flame->merged, path);
    to->file = pp_intern_text(flame->merged, file);
    if (package)
        to->module = first_part(flame->merged, package);
    else if (to->kind == PP_FLAME_STANDARD)
        to->module = pp_intern_text(flame->merged, "standard library");
    else
        to->module = first_part(flame->merged, *file == '/' ? pp_base_name(file) : file);
}

static void native_frame(struct pp_flame *flame, const struct pp_profile *from, const struct pp_frame *frame,
                         struct pp_flame_frame *to, bool lines)
{
    const char *path = frame->subject == PP_NONE ? "" : pp_string(from, from->modules.items[frame->subject].path);
    const char *base = pp_base_name(path);
    to->kind = kind_of_module(path);
    to->path = pp_intern_text(flame->merged, path);
    to->file = to->module = pp_intern_text(flame->merged, base);
    if (lines && frame->line) {
        const char *source = pp_string(from, frame->source);
        to->path = pp_intern_text(flame->merged, source);
        to->file = pp_intern_text(flame->merged, pp_base_name(source));
        to->line = frame->line;
    }
}

/* The text ends with the place in parentheses: what comes before it is the name. */
static uint32_t name_of(struct pp_flame *flame, const char *text, const struct pp_flame_frame *frame)
{
    size_t length = strlen(text), place = strlen(pp_string(flame->merged, frame->file)) + 3;
    if (frame->line)
        place += (size_t)snprintf(NULL, 0, ":%" PRIu32, frame->line);
    bool fits = frame->file && length > place && strncmp(text + length - place, " (", 2) == 0;
    return fits ? pp_intern(flame->merged, text, length - place) : pp_intern_text(flame->merged, text);
}

static bool same_frame(const void *table, uint32_t number, const void *key)
{
    const struct pp_flame_frame *frame = (const struct pp_flame_frame *)table + number, *wanted = key;
    return frame->text == wanted->text && frame->kind == wanted->kind;
}

static uint32_t add_frame(struct pp_flame *flame, const struct pp_flame_frame *frame)
{
    const uint64_t words[] = {frame->text, frame->kind};
    uint32_t hash = pp_hash_words(words, 2);
    uint32_t found = pp_index_find(&flame->frames.index, hash, same_frame, flame->frames.items, frame);
    if (found != PP_NONE)
        return found;
    flame->frames.items =
        pp_grow(flame->frames.items, &flame->frames.capacity, (uint64_t)flame->frames.count + 1, sizeof *frame);
    flame->frames.items[flame->frames.count] = *frame;
    pp_index_add(&flame->frames.index, hash, flame->frames.count);
    return flame->frames.count++;
}

static uint32_t frame_number(struct pp_flame *flame, const struct pp_profile *from, uint32_t number, bool lines)
{
    const struct pp_frame *frame = &from->frames.items[number];
    struct pp_flame_frame to = {.kind = PP_FLAME_PSEUDO};
    struct pp_buffer text = {0};
    pp_frame_text(&text, from, number, lines);
    to.text = pp_intern_text(flame->merged, text.data);
    if (frame->kind == PP_FRAME_PYTHON) {
        python_frame(flame, from, frame, &to);
        to.line = lines && frame->line ? frame->line : from->functions.items[frame->subject].first_line;
    } else if (frame->kind == PP_FRAME_NATIVE) {
        native_frame(flame, from, frame, &to, lines);
    }
    to.name = name_of(flame, text.data, &to);
    pp_buffer_free(&text);
    return add_frame(flame, &to);
}

/* Maps a profile's nodes to those of the tree; a parent's number is less than its children's. The caller frees. */
static uint32_t *add_nodes(struct pp_flame *flame, const struct pp_profile *from, bool lines)
{
    uint32_t *frames = pp_alloc(from->frames.count, sizeof *frames);
    uint32_t *nodes = pp_alloc(from->nodes.count, sizeof *nodes);
    for (uint32_t i = 0; i < from->frames.count; i++)
        frames[i] = frame_number(flame, from, i, lines);
    for (uint32_t i = 1; i < from->nodes.count; i++) {
        const struct pp_node *node = &from->nodes.items[i];
        nodes[i] = pp_add_node(flame->merged, nodes[node->parent], frames[node->frame]);
    }
    free(frames);
    return nodes;
}

/* Damaged logs say anything: sums of these do not overflow. */
static bool has_time(const struct pp_interval *interval)
{
    const uint64_t most = UINT64_MAX / 4;
    return interval->start_unix_ns && interval->wall_ns && interval->start_unix_ns < most && interval->wall_ns < most;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Buckets are no narrower than a flush interval usually is: nothing is known about what happens within one. */
static void choose_buckets(struct pp_flame *flame)
{
    const struct pp_profile *from = flame->sides[0];
    uint64_t *walls = pp_alloc(from->intervals.count, sizeof *walls), start = 0, end = 0;
    uint32_t count = 0;
    for (uint32_t i = 1; i < from->intervals.count; i++) {
        const struct pp_interval *interval = &from->intervals.items[i];
        if (!has_time(interval))
            continue;
        walls[count++] = interval->wall_ns;
        if (!start || interval->start_unix_ns < start)
            start = interval->start_unix_ns;
        if (interval->start_unix_ns + interval->wall_ns > end)
            end = interval->start_unix_ns + interval->wall_ns;
    }
    /* Two runs have no time in common. */
    if (count && flame->side_count == 1) {
        qsort(walls, count, sizeof *walls, by_value);
        uint64_t usual = walls[count / 2], least = (end - start) / MOST_BUCKETS + 1;
        flame->start_unix_ns = start;
        flame->bucket_ns = usual > least ? usual : least;
        flame->buckets = (uint32_t)((end - start + flame->bucket_ns - 1) / flame->bucket_ns);
    }
    free(walls);
}

static void add_cell(struct pp_flame *flame, const struct pp_sample *like, uint32_t bucket, uint64_t count,
                     uint64_t cpu_ns)
{
    struct pp_sample cell = *like;
    cell.interval = bucket;
    cell.count = count;
    cell.cpu_ns = cpu_ns;
    if (count || cpu_ns)
        pp_add_sample(flame->merged, &cell);
}

/* Its CPU time goes to the buckets over which its interval lies, in proportion, to the last nanosecond; the samples,
 * which cannot be divided, to the one in the middle. */
static void add_cells(struct pp_flame *flame, const struct pp_sample *like, const struct pp_interval *interval)
{
    if (!has_time(interval) || !flame->buckets) {
        add_cell(flame, like, flame->buckets, like->count, like->cpu_ns);
        return;
    }
    uint64_t start = interval->start_unix_ns - flame->start_unix_ns, end = start + interval->wall_ns;
    uint64_t first = start / flame->bucket_ns, last = (end - 1) / flame->bucket_ns;
    uint64_t middle = (start + interval->wall_ns / 2) / flame->bucket_ns, left = like->cpu_ns;
    if (last - first >= SPREAD_OVER)
        first = last = middle;
    for (uint64_t bucket = first; bucket <= last; bucket++) {
        uint64_t from = bucket * flame->bucket_ns, to = from + flame->bucket_ns, part = left;
        from = from > start ? from : start;
        to = to < end ? to : end;
        if (bucket < last)
            part = (uint64_t)((double)like->cpu_ns * ((double)(to - from) / (double)interval->wall_ns));
        part = part < left ? part : left;
        left -= part;
        add_cell(flame, like, (uint32_t)bucket, bucket == middle ? like->count : 0, part);
    }
}

static void add_samples(struct pp_flame *flame, const struct pp_profile *from, const uint32_t *nodes,
                        uint32_t thread_base)
{
    for (uint32_t i = 0; i < from->samples.count; i++) {
        const struct pp_sample *sample = &from->samples.items[i];
        struct pp_sample like = {
            .thread = thread_base + sample->thread,
            .node = nodes[sample->node],
            .state = sample->state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
            .count = sample->count,
            .cpu_ns = sample->cpu_ns,
        };
        add_cells(flame, &like, &from->intervals.items[sample->interval]);
    }
}

struct pp_flame *pp_flame_new(struct pp_profile *const *sides, unsigned side_count, bool lines)
{
    struct pp_flame *flame = pp_alloc(1, sizeof *flame);
    uint32_t thread_base = 0;
    flame->sides = sides;
    flame->side_count = side_count;
    flame->merged = pp_profile_new();
    choose_buckets(flame);
    for (unsigned i = 0; i < side_count; i++) {
        uint32_t *nodes = add_nodes(flame, sides[i], lines);
        add_samples(flame, sides[i], nodes, thread_base);
        thread_base += sides[i]->threads.count;
        free(nodes);
    }
    return flame;
}

void pp_flame_free(struct pp_flame *flame)
{
    if (!flame)
        return;
    pp_profile_free(flame->merged);
    free(flame->frames.items);
    pp_index_free(&flame->frames.index);
    free(flame);
}
