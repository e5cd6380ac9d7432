/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the CPU time of threads without Python, as those of polars, OpenBLAS and OpenMP, under the Python stacks in
 * which the main thread waited at that time (PP_BLOCK_WAITS).
 *
 * The log has what was observed of the main thread in an interval, some ten times a second. The CPU time of each native
 * stack of that interval is shared out by these observations; the share of those in which the main thread did not wait
 * stays where it was.
 */
#ifndef PT_MODEL_POOLS_H
#define PT_MODEL_POOLS_H

#include "id_map.h"
#include "sample_sums.h"
#include "task_stacks.h"

/* A stack in which the main thread waits, by the segment's node, and the samples under it that are not yet in the
 * profile. */
struct pt_pool_wait {
    uint32_t node, count; /* count: observations in the interval below */
    struct pt_sample_sums sums;
};

/* Starts as {0}; pt_pools_free ends it. */
struct pt_pools {
    uint64_t start_unix_ns, wall_ns, total; /* of the last interval with observations, and how many there were */
    struct pt_pool_wait *waits;
    uint32_t count, capacity;
    bool sums; /* some of them have sums */
    struct pt_task_stacks stacks;
    unsigned char *native; /* by node of the profile: whether its stack is native, 0: not known yet */
    uint32_t native_capacity;
};

/* Takes in the observations of an interval whose samples follow. */
void pt_pools_add_waits(struct pt_pools *pools, const struct pt_log_waits *waits);

/* Returns whether the sample, of the interval, is of a native thread and is to be shared out. */
bool pt_pools_add_sample(struct pt_pools *pools, struct pt_id_map *ids, const struct pt_segment *segment,
                         const struct pt_interval *interval, const struct pt_log_sample *sample);
/* Returns the part of the sample that belongs under waits[i]. The parts of all sum up to the sample. */
struct pt_log_sample pt_pools_part(const struct pt_pools *pools, uint32_t i, const struct pt_log_sample *sample);

/* Returns the profile's node for a native stack under waits[i]. */
uint32_t pt_pools_node(struct pt_pools *pools, struct pt_id_map *ids, const struct pt_segment *segment, uint32_t i,
                       uint32_t node);

/* Forgets the numbers of the profile. All sums must have been added. */
void pt_pools_forget_numbers(struct pt_pools *pools);
/* Forgets what the segment's ids meant. All sums must have been added. */
void pt_pools_forget(struct pt_pools *pools);
void pt_pools_free(struct pt_pools *pools);

#endif
