/* Blocks of samples, which nearly all of a long log is. */
#ifndef PP_PROFILE_SEGMENT_SAMPLES_H
#define PP_PROFILE_SEGMENT_SAMPLES_H

#include "cursor.h"
#include "reader.h"

/* Decodes a whole payload and hands its samples to the sink, if there is one for them. */
void pp_segment_take_samples(struct pp_segment *segment, struct pp_cursor *payload, const struct pp_segment_sink *sink);

#endif
