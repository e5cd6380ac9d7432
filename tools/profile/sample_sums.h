/* The samples of one segment, added up by the log's own ids before they are mapped to those of the profile: a log has
 * many more records than there are different ones. */
#ifndef PT_PROFILE_SAMPLE_SUMS_H
#define PT_PROFILE_SAMPLE_SUMS_H

#include "../log/reader.h"

/* Of items each is a sum. In the order of first sight. Starts as {0}; pt_sample_sums_free ends it. */
struct pt_sample_sums {
    struct pt_log_sample *items;
    uint32_t count, capacity;
    uint32_t *slots; /* item + 1, by hash; 0 is free */
    uint32_t mask;
};

/* Faster for many at once: the places of PT_SUMS_TOGETHER are fetched together, and most of the time would go into
 * waiting for memory. */
#define PT_SUMS_TOGETHER 64u
void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_log_sample *samples, uint32_t count);
void pt_sample_sums_clear(struct pt_sample_sums *sums);
void pt_sample_sums_free(struct pt_sample_sums *sums);

#endif
