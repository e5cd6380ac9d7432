/* SPDX-License-Identifier: Apache-2.0 */
#include "interval_data.h"
#include "../log/label_sets.h"
#include <stddef.h>
#include <string.h>

struct pp_interval pp_interval;

bool pp_add_sample(uint64_t *sum, const struct pp_sample_key *key, uint64_t count, uint64_t cpu_ns)
{
    bool fresh;
    if (!pp_interval.samples.arena)
        pp_intern_init(&pp_interval.samples, &pp_interval.arena);
    uint32_t id = key->node ? pp_intern(&pp_interval.samples, key, sizeof *key, &fresh) : 0;
    pp_interval.anything_new = true;
    if (!id) {
        pp_interval.account.reasons[PP_REASON_LOST_NO_MEMORY]++;
        *sum -= cpu_ns;
        pp_interval.account.lost_ns += cpu_ns;
        pp_interval.unwritten_ns += cpu_ns;
        return false;
    }
    struct pp_intern_entry *entry = pp_intern_entry(&pp_interval.samples, id);
    entry->value[0] += count;
    entry->value[1] += cpu_ns;
    if (key->labels && pp_labels_have_other(&pp_interval.tables, key->labels)) {
        pp_interval.account.other_labels += count;
        pp_interval.account.other_labels_ns += cpu_ns;
    }
    return true;
}

void pp_add_pseudo(uint64_t *sum, uint32_t thread, const char *text, uint64_t count, uint64_t cpu_ns)
{
    if (!count && !cpu_ns)
        return;
    uint32_t frame = pp_frame_pseudo(&pp_interval.tables, text);
    struct pp_sample_key key = {thread, pp_node_id(&pp_interval.tables, 0, frame), 0, 0};
    pp_add_sample(sum, &key, count, cpu_ns);
}

void pp_samples_clear(void)
{
    pp_intern_init(&pp_interval.samples, NULL);
    pp_arena_clear(&pp_interval.arena);
    pp_buffer_clear(&pp_interval.trace_records);
    pp_interval.anything_new = false;
}

void pp_interval_reset(void)
{
    pp_arena_reset(&pp_interval.arena);
    pp_samples_clear();
    pp_tables_reset(&pp_interval.tables);
    memset(&pp_interval, 0, offsetof(struct pp_interval, tables));
}
