/* SPDX-License-Identifier: Apache-2.0 */
#include "process_parts.h"

static bool has_number(const void *parts, uint32_t item, const void *number)
{
    return ((const struct pt_part *)parts)[item].number == *(const uint64_t *)number;
}

struct pt_part *pt_part_of(const struct pt_process *process, uint64_t number)
{
    uint32_t item =
        pt_index_find(&process->parts.index, pt_hash_words(&number, 1), has_number, process->parts.items, &number);
    return item == PT_NONE ? NULL : &process->parts.items[item];
}

bool pt_note_part(struct pt_process *process, uint64_t number)
{
    if (pt_part_of(process, number))
        return false;
    *PT_APPEND(&process->parts) = (struct pt_part){.number = number};
    pt_index_add(&process->parts.index, pt_hash_words(&number, 1), process->parts.count - 1);
    if (number > process->latest_part)
        process->latest_part = number;
    return true;
}
