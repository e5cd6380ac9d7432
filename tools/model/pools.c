/* SPDX-License-Identifier: Apache-2.0 */
#include "pools.h"

#include <stdlib.h>

#include "../../preload/common/pseudo_frames.h"
#include "time_bins.h"

enum { IS_NATIVE = 1, IS_OTHER };

void pt_pools_add_waits(struct pt_pools *pools, const struct pt_log_waits *waits)
{
    pools->start_unix_ns = waits->start_unix_ns;
    pools->wall_ns = waits->wall_ns;
    pools->total = 0;
    for (uint32_t i = 0; i < pools->count; i++)
        pools->waits[i].count = 0;
    for (uint32_t i = 0; i < waits->count; i++) {
        uint32_t known = 0;
        while (known < pools->count && pools->waits[known].node != waits->items[i].node)
            known++;
        if (known == pools->count) {
            pools->waits = pt_grow(pools->waits, &pools->capacity, (uint64_t)known + 1, sizeof *pools->waits);
            pools->waits[pools->count++] = (struct pt_pool_wait){.node = waits->items[i].node};
        }
        pools->waits[known].count = waits->items[i].count;
        pools->total += waits->items[i].count;
    }
}

/* Returns whether the stack has native frames and no others. */
static bool is_native(struct pt_pools *pools, const struct pt_profile *profile, uint32_t node)
{
    pools->native = pt_grow(pools->native, &pools->native_capacity, profile->nodes.count, sizeof *pools->native);
    unsigned char *known = &pools->native[node];
    if (!*known) {
        bool native = false, python = false;
        for (uint32_t at = node; at; at = profile->nodes.items[at].parent) {
            uint32_t kind = profile->frames.items[profile->nodes.items[at].frame].kind;
            native |= kind == PP_FRAME_NATIVE;
            python |= kind == PP_FRAME_PYTHON;
        }
        *known = native && !python ? IS_NATIVE : IS_OTHER;
    }
    return *known == IS_NATIVE;
}

bool pt_pools_add_sample(struct pt_pools *pools, struct pt_id_map *ids, const struct pt_segment *segment,
                         const struct pt_interval *interval, const struct pt_log_sample *sample)
{
    if (!pools->total || interval->start_unix_ns != pools->start_unix_ns || interval->wall_ns != pools->wall_ns)
        return false;
    uint32_t number = pt_id_map_thread(ids, segment, sample->thread);
    const struct pt_thread *thread = &ids->profile->threads.items[number];
    return thread->tid && !(thread->flags & PP_THREAD_MAIN) &&
           is_native(pools, ids->profile, pt_id_map_node(ids, segment, sample->node));
}

struct pt_log_sample pt_pools_part(const struct pt_pools *pools, uint32_t i, const struct pt_log_sample *sample)
{
    struct pt_log_sample part = *sample;
    uint64_t before = 0;
    for (uint32_t k = 0; k < i; k++)
        before += pools->waits[k].count;
    const struct pt_interval whole = {0, pools->total};
    part.count = pt_interval_part(&whole, sample->count, before, before + pools->waits[i].count);
    part.cpu_ns = pt_interval_part(&whole, sample->cpu_ns, before, before + pools->waits[i].count);
    return part;
}

uint32_t pt_pools_node(struct pt_pools *pools, struct pt_id_map *ids, const struct pt_segment *segment, uint32_t i,
                       uint32_t node)
{
    struct pt_profile *profile = ids->profile;
    uint32_t waiting = pools->waits[i].node, native = pt_id_map_node(ids, segment, node);
    if (!waiting)
        return native;
    uint32_t above =
        pt_add_node(profile, pt_id_map_node(ids, segment, waiting), pt_add_pseudo(profile, PP_PSEUDO_MEANWHILE));
    return pt_stack_below(&pools->stacks, profile, native, above);
}

void pt_pools_forget(struct pt_pools *pools)
{
    for (uint32_t i = 0; i < pools->count; i++)
        pt_sample_sums_free(&pools->waits[i].sums);
    pools->count = 0;
    pools->total = 0;
}

void pt_pools_forget_numbers(struct pt_pools *pools)
{
    free(pools->native);
    pools->native = NULL;
    pt_task_stacks_free(&pools->stacks);
    pools->stacks = (struct pt_task_stacks){0};
}

void pt_pools_free(struct pt_pools *pools)
{
    pt_pools_forget(pools);
    pt_pools_forget_numbers(pools);
    free(pools->waits);
}
