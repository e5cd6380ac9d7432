/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the samples of one segment by the log's own ids before these are mapped to numbers of the profile: a log has
 * many more records than different samples. */
#ifndef PT_MODEL_SAMPLE_SUMS_H
#define PT_MODEL_SAMPLE_SUMS_H

#include "../log/reader.h"

/* Nodes whose sums lie together: what is hot was seen early and has ids that are close to each other, so that the hot
 * part of the sums stays in the cache. */
#define PT_SUMS_TOGETHER 16u

/* Starts as {0}; pt_sample_sums_free ends it. */
struct pt_sample_sums {
    struct pt_sums_key {
        uint64_t place, kind; /* thread and first node; labels and state */
    } * keys;
    struct pt_sum {
        uint64_t count, cpu_ns;
    } (*sums)[PT_SUMS_TOGETHER]; /* by number of the key */
    uint32_t count, capacity, sums_capacity;
    uint32_t *slots;     /* number of the key + 1, by hash; 0 is free */
    unsigned slots_bits; /* log2 of the number of slots */
};

/* What sums distinguish: bits of the fields of a sample. The others are 0 in the sums. */
struct pt_sums_by {
    uint32_t thread, node, labels, state;
};

/* Adds up to PT_SAMPLES_TOGETHER samples; fastest for many at once, since their sums are fetched together. */
void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_sums_by *by, const struct pt_log_sample *samples,
                        uint32_t count);

/* Sets *sample to the sum at *at, which starts as 0, or the next one that is not empty. Returns false if there is none.
 */
bool pt_sample_sums_next(const struct pt_sample_sums *sums, uint64_t *at, struct pt_log_sample *sample);
void pt_sample_sums_clear(struct pt_sample_sums *sums);
void pt_sample_sums_free(struct pt_sample_sums *sums);

#endif
