/* SPDX-License-Identifier: Apache-2.0 */
/* Tells an endpoint's own functions from middleware, which is around several endpoints: the application's functions
 * that much of the CPU time of several endpoints is in. */
#ifndef PT_QUERY_MIDDLEWARE_H
#define PT_QUERY_MIDDLEWARE_H

#include "../model/model.h"

/* Returns, by function, whether it is middleware; NULL if no sample has an endpoint. The caller frees. It needs the
 * samples of all endpoints: what selects some of them asks before (struct pt_profile). */
bool *pt_find_middleware(struct pt_profile *profile);

/* Returns, by node, whether the stack has a function of the application that is not middleware. The caller frees. */
bool *pt_past_middleware(const struct pt_profile *profile);

#endif
