/* The order in which formats write the samples of a large profile. */
#ifndef PP_EXPORT_SAMPLE_ORDER_H
#define PP_EXPORT_SAMPLE_ORDER_H

#include "../profile/model.h"

/* What has no meaning for a format is not looked at. */
static inline bool pp_same_but_interval(const struct pp_sample *a, const struct pp_sample *b, uint32_t states)
{
    return a->thread == b->thread && a->node == b->node && a->labels == b->labels &&
           (a->state & states) == (b->state & states);
}

/* Numbers of the samples, sorted by thread, node, labels and those states; linear in their count. The caller frees. */
uint32_t *pp_samples_in_order(const struct pp_profile *profile, uint32_t states);

#endif
