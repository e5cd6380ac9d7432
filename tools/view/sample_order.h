/* The order in which formats write the samples of a large profile: stack by stack. What is written for a stack is made
 * once then, and compresses well. */
#ifndef PT_VIEW_SAMPLE_ORDER_H
#define PT_VIEW_SAMPLE_ORDER_H

#include "../profile/model.h"

/* Sorts samples and merges those that compare equal. Returns how many are left. */
uint32_t pt_merge_equal(struct pt_sample *samples, uint32_t count, int (*compare)(const void *a, const void *b));

struct pt_sample_order;
/* Of states only those in the mask make samples different. The profile must stay as it is. */
struct pt_sample_order *pt_sample_order_new(const struct pt_profile *profile, uint32_t states);
void pt_sample_order_free(struct pt_sample_order *order);

/* The samples of a node, by thread, labels and state; what differs in other things only is one sample. Returns their
 * number. *samples is valid until the next call. */
uint32_t pt_samples_of_node(struct pt_sample_order *order, uint32_t node, const struct pt_sample **samples);

#endif
