/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_path.h"

#define MAX_STEPS 512u /* of the last stack; what is deeper is searched for */

/* The last stack. Its results hold for one interval of one segment: nodes are marked in each interval that uses them.
 */
static struct {
    uint64_t code_changes;
    uint32_t segment, interval, steps;
    struct {
        struct pp_path_key key;
        uint32_t node, frame; /* after the step */
    } taken[MAX_STEPS];
} last;

struct pp_path pp_path_start(struct pp_tables *tables, uint64_t code_changes)
{
    if (last.segment != tables->segment || last.interval != tables->interval || last.code_changes != code_changes) {
        last.segment = tables->segment;
        last.interval = tables->interval;
        last.code_changes = code_changes;
        last.steps = 0;
    }
    return (struct pp_path){.tables = tables};
}

bool pp_path_repeats(const struct pp_path *path, struct pp_path_key key)
{
    uint32_t i = path->steps;
    return !path->departed && i < last.steps && last.taken[i].key.words[0] == key.words[0] &&
           last.taken[i].key.words[1] == key.words[1];
}

bool pp_path_repeat(struct pp_path *path, struct pp_path_key key)
{
    uint32_t i = path->steps;
    if (path->outside)
        return true;
    path->departed = !pp_path_repeats(path, key);
    if (path->departed)
        return false;
    path->node = last.taken[i].node;
    path->frame = last.taken[i].frame;
    path->steps++;
    return true;
}

void pp_path_step(struct pp_path *path, struct pp_path_key key, uint32_t frame)
{
    if (path->failed)
        return;
    if (frame != PP_HIDDEN_FRAME) {
        path->frame = frame;
        path->node = frame ? pp_node_id(path->tables, path->node, frame) : 0;
        path->failed = path->node == 0;
    }
    uint32_t i = path->steps++;
    last.steps = path->failed ? 0 : i < MAX_STEPS ? i + 1 : MAX_STEPS;
    if (i >= MAX_STEPS)
        return;
    last.taken[i].key = key;
    last.taken[i].node = path->node;
    last.taken[i].frame = path->frame;
}

void pp_path_forget(void)
{
    last.steps = 0;
}
