/* SPDX-License-Identifier: Apache-2.0 */
/* The state of adding one segment to a profile (add_segment.c), and its samples (add_samples.c). */
#ifndef PT_MODEL_ADDER_H
#define PT_MODEL_ADDER_H

#include "id_map.h"
#include "pools.h"
#include "sample_sums.h"

/* Starts as {.ids = …} (id_map.h); pt_adder_free ends it. */
struct pt_adder {
    struct pt_id_map ids;
    struct pt_sample_sums sums, thread_sums; /* thread_sums: if only stacks are kept */
    struct pt_pools pools;                   /* with sums of their own */
    uint64_t start_unix_ns, wall_ns;         /* the interval of the sums, if times are kept */
    uint32_t counted_as, whole; /* the process that samples are counted as, and its thread for all of them; 0: unset */
    unsigned char *chosen;      /* by thread of the profile: 1 selected, 2 not; 0: not known yet */
    uint32_t chosen_capacity;
    const struct pt_growing_part *part; /* what of a growing segment counts; NULL: all */
};

/* Adds samples of the segment. */
void pt_adder_samples(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from);
/* Moves what was summed by the segment's ids into the profile: before an id gets another meaning, and at the end. */
void pt_adder_put_sums(struct pt_adder *adder, const struct pt_segment *segment);
void pt_adder_free(struct pt_adder *adder);

#endif
