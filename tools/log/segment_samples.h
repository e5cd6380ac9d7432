/* Blocks of samples, which nearly all of a long log is. */
#ifndef PT_LOG_SEGMENT_SAMPLES_H
#define PT_LOG_SEGMENT_SAMPLES_H

#include "cursor.h"
#include "reader.h"

/* Decodes a whole payload and hands its samples to the sink, if there is one for them. */
void pt_segment_take_samples(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink);

#endif
