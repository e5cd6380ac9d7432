/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the samples of one segment by the log's own ids before these are mapped to numbers of the profile: a log has
 * many more records than different samples. */
#ifndef PT_PROFILE_SAMPLE_SUMS_H
#define PT_PROFILE_SAMPLE_SUMS_H

#include "../log/reader.h"

/* Holds the sums in the order of first occurrence. Starts as {0}; pt_sample_sums_free ends it. */
struct pt_sample_sums {
    struct pt_log_sample *items;
    uint32_t count, capacity;
    uint32_t *slots; /* item + 1, by hash; 0 is free */
    uint32_t mask;
};

/* Adds up to PT_SAMPLES_TOGETHER samples; fastest for many at once, since their slots are prefetched together. */
void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_log_sample *samples, uint32_t count);
void pt_sample_sums_clear(struct pt_sample_sums *sums);
void pt_sample_sums_free(struct pt_sample_sums *sums);

#endif
