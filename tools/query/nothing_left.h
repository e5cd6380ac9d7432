/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PT_QUERY_NOTHING_LEFT_H
#define PT_QUERY_NOTHING_LEFT_H

#include "../model/model.h"
#include "../model/request.h"

/* Sends the message that no sample fits the selection: the options that were given, and what they can choose from. */
void pt_say_nothing_is_left(const struct pt_profile *profile);

/* Appends the options that leave samples out, a blank before each. */
void pt_append_selection(struct pt_buffer *line, const struct pt_selection *select);

/* Appends the options that change stacks: --hide, --native, --no-awaiters, --join-pools. */
void pt_append_stack_options(struct pt_buffer *line, const struct pt_selection *select);

#endif
