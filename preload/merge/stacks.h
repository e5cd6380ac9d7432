/* SPDX-License-Identifier: Apache-2.0 */
/* From a sample record to a node of the call tree: native and Python frames merged into one stack. Flush thread only.
 */
#ifndef PP_MERGE_STACKS_H
#define PP_MERGE_STACKS_H

#include "../capture/slot.h"
#include "../log/tables.h"

/* Node of the sample's leaf; 0 when there is no memory. Adds to reasons[] what was cut or does not pair. */
uint32_t pp_stack_node(struct pp_tables *tables, struct pp_slot *slot, const struct pp_record_sample *sample,
                       uint64_t reasons[PP_REASON_COUNT]);

/* After modules were loaded or unloaded: addresses may mean something else now. */
void pp_stacks_modules_changed(struct pp_tables *tables);

#endif
