/* SPDX-License-Identifier: Apache-2.0 */
/* Copies some samples of a profile, with all that they refer to, into a profile of their own. */
#ifndef PT_MODEL_EXTRACT_H
#define PT_MODEL_EXTRACT_H

#include "model.h"

/* Returns a profile of these samples and requests of `from`, whose processes have the sums that theirs have there, but
 * no pending time: all CPU time is in samples. The request must outlive it; of its selection processes and threads are
 * left out here, the rest by pt_select. All are in interval 0. pt_profile_free ends it. */
struct pt_profile *pt_extract(const struct pt_profile *from, const struct pt_load_request *request,
                              const struct pt_sample *samples, uint32_t count, const struct pt_requests *requests,
                              uint32_t request_count);

#endif
