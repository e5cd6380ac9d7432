/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one tree of one or two profiles, with its cells, and writes the page: what was made at build time from
 * tools/flame/web, with the data in its middle. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../cli/options.h"
#include "../query/group.h"
#include "../view/uncertainty.h"
#include "flame.h"

#define LINE 57 /* bytes that make a line of 76 characters of base64 */

static void write_base64(const unsigned char *bytes, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '='};
        fwrite(four, 1, sizeof four, out);
        if (i % LINE == LINE - 3)
            fputc('\n', out);
    }
}

void pt_flame_write(const struct pt_flame *flame, FILE *out)
{
    PT_AUTO_BUFFER data = {0};
    pt_flame_encode(&data, flame);
    uLongf size = compressBound(data.length);
    PT_AUTO_FREE unsigned char *small = pt_alloc(size, 1);
    if (compress2(small, &size, (const Bytef *)data.data, data.length, Z_DEFAULT_COMPRESSION) != Z_OK) {
        pt_error("cannot compress the profile");
        exit(PT_EXIT_DATA);
    }
    fwrite(pt_page_head, 1, pt_page_head_size, out);
    write_base64(small, size, out);
    fwrite(pt_page_tail, 1, pt_page_tail_size, out);
}

/* Adds a profile's label sets to the page's, and maps them. The caller frees. */
static uint32_t *add_label_sets(struct pt_flame *flame, const struct pt_profile *from)
{
    uint32_t *sets = pt_alloc(from->label_sets.count, sizeof *sets), capacity = 0;
    PT_AUTO_FREE struct pt_label *labels = NULL;
    for (uint32_t i = 1; i < from->label_sets.count; i++) {
        const struct pt_label_set *set = &from->label_sets.items[i];
        labels = pt_grow(labels, &capacity, set->count, sizeof *labels);
        for (uint32_t j = 0; j < set->count; j++) {
            const struct pt_label *label = &from->labels.items[set->first + j];
            labels[j] = (struct pt_label){pt_intern_text(flame->merged, pt_string(from, label->key)),
                                          pt_intern_text(flame->merged, pt_string(from, label->value))};
        }
        sets[i] = pt_add_label_set(flame->merged, labels, set->count);
    }
    return sets;
}

static void add_samples(struct pt_flame *flame, const struct pt_profile *from, const uint32_t *nodes,
                        uint32_t thread_base)
{
    PT_AUTO_FREE uint32_t *label_sets = add_label_sets(flame, from);
    for (PT_EACH(const struct pt_sample, sample, &from->samples)) {
        struct pt_sample like = {
            .thread = thread_base + sample->thread,
            .node = nodes[sample->node],
            .labels = label_sets[sample->labels] & PT_MAX_LABEL_SETS,
            .state = sample->state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
            .count = sample->count,
            .cpu_ns = sample->cpu_ns,
        };
        pt_flame_add_timed(flame, &like, &from->intervals.items[sample->interval]);
    }
}

/* Makes the cells of all sides. */
static void flame_add_cells(struct pt_flame *flame)
{
    uint64_t count = 0;
    uint32_t thread_base = 0;
    for (unsigned i = 0; i < flame->side_count; i++)
        count += flame->sides[i]->samples.count;
    /* Two runs have no time in common. */
    if (flame->side_count == 1)
        pt_flame_choose_buckets(flame, flame->sides[0]);
    if (!flame->buckets && count > PT_FLAME_MAX_CELLS) {
        pt_flame_add_many(flame);
        return;
    }
    for (unsigned i = 0; i < flame->side_count; i++) {
        PT_AUTO_FREE uint32_t *nodes = pt_flame_add_nodes(flame, flame->sides[i]);
        add_samples(flame, flame->sides[i], nodes, thread_base);
        thread_base += flame->sides[i]->threads.count;
    }
}

struct pt_flame *pt_flame_new(struct pt_profile *const *sides, unsigned side_count, bool lines)
{
    struct pt_flame *flame = pt_alloc(1, sizeof *flame);
    flame->sides = sides;
    flame->side_count = side_count;
    flame->lines = lines;
    flame->merged = pt_profile_new(NULL);
    flame->merged->request = sides[0]->request; /* what labels mean */
    for (unsigned i = 0; i < side_count; i++)
        flame->spread[i] = pt_draws_of(sides[i]).spread;
    flame->source = pt_flame_sources(sides[side_count - 1]); /* before it may lose its samples */
    flame_add_cells(flame);
    return flame;
}

bool pt_flame_has_group(const struct pt_flame *flame, const char *by)
{
    return pt_has_group(flame->merged, by) && !(flame->apart && strcmp(by, "thread") == 0);
}

void pt_flame_free(struct pt_flame *flame)
{
    if (!flame)
        return;
    pt_profile_free(flame->merged);
    PT_FREE_TABLE(&flame->frames);
    PT_FREE_TABLE(&flame->folded);
    free(flame->source);
    free(flame);
}
