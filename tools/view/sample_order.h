/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the samples of a large profile stack by stack: what formats write for a stack is then made once, and
 * compresses well. */
#ifndef PT_VIEW_SAMPLE_ORDER_H
#define PT_VIEW_SAMPLE_ORDER_H

#include "../model/model.h"

/* Sorts samples and merges those that compare equal. Returns how many are left. */
uint32_t pt_merge_equal(struct pt_sample *samples, uint32_t count, int (*compare)(const void *a, const void *b));

struct pt_sample_order;
/* Only the states in the mask make samples different, and intervals if `timed`. The profile must not change. */
struct pt_sample_order *pt_sample_order_new(const struct pt_profile *profile, uint32_t states, bool timed);
void pt_sample_order_free(struct pt_sample_order *order);

/* Sets *samples to those of a node, sorted by thread, labels, state and interval; those that are equal in all are
 * merged. Returns their number. *samples is valid until the next call. */
uint32_t pt_samples_of_node(struct pt_sample_order *order, uint32_t node, const struct pt_sample **samples);

#endif
