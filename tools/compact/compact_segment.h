/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a segment again with longer intervals: the sums of each thread, stack, label set and endpoint stay what they
 * are, to the nanosecond; only when they were used is known less well. */
#ifndef PT_COMPACT_SEGMENT_H
#define PT_COMPACT_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../log/reader.h"

/* Appends to `out` a segment, which was read from these bytes of a file, with the intervals of each bin_ns of the clock
 * joined to one, and deflated. Returns false, and the reason in *why (static), if that is not to be done: the file has
 * other segments, blocks of a newer version, or is damaged but for a last block that was cut short. */
bool pt_compact_segment(const void *data, const struct pt_segment *segment, uint64_t bin_ns, struct pt_buffer *out,
                        const char **why);

#endif
