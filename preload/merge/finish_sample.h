/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes samples whose native walk met functions without unwind rows: compiles the rows and continues the walk on the
 * copy of the stack that the handler made. Flush thread only. */
#ifndef PP_MERGE_FINISH_SAMPLE_H
#define PP_MERGE_FINISH_SAMPLE_H

#include "../capture/record.h"

/* Returns the sample as its handler would have written it with all rows at hand. Valid until the next call. Where the
 * walk still ends early, the sample's native_reason says why. */
const struct pp_record_sample *pp_sample_finish(const struct pp_record_unfinished *record);

#endif
